"""URLs as Go's net/url parses and prints them."""


cdef class ParsedURL:
    cdef readonly str scheme
    cdef readonly str host      # with port, unescaped
    cdef readonly str raw_query
    cdef str opaque
    cdef readonly str user      # as printed, without @; None if the URL has none
    cdef bytes path             # unescaped: it may not be UTF-8
    cdef str raw_path           # as written, if that differs from the escaped `path`
    cdef readonly str fragment  # as printed
    cdef bint force_query       # ends with a ? and an empty query
    cdef bint omit_host         # a path after the scheme without //

    cdef str escaped_path(self)
    cdef str string(self)
    cdef dict query(self)


cdef object parse_request_uri(str text)
cpdef object parse_url(str text)
cdef tuple split_host_port(str host)
