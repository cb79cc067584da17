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

from policyd._core.values.activation cimport Activation, activation, work
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

cdef Regex own_regex(str pattern):
    """A pattern that needs few states in RE2, so that each character is read once."""
    cdef Regex made = compile_regex(pattern)
    made.size = 1
    return made


cdef str UUID = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
cdef Regex IS_UUID = own_regex(UUID)
cdef Regex IS_BASE64 = own_regex(
    "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"
)
cdef str TIME = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"
cdef Regex IS_TIME = own_regex(TIME)


cdef class NamedFormat(Opaque):
    """``kubernetes.NamedFormat``; ``size``: the length of its regular expression, for the cost.
    ``prefix``: a trailing dash is allowed.
    """

    cdef str name
    cdef int size
    cdef object check  # (text) -> problems
    cdef bint prefix

    cdef str type_name(self):
        return "kubernetes.NamedFormat"

    cdef object equals(self, object other):
        if type(other) is not NamedFormat:
            return NO_SUCH_OVERLOAD
        return self.name == (<NamedFormat> other).name

    def __str__(self):
        return self.name


# The problems of a string in each format


cdef str masked(str text):
    """A prefix may end with a dash: replace the dash and the character before it by a letter."""
    if len(text) > 1 and text.endswith("-") and text[-2:].isascii():
        return text[:-2] + "a"
    return text


cdef bint fits(Regex form, str text) except -1:
    """Whether a string matches; ``validate`` has counted its length."""
    return form.search(activation(0, 0, 0), text)


def _uri_errors(str text not None):
    found = parse_request_uri(text)
    return [] if type(found) is ParsedURL else [found]


def _uuid_errors(str text not None):
    return [] if fits(IS_UUID, text) else ["does not match the UUID format"]


def _base64_errors(str text not None):
    return [] if fits(IS_BASE64, text) else ["invalid base64"]


cdef bint is_date(str text) except -1:
    cdef Moment at
    return len(text) == 10 and parse_rfc3339(text + "T00:00:00Z", &at)


def _date_errors(str text not None):
    return [] if is_date(text) else ["invalid date"]


def _datetime_errors(str text not None):
    cdef list parts = text.lower().split("t")
    cdef str time
    if len(parts) >= 2 and is_date(parts[0]):
        time = parts[1]
        if fits(IS_TIME, time) and time[:2] <= "23" and time[3:5] <= "59" and time[6:8] <= "59":
            return []
    return ["invalid datetime"]


cdef NamedFormat made(str name, int size, object check, bint prefix=False):
    cdef NamedFormat format = NamedFormat.__new__(NamedFormat)
    format.name = name
    format.size = size
    format.check = check
    format.prefix = prefix
    return format


cdef dict FORMATS = {
    "dns1123Label": made("DNS1123Label", 30, labels.label_errors),
    "dns1123Subdomain": made("DNS1123Subdomain", 60, labels.domain_errors),
    "dns1035Label": made("DNS1035Label", 30, labels.label_1035_errors),
    "qualifiedName": made("QualifiedName", 60, labels.key_errors),
    "dns1123LabelPrefix": made("DNS1123LabelPrefix", 30, labels.label_errors, prefix=True),
    "dns1123SubdomainPrefix": made(
        "DNS1123SubdomainPrefix", 60, labels.domain_errors, prefix=True
    ),
    "dns1035LabelPrefix": made("DNS1035LabelPrefix", 30, labels.label_1035_errors, prefix=True),
    "labelValue": made("LabelValue", 40, labels.value_errors),
    "uri": made("URI", 1103, _uri_errors),
    "uuid": made("uuid", len(UUID), _uuid_errors),
    "byte": made("byte", 84, _base64_errors),
    "date": made("date", len(TIME), _date_errors),
    "datetime": made("datetime", len(TIME), _datetime_errors),
}


cdef object named(Activation act, object name):
    found = FORMATS.get(name)
    return NONE if found is None else some(found)


cdef object validate(Activation act, object format, object text):
    cdef NamedFormat wanted = <NamedFormat> format
    work(act, len(<str> text))
    wrong = wanted.check(masked(<str> text) if wanted.prefix else text)
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
