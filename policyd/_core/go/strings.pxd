"""Numbers and strings as Go prints them."""

cdef dict ESCAPES  # the escapes of strconv.Quote by character


# fmt's %.*f, without grouping.
cdef str print_fixed(double value, Py_ssize_t precision)
# strconv.Quote: "…" with Go's escapes for characters that are not printable.
cdef str quote(str text)
# The same for an error message, with long strings cut.
cdef str shown(str text)
# strings.TrimSpace: Unicode White_Space, which does not include U+001C to U+001F, unlike Python's
# strip().
cdef str trim_space(str text)
# strconv.Atoi: the error message, or None with the value in `out`.
cdef str parse_int(str text, long long* out)
