"""Named formats of the Kubernetes API: ``format.dns1123Label().validate("My Name")`` is none, or an
optional list of problems.

``format.named("uuid")`` finds a format by name (none if the name is unknown). The formats are
``dns1123Label``, ``dns1123Subdomain``, ``dns1035Label``, each also with ``Prefix`` (for
generateName); ``qualifiedName``, ``labelValue``, ``uri``, ``uuid``, ``byte`` (base64), ``date``,
``datetime``.

Cost of ``validate``: the cost of a regular expression as long as the format's; 1 unit for
everything else.
"""

from libc.math cimport ceil
from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation, work
from policyd._core.values.errors cimport NO_SUCH_OVERLOAD
from policyd._core.net.url cimport ParsedURL, parse_request_uri
from policyd._core.eval.functions cimport Overload, binary, unary
from policyd._core.regex.engine cimport Regex, compile_regex
from policyd._core.values.time_strings cimport Moment, parse_rfc3339
from policyd._core.values.types cimport NONE, Opaque, size_of, some

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library
from policyd._core.match import labels

#: LIBRARY: Library

ctypedef list (*FormatCheck)(Activation act, str text)

cdef Regex own_regex(str pattern):
    """A pattern that has few states in RE2, so that each character is read once."""
    cdef Regex made = compile_regex(pattern)
    made.size = 1
    return made


cdef Regex IS_LABEL = own_regex(f"^{labels.DOMAIN_LABEL_FORMAT}$")
cdef Regex IS_SUBDOMAIN = own_regex(f"^{labels.DOMAIN_FORMAT}$")
cdef Regex IS_OLD_LABEL = own_regex(f"^{labels.LABEL_1035_FORMAT}$")
cdef Regex IS_KEY = own_regex(f"^{labels.NAME_FORMAT}$")
cdef Regex IS_VALUE = own_regex(f"^({labels.NAME_FORMAT})?$")
cdef str UUID = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
cdef Regex IS_UUID = own_regex(UUID)
cdef Regex IS_BASE64 = own_regex(
    "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"
)
cdef str TIME = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"
cdef Regex IS_TIME = own_regex(TIME)


cdef class NamedFormat(Opaque):
    """``kubernetes.NamedFormat``; ``size``: the length of its regular expression, for the cost."""

    cdef str name
    cdef int size
    cdef FormatCheck check

    cdef str type_name(self):
        return "kubernetes.NamedFormat"

    cdef object equals(self, object other):
        if type(other) is not NamedFormat:
            return NO_SUCH_OVERLOAD
        return self.name == (<NamedFormat> other).name

    def __str__(self):
        return self.name


# The problems of a string, per format


cdef Py_ssize_t bytes_in(str text):
    return len(text) if text.isascii() else len(text.encode())


cdef list too_long(str text, int limit, str unit):
    return [f"must be no more than {limit} {unit}"] if bytes_in(text) > limit else []


cdef list dns_label(Activation act, str text):
    cdef list wrong = too_long(text, 63, "characters")
    if not IS_LABEL.search(act, text):
        wrong.append("must not contain dots" if IS_SUBDOMAIN.search(act, text) else labels.NO_LABEL)
    return wrong


cdef list dns_subdomain(Activation act, str text):
    cdef list wrong = too_long(text, 253, "characters")
    if not IS_SUBDOMAIN.search(act, text):
        wrong.append(labels.NO_DOMAIN)
    return wrong


cdef list dns_old_label(Activation act, str text):
    cdef list wrong = too_long(text, 63, "characters")
    if not IS_OLD_LABEL.search(act, text):
        wrong.append(labels.NO_LABEL_1035)
    return wrong


cdef str masked(str text):
    """A prefix may end with a dash: replace the dash and the character before by a letter."""
    if len(text) > 1 and text.endswith("-") and text[-2:].isascii():
        return text[:-2] + "a"
    return text


cdef list dns_label_prefix(Activation act, str text):
    return dns_label(act, masked(text))


cdef list dns_subdomain_prefix(Activation act, str text):
    return dns_subdomain(act, masked(text))


cdef list dns_old_label_prefix(Activation act, str text):
    return dns_old_label(act, masked(text))


cdef list qualified_name(Activation act, str text):
    cdef list parts = text.split("/"), wrong = []
    cdef str prefix, name
    if len(parts) > 2:
        return [
            f"a valid label key {labels.NO_NAME} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    name = parts[len(parts) - 1]
    if len(parts) == 2:
        prefix = parts[0]
        if not prefix:
            wrong.append("prefix part must be non-empty")
        else:
            wrong += [f"prefix part {each}" for each in too_long(prefix, 253, "bytes")]
            if not IS_SUBDOMAIN.search(act, prefix):
                wrong.append(f"prefix part {labels.NO_DOMAIN}")
    if not name:
        wrong.append("name part must be non-empty")
    wrong += [f"name part {each}" for each in too_long(name, 63, "bytes")]
    if not IS_KEY.search(act, name):
        wrong.append(f"name part {labels.NO_NAME}")
    return wrong


cdef list label_value(Activation act, str text):
    cdef list wrong = too_long(text, 63, "bytes")
    if not IS_VALUE.search(act, text):
        wrong.append(labels.NO_VALUE)
    return wrong


cdef list uri(Activation act, str text):
    found = parse_request_uri(text)
    return [] if type(found) is ParsedURL else [found]


cdef list uuid(Activation act, str text):
    return [] if IS_UUID.search(act, text) else ["does not match the UUID format"]


cdef list base64(Activation act, str text):
    return [] if IS_BASE64.search(act, text) else ["invalid base64"]


cdef bint is_date(str text) except -1:
    cdef Moment at
    return len(text) == 10 and parse_rfc3339(text + "T00:00:00Z", &at)


cdef list date(Activation act, str text):
    return [] if is_date(text) else ["invalid date"]


cdef list datetime(Activation act, str text):
    cdef list parts = text.lower().split("t")
    cdef str time
    if len(parts) >= 2 and is_date(parts[0]):
        time = parts[1]
        if not IS_TIME.search(act, time):
            return ["invalid datetime"]
        if time[:2] <= "23" and time[3:5] <= "59" and time[6:8] <= "59":
            return []
    return ["invalid datetime"]


cdef NamedFormat made(str name, int size, FormatCheck check):
    cdef NamedFormat format = NamedFormat.__new__(NamedFormat)
    format.name = name
    format.size = size
    format.check = check
    return format


cdef dict FORMATS = {
    "dns1123Label": made("DNS1123Label", 30, dns_label),
    "dns1123Subdomain": made("DNS1123Subdomain", 60, dns_subdomain),
    "dns1035Label": made("DNS1035Label", 30, dns_old_label),
    "qualifiedName": made("QualifiedName", 60, qualified_name),
    "dns1123LabelPrefix": made("DNS1123LabelPrefix", 30, dns_label_prefix),
    "dns1123SubdomainPrefix": made("DNS1123SubdomainPrefix", 60, dns_subdomain_prefix),
    "dns1035LabelPrefix": made("DNS1035LabelPrefix", 30, dns_old_label_prefix),
    "labelValue": made("LabelValue", 40, label_value),
    "uri": made("URI", 1103, uri),
    "uuid": made("uuid", len(UUID), uuid),
    "byte": made("byte", 84, base64),
    "date": made("date", len(TIME), date),
    "datetime": made("datetime", len(TIME), datetime),
}


cdef object named(Activation act, object name):
    found = FORMATS.get(name)
    return NONE if found is None else some(found)


cdef object validate(Activation act, object format, object text):
    work(act, len(<str> text))
    wrong = (<NamedFormat> format).check(act, <str> text)
    return some(wrong) if wrong else NONE


cdef int64_t validate_cost(Activation act, object format, object text, object result) except -1:
    if type(format) is not NamedFormat:
        return 1
    return <int64_t> (
        ceil((1.0 + <double> size_of(text)) * 0.1)
        * ceil(<double> (<NamedFormat> format).size * 0.25)
    )


cdef object itself(Activation act, object format):
    return format


cdef int LONGEST_PATTERN = 128  # the length of all formats in Kubernetes' estimate


def _validate_estimate(operands):
    return estimates.Charge(operands[1].size.scaled(0.1).scaled(LONGEST_PATTERN * 0.25))


cdef Overload row(str name, str valid):
    """The row of the function that returns a format; ``valid``: a valid string."""
    cdef str path = f"format.{name}"
    example = f"{path}().validate('{valid}').hasValue() // false"
    signature = f"{path}() -> kubernetes.NamedFormat"
    return unary(path, signature, path, itself, example).given(FORMATS[name])


LIBRARY = Library("format", (
    row("dns1123Label", "my-name"),
    row("dns1123Subdomain", "a.example.com"),
    row("dns1035Label", "a1"),
    row("qualifiedName", "example.com/name"),
    row("dns1123LabelPrefix", "my-"),
    row("dns1123SubdomainPrefix", "my-"),
    row("dns1035LabelPrefix", "my-"),
    row("labelValue", ""),
    row("uri", "https://example.com"),
    row("uuid", "123e4567-e89b-12d3-a456-426614174000"),
    row("byte", "aGVsbG8="),
    row("date", "2024-02-29"),
    row("datetime", "2024-02-29T00:00:00Z"),
    unary(
        "format.named", "format.named(string) -> optional_type(kubernetes.NamedFormat)",
        "format-named", named, "format.named('nothing').hasValue() // false",
    ),
    binary(
        "validate", "kubernetes.NamedFormat.validate(string) -> optional_type(list(string))",
        "format-validate", validate,
        "format.date().validate('2024-02-30').value() // ['invalid date']",
    ).costs(validate_cost, _validate_estimate),
), since=31, kinds={"kubernetes.NamedFormat": NamedFormat})
