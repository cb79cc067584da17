"""The error values with cel-go's messages, which Kubernetes shows to users."""

cimport cython

from policyd._core.values.printing cimport string_of
from policyd._core.values.types cimport MISSING, type_name

cdef enum:
    MAX_MESSAGE = 32_768  # characters of a message, which may quote strings and lists of the object


cdef str cut(str text):
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "..."


@cython.final
@cython.freelist(32)
cdef class CelError:
    """``message`` is cel-go's, built when it is first read."""
    def __init__(self, str message not None):
        #: (str) -> None
        self.text = message
        self.detail = MISSING

    @property
    def message(self):
        #: () -> str
        """The whole message."""
        if self.detail is MISSING:
            return self.text
        return cut(self.text + string_of(self.detail))

    def __eq__(self, other):
        return type(other) is CelError and self.message == other.message

    __hash__ = None

    def __repr__(self):
        return f"CelError({self.message!r})"


NO_OVERLOAD = CelError("no such overload")
NO_SUCH_OVERLOAD = CelError("no such overload")
INTEGER_OVERFLOW = CelError("integer overflow")
UNSIGNED_OVERFLOW = CelError("unsigned integer overflow")
DIVISION_BY_ZERO = CelError("division by zero")
MODULUS_BY_ZERO = CelError("modulus by zero")
cdef CelError DURATION_OVERFLOW = CelError("duration overflow")
TIMESTAMP_OVERFLOW = CelError("timestamp overflow")


cdef CelError error(str text):
    return error_about(text, MISSING)


cdef CelError error_about(str text, object detail):
    cdef CelError made = CelError.__new__(CelError)
    made.text = cut(text)
    made.detail = detail
    return made


cdef CelError not_bool(object value):
    return value if type(value) is CelError else NO_SUCH_OVERLOAD


cdef CelError no_such_key(object key):
    return error_about("no such key: ", key)


cdef CelError index_out_of_bounds(object index):
    return error_about("index out of bounds: ", index)


cdef CelError no_conversion(object value, str target):
    return error(f"type conversion error from '{type_name(value)}' to '{target}'")
