"""Functions of JMESPath and Kyverno that are known, and why CEL cannot say what they do."""

_CHANGING = """
    time_now time_now_utc time_since random
"""
_MISSING = """
    time_diff time_add time_parse time_to_cron time_utc time_truncate regex_replace_all
    regex_replace_all_literal parse_yaml parse_json x509_decode base64_decode base64_encode
    path_canonicalize image_normalize sha256 sha1 md5 is_external_url object_from_lists from_items
    group_by map sort_by max_by min_by zip type avg ceil floor abs round lookup find_first find_last
    pad_left pad_right to_array
"""

REFUSED = dict.fromkeys(
    _CHANGING.split(), "its result changes from one evaluation to the next"
) | dict.fromkeys(_MISSING.split(), "CEL has no function for it")
