"""Conversions between the basic types, ``type`` and ``dyn``. Conversions of times are in
``timestamps``.

``int("42")``, ``int(1.9)`` is 1, ``uint(3)``, ``double("1e3")``, ``string(1.0)`` is "1",
``bool("TRUE")``, ``bytes("ä")``. Literal arguments are converted when the policy is loaded: an
error rejects the policy, as in Kubernetes.
"""

from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t

from policyd._core.values.activation cimport Activation, take, work
from policyd._core.values.errors cimport (
    INTEGER_OVERFLOW,
    UNSIGNED_OVERFLOW,
    error,
    no_conversion,
)
from policyd._core.eval.functions cimport first_tenths, unary
from policyd._core.go.numbers cimport parse_double, parse_integer
from policyd._core.values.printing cimport string_of
from policyd._core.regex.search cimport PyUnicode_KIND
from policyd._core.values.types cimport StructValue, TypeValue, UInt, type_name, uint

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library

cdef frozenset TRUE_STRINGS = frozenset(("1", "t", "T", "TRUE", "true", "True"))
cdef frozenset FALSE_STRINGS = frozenset(("0", "f", "F", "FALSE", "false", "False"))


cdef object same(Activation act, object value):
    return value


cdef object type_of(Activation act, object value):
    cdef str name = type_name(value)
    # All that cel-go knows of values of Object{} and JSONPatch{} is that they have a type.
    if type(value) is StructValue and not name.startswith("google.protobuf."):
        name = "type"
    return TypeValue(name)


cdef object string_to_bool(Activation act, object value):
    if value in TRUE_STRINGS:
        return True
    return False if value in FALSE_STRINGS else no_conversion(value, "bool")


cdef object string_to_bytes(Activation act, object value):
    take(act, len(<str>value) * PyUnicode_KIND(value))
    work(act, len(<str>value) // 8)
    return (<str>value).encode("utf-8", "replace")


cdef object int_to_double(Activation act, object value):
    return float(value)


cdef object uint_to_double(Activation act, object value):
    return float((<UInt>value).value)


cdef object string_to_double(Activation act, object value):
    work(act, len(<str>value) // 2)
    number = parse_double(<str>value)
    return no_conversion(value, "double") if number is None else number


cdef object double_to_int(Activation act, object value):
    # The limits are not exact as doubles: cel-go rejects both.
    if not -9223372036854775808.0 < value < 9223372036854775808.0:
        return INTEGER_OVERFLOW
    return int(value)


cdef object uint_to_int(Activation act, object value):
    if (<UInt>value).value > <unsigned long long>INT64_MAX:
        return INTEGER_OVERFLOW
    return <int64_t>(<UInt>value).value


cdef object string_to_int(Activation act, object value):
    number = parse_integer(<str>value, True)
    if number is None:
        return no_conversion(value, "int")
    return number if INT64_MIN <= number <= INT64_MAX else no_conversion(value, "int")


cdef object int_to_uint(Activation act, object value):
    return uint(value) if 0 <= value < 1 << 64 else UNSIGNED_OVERFLOW


cdef object double_to_uint(Activation act, object value):
    if not 0 <= value < 18446744073709551616.0:
        return UNSIGNED_OVERFLOW
    return uint(int(value))


cdef object string_to_uint(Activation act, object value):
    number = parse_integer(<str>value, False)
    if number is None:
        return no_conversion(value, "uint")
    return uint(number) if number < 1 << 64 else no_conversion(value, "uint")


cdef object scalar_to_string(Activation act, object value):
    return string_of(value)


cdef object bytes_to_string(Activation act, object value):
    take(act, 4 * len(<bytes>value))
    work(act, len(<bytes>value) // 8)
    try:
        return (<bytes>value).decode("utf-8")
    except UnicodeDecodeError:
        return error("invalid UTF-8 in bytes, cannot convert to string")


def _encoding(operands):
    """A character is encoded in one to four bytes."""
    size = operands[0].size
    return estimates.Charge(
        size.scaled(0.1), estimates.Range(size.min, min(size.max * 4, estimates.MOST))
    )


def _decoding(operands):
    size = operands[0].size
    return estimates.Charge(size.scaled(0.1), estimates.Range(size.min // 4, size.max))


LIBRARY = Library("conversions", (
    unary("type", "type(A) -> type(A)", "type", type_of, "type(1) == int // true"),
    unary("dyn", "dyn(A) -> dyn", "to_dyn", same, "dyn(1) // 1"),
    unary("bool", "bool(bool) -> bool", "bool_to_bool", same, "bool(true) // true"),
    unary("bool", "bool(string) -> bool", "string_to_bool", string_to_bool, "bool('t') // true"),
    unary("bytes", "bytes(bytes) -> bytes", "bytes_to_bytes", same, "bytes(b'a') // b'a'"),
    unary("bytes", "bytes(string) -> bytes", "string_to_bytes", string_to_bytes,
          "bytes('a') // b'a'").costs_when_known(first_tenths, _encoding),
    unary("double", "double(double) -> double", "double_to_double", same,
          "double(1.5) // 1.5"),
    unary("double", "double(int) -> double", "int64_to_double", int_to_double, "double(1) // 1.0"),
    unary("double", "double(string) -> double", "string_to_double", string_to_double,
          "double('1e3') // 1000.0"),
    unary("double", "double(uint) -> double", "uint64_to_double", uint_to_double,
          "double(1u) // 1.0"),
    unary("int", "int(int) -> int", "int64_to_int64", same, "int(1) // 1"),
    unary("int", "int(double) -> int", "double_to_int64", double_to_int, "int(-1.9) // -1"),
    unary("int", "int(string) -> int", "string_to_int64", string_to_int, "int('42') // 42"),
    unary("int", "int(uint) -> int", "uint64_to_int64", uint_to_int, "int(1u) // 1"),
    unary("string", "string(string) -> string", "string_to_string", same,
          "string('a') // 'a'"),
    unary("string", "string(bool) -> string", "bool_to_string", scalar_to_string,
          "string(true) // 'true'"),
    unary("string", "string(bytes) -> string", "bytes_to_string", bytes_to_string,
          "string(b'a') // 'a'").costs_when_known(first_tenths, _decoding),
    unary("string", "string(double) -> string", "double_to_string", scalar_to_string,
          "string(1.5) // '1.5'"),
    unary("string", "string(int) -> string", "int64_to_string", scalar_to_string,
          "string(1) // '1'"),
    unary("string", "string(uint) -> string", "uint64_to_string", scalar_to_string,
          "string(1u) // '1'"),
    unary("uint", "uint(uint) -> uint", "uint64_to_uint64", same, "uint(1u) // 1u"),
    unary("uint", "uint(double) -> uint", "double_to_uint64", double_to_uint, "uint(1.9) // 1u"),
    unary("uint", "uint(int) -> uint", "int64_to_uint64", int_to_uint, "uint(1) // 1u"),
    unary("uint", "uint(string) -> uint", "string_to_uint64", string_to_uint, "uint('1') // 1u"),
))
