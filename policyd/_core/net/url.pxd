"""URLs as Go's net/url parses and prints them."""


cdef class ParsedURL:
    cdef readonly str scheme
    cdef readonly str host      # with port, unescaped
    cdef readonly str raw_query
    cdef str opaque
    cdef str user               # as it is printed, without @; None where there is none
    cdef bytes path             # unescaped: it need not be text
    cdef str raw_path           # as written, where that is not how `path` would be escaped
    cdef str fragment           # as it is printed
    cdef bint force_query       # ends with a ? and nothing behind it
    cdef bint omit_host         # a path after the scheme without //

    cdef str escaped_path(self)
    cdef str string(self)
    cdef dict query(self)


# The ParsedURL, or the text of Go's error ('parse "…": …').
cdef object parse_request_uri(str text)
cdef object parse_url(str text)
cdef tuple split_host_port(str host)
