"""The grammar of Kubernetes quantities, read from left to right once."""


cdef struct Written:
    bint negative
    bint empty             # no digit before the suffix
    Py_ssize_t whole       # where the digits before the point begin, without zeros in front
    Py_ssize_t whole_end
    Py_ssize_t fraction    # where those after it begin
    Py_ssize_t fraction_end
    Py_ssize_t suffix      # where the suffix begins; it ends with the text


# Whether the text is of the form; `out` says where its parts are.
cdef bint read(str text, Written* out) except -1
# The exponent that a suffix is (`e3`), None for anything else.
cdef object exponent_of(str suffix)
