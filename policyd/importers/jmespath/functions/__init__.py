"""The functions of JMESPath, and those that Kyverno adds, as CEL (kyverno/kyverno
pkg/engine/jmespath/functions.go). A function of null is an error there; here, one of a value that
is missing.
"""

from collections.abc import Sequence

from policyd.importers.jmespath.functions.lists import LISTS, MACROS
from policyd.importers.jmespath.functions.replacing import REPLACING
from policyd.importers.jmespath.functions.scalars import SCALARS
from policyd.importers.jmespath.terms import CelTerm
from policyd.importers.jmespath.vocabulary import NotTranslatable

# Functions of JMESPath and Kyverno that are known, and why CEL cannot say what they do.
_CHANGING = """
    time_now time_now_utc time_since random
"""
_MISSING = """
    time_diff time_add time_parse time_to_cron time_utc time_truncate parse_yaml parse_json
    x509_decode base64_decode base64_encode path_canonicalize image_normalize sha256 sha1 md5
    is_external_url object_from_lists from_items group_by map sort_by max_by min_by zip type avg
    ceil floor abs round lookup find_first find_last pad_left pad_right to_array
"""

REFUSED = dict.fromkeys(
    _CHANGING.split(), "its result changes from one evaluation to the next"
) | dict.fromkeys(_MISSING.split(), "CEL has no function for it")
# How many arguments each has (None: one or more), and what makes CEL of them.
_FUNCTIONS = {**LISTS, **MACROS, **SCALARS, **REPLACING}


def called(name: str, arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    """Return the value of a call.

    Raises NotTranslatable for a function that has no counterpart, and for one that does not exist.
    """
    if name in REFUSED:
        raise NotTranslatable(f"`{name}()` has no counterpart: {REFUSED[name]}")
    if name not in _FUNCTIONS:
        raise NotTranslatable(f"`{name}()` is not a function of JMESPath or Kyverno")
    count, function = _FUNCTIONS[name]
    wanted = count or max(len(arguments), 1)
    if len(arguments) != wanted:
        raise NotTranslatable(f"`{name}()` takes {wanted} arguments, not {len(arguments)}")
    return function(taken, *arguments) if name in MACROS else function(*arguments)
