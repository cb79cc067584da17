"""Numbers and strings as Go prints them."""

cdef dict ESCAPES  # of strconv.Quote: character -> escape


# fmt's %.*f, without grouping.
cdef str print_fixed(double value, Py_ssize_t precision)
# strconv.Quote: "…" with Go's escapes for what is not printable.
cdef str quote(str text)
# The same for an error, in which a long text is cut.
cdef str shown(str text)
# strings.TrimSpace: Unicode White_Space, which lacks the separators U+001C to U+001F of Python's
# strip().
cdef str trim_space(str text)
# strconv.Atoi: the text of the error, or None and the value in `out`.
cdef str parse_int(str text, long long* out)
