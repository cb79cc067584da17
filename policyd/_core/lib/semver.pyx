"""Semantic versions: ``semver("1.2.3-rc.1+build")``, ``isSemver("1.2.3")``.

With ``true`` as second argument the string is normalized first (leading v, missing parts, leading
zeros): ``semver("v1.02", true)``. ``v.major()``, ``v.minor()``, ``v.patch()``,
``v.isGreaterThan(w)``, ``v.isLessThan(w)``, ``v.compareTo(w)``.

Cost: a tenth of the length of the string to parse it, 1 unit for everything else.
"""

from policyd._core.values.activation cimport Activation, work
from policyd._core.values.errors cimport NO_SUCH_OVERLOAD, error
from policyd._core.go.strings cimport shown
from policyd._core.eval.functions cimport binary, first_tenths
from policyd._core.values.types cimport Opaque

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library

cdef frozenset ALLOWED = frozenset(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-"
)
cdef object MAX_UINT64 = 18446744073709551615


cdef class Semver(Opaque):
    """``parts``: major, minor, patch; ``pre``: ints and strings; the build is not compared."""

    cdef tuple parts
    cdef tuple pre
    cdef str text

    cdef str type_name(self):
        return "kubernetes.Semver"

    cdef object equals(self, object other):
        if type(other) is not Semver:
            return NO_SUCH_OVERLOAD
        return order(self, <Semver> other) == 0

    def __str__(self):
        return self.text


cdef object read_number(str text, str name):
    """A number, or the error message."""
    if not is_number(text):
        return f"Invalid character(s) found in {name} number {shown(text)}"
    if len(text) > 1 and text[0] == "0":
        return f"{name.capitalize()} number must not contain leading zeroes {shown(text)}"
    return parse_uint(text)


cdef bint is_number(str text):
    return not text or (text.isascii() and text.isdigit())


cdef object parse_uint(str text):
    if not text:
        return 'strconv.ParseUint: parsing "": invalid syntax'
    if len(text) > 20 or int(text) > MAX_UINT64:
        return f"strconv.ParseUint: parsing {shown(text)}: value out of range"
    return int(text)


cdef object parse(Activation act, str text):
    """The Semver, or the error message."""
    cdef Semver made
    cdef list parts = text.split(".", 2), numbers = [], pre = []
    cdef str patch, plus, build, dash, release
    if not text:
        return "Version string empty"
    if len(parts) != 3:
        return "No Major.Minor.Patch elements found"
    patch, plus, build = (<str> parts[2]).partition("+")
    patch, dash, release = patch.partition("-")
    for part, name in ((parts[0], "major"), (parts[1], "minor"), (patch, "patch")):
        number = read_number(part, name)
        if type(number) is str:
            return number
        numbers.append(number)
    work(act, len(text) // 2)
    for part in release.split(".") if dash else ():
        work(act, 10 + len(part) // 2)
        found = read_prerelease(part)
        if found is None:
            return prerelease_error(part)
        pre.append(found)
    for part in build.split(".") if plus else ():
        work(act, 5 + len(part) // 2)
        if not part:
            return "Build meta data is empty"
        if not ALLOWED.issuperset(part):
            return f"Invalid character(s) found in build meta data {shown(part)}"
    made = Semver.__new__(Semver)
    made.parts = tuple(numbers)
    made.pre = tuple(pre)
    made.text = text
    return made


cdef object read_prerelease(str part):
    """An int or string; None if it is invalid."""
    if not part or (is_number(part) and len(part) > 1 and part[0] == "0"):
        return None
    if is_number(part):
        return int(part) if len(part) <= 20 and int(part) <= MAX_UINT64 else None
    return part if ALLOWED.issuperset(part) else None


cdef str prerelease_error(str part):
    if not part:
        return "Prerelease is empty"
    if is_number(part) and part[0] == "0":
        return f"Numeric PreRelease version must not contain leading zeroes {shown(part)}"
    if is_number(part):
        return f"strconv.ParseUint: parsing {shown(part)}: value out of range"
    return f"Invalid character(s) found in prerelease {shown(part)}"


cdef object parse_tolerant(Activation act, str text):
    """Remove a leading v and leading zeros, add missing parts as 0; then parse."""
    cdef list parts = text.removeprefix("v").split(".", 2)
    cdef Py_ssize_t i
    cdef str part
    for i in range(len(parts)):
        part = parts[i]
        if len(part.encode()) > 1:
            part = part.lstrip("0")
            parts[i] = part if part and part[0] in "0123456789" else "0" + part
    if len(parts) < 3:
        if "+" in parts[len(parts) - 1] or "-" in parts[len(parts) - 1]:
            return "short version cannot contain PreRelease/Build meta data"
        parts.extend(["0"] * (3 - len(parts)))
    return parse(act, ".".join(parts))


cdef object to_semver(Activation act, object text, object normalize):
    found = parse_tolerant(act, <str> text) if normalize else parse(act, <str> text)
    return found if type(found) is Semver else error(<str> found)


cdef object is_semver(Activation act, object text, object normalize):
    found = parse_tolerant(act, <str> text) if normalize else parse(act, <str> text)
    return type(found) is Semver


cdef object number_of(Activation act, object version, object index):
    number = (<Semver> version).parts[<int> index]
    # Go converts uint64 to int64 without an overflow check.
    return number if number <= MAX_UINT64 >> 1 else number - MAX_UINT64 - 1


cdef int order(Semver left, Semver right) except -2:
    if left.parts != right.parts:
        return 1 if left.parts > right.parts else -1
    if not left.pre or not right.pre:
        return bool(right.pre) - bool(left.pre)
    for a, b in zip(left.pre, right.pre):
        if type(a) is not type(b):
            return -1 if type(a) is int else 1  # numbers come before strings
        if a != b:
            return 1 if a > b else -1
    return (len(left.pre) > len(right.pre)) - (len(left.pre) < len(right.pre))


cdef object is_greater(Activation act, object left, object right):
    return order(<Semver> left, <Semver> right) > 0


cdef object is_less(Activation act, object left, object right):
    return is_greater(act, right, left)


cdef object compare_to(Activation act, object left, object right):
    return order(<Semver> left, <Semver> right)


LIBRARY = Library("semver", (
    binary(
        "semver", "semver(string) -> kubernetes.Semver", "string_to_semver", to_semver,
        "semver('1.2.3') == semver('1.2.3+build') // true",
    ).given(False).costs(first_tenths, estimates.first_tenths),
    binary(
        "semver", "semver(string, bool) -> kubernetes.Semver", "string_bool_to_semver",
        to_semver, "semver('v01.2', true) == semver('1.2.0') // true",
    ).costs(first_tenths, estimates.first_tenths),
    binary(
        "isSemver", "isSemver(string) -> bool", "is_semver_string", is_semver,
        "isSemver('v1.0') // false",
    ).given(False).costs(first_tenths, estimates.first_tenths),
    binary(
        "isSemver", "isSemver(string, bool) -> bool", "is_semver_string_bool",
        is_semver, "isSemver('v1.0', true) // true",
    ).costs(first_tenths, estimates.first_tenths),
    binary(
        "major", "kubernetes.Semver.major() -> int", "semver_major", number_of,
        "semver('1.2.3').major() // 1",
    ).given(0),
    binary(
        "minor", "kubernetes.Semver.minor() -> int", "semver_minor", number_of,
        "semver('1.2.3').minor() // 2",
    ).given(1),
    binary(
        "patch", "kubernetes.Semver.patch() -> int", "semver_patch", number_of,
        "semver('1.2.3').patch() // 3",
    ).given(2),
    binary(
        "isGreaterThan", "kubernetes.Semver.isGreaterThan(kubernetes.Semver) -> bool",
        "semver_is_greater_than", is_greater,
        "semver('1.2.3').isGreaterThan(semver('1.2.3-rc.1')) // true",
    ),
    binary(
        "isLessThan", "kubernetes.Semver.isLessThan(kubernetes.Semver) -> bool",
        "semver_is_less_than", is_less, "semver('1.9.0').isLessThan(semver('1.10.0')) // true",
    ),
    binary(
        "compareTo", "kubernetes.Semver.compareTo(kubernetes.Semver) -> int", "semver_compare_to",
        compare_to, "semver('1.2.3').compareTo(semver('1.2.3')) // 0",
    ),
), since=33, kinds={"kubernetes.Semver": Semver})
