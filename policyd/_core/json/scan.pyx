"""Scans JSON without decoding it: validity, and the positions of members and elements.

For reviews that Kubernetes sends but the decoder rejects, because of half a surrogate pair in a
string, bytes that are not UTF-8, the depth, or a number. It takes linear time, one bit of memory
per byte of the body, and no recursion.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.string cimport memcpy

cdef Py_ssize_t WRONG = -1


def repaired(bytes text not None) -> bytes:
    #: (bytes) -> bytes
    """JSON with U+FFFD for each half of a surrogate pair, as Go decodes it."""
    cdef bytearray out = bytearray(text)
    cdef unsigned char *at = <unsigned char *>PyByteArray_AS_STRING(out)
    cdef unsigned char *end = at + len(out)
    cdef int code
    while at < end:
        if at[0] != c"\\":
            at += 1
        elif at[1] != c"u":
            at += 2
        else:
            code = hex4(at + 2)
            if is_low(code) or (is_high(code) and not escaped_low(at + 6)):
                memcpy(at, b"\\ufffd", 6)
            at += 12 if is_high(code) and escaped_low(at + 6) else 6
    return bytes(out)


@cython.final
cdef class JSONScan:
    """A scan of a body: its depth and the position of the first half of a surrogate pair, or -1."""
    cdef bytes body
    cdef const unsigned char *text  # ends with a zero byte, which is not valid in JSON
    cdef Py_ssize_t size
    cdef bytearray bits
    cdef unsigned char *levels      # one bit in ``bits`` per open level: whether it is an object
    cdef Py_ssize_t failed
    cdef readonly Py_ssize_t depth
    cdef readonly Py_ssize_t surrogate

    def __init__(self, bytes body not None):
        #: (bytes) -> None
        self.body = body
        self.text = <const unsigned char *>PyBytes_AS_STRING(body)
        self.size = PyBytes_GET_SIZE(body)
        self.surrogate = WRONG
        self.bits = bytearray(self.size // 8 + 1)
        self.levels = <unsigned char *>PyByteArray_AS_STRING(self.bits)

    def problem(self) -> int:
        #: () -> int
        """The position of the first byte that is not valid JSON, or -1."""
        cdef Py_ssize_t at
        with nogil:
            at = self.value(0)
            if at != WRONG:
                at = self.space(at)
                if at != self.size:
                    self.failed = at
                    at = WRONG
        return self.failed if at == WRONG else -1

    def members(self, Py_ssize_t at, tuple names not None):
        #: (int, tuple[str, ...]) -> dict[str, tuple[int, int]] | None
        """Start and end of the members with these names; None if no object begins at ``at``.

        If a name occurs twice, the last member counts. The body must be valid JSON: other members
        are skipped by counting brackets.
        """
        cdef dict found = {}
        cdef Py_ssize_t key, start
        at = self.space(at)
        if self.text[at] != c"{":
            return None
        at = self.space(at + 1)
        while self.text[at] == c'"':
            key = at + 1
            at = self.past(at)
            name = self.name_at(key, at - 1, names)
            start = self.space(self.space(at) + 1)
            at = self.past(start)
            if name is not None:
                found[name] = (start, at)
            at = self.space(at)
            if self.text[at] == c",":
                at = self.space(at + 1)
        return found

    def elements(self, Py_ssize_t at):
        #: (int) -> list[tuple[int, int]] | None
        """Start and end of each element; None if no array begins at ``at``.

        The body must be valid JSON.
        """
        cdef list found = []
        cdef Py_ssize_t start
        at = self.space(at)
        if self.text[at] != c"[":
            return None
        at = self.space(at + 1)
        while self.text[at] != c"]":
            start = at
            at = self.past(at)
            found.append((start, at))
            at = self.space(at)
            if self.text[at] == c",":
                at = self.space(at + 1)
        return found

    cdef Py_ssize_t past(self, Py_ssize_t at) noexcept nogil:
        """The position after a value or key. The body must be valid JSON."""
        cdef const unsigned char *text = self.text
        cdef Py_ssize_t depth = 0
        cdef unsigned char c
        while at < self.size:
            c = text[at]
            if c == c'"':
                at += 1
                while at < self.size and text[at] != c'"':
                    at += 2 if text[at] == c"\\" else 1
                at += 1
                if not depth:
                    return at
                continue
            # Brackets and braces differ in one bit.
            if c | 0x20 == c"{":
                depth += 1
            elif c | 0x20 == c"}":
                if not depth:
                    return at  # a number ends where its container ends
                depth -= 1
                if not depth:
                    return at + 1
            elif not depth and c in (9, 10, 13, 32, 44):
                return at
            at += 1
        return at

    cdef str name_at(self, Py_ssize_t at, Py_ssize_t end, tuple names):
        """The name, if any, that is the string at this position. All names are ASCII."""
        cdef str name
        for name in names:
            if self.is_name(at, end, name):
                return name
        return None

    cdef bint is_name(self, Py_ssize_t at, Py_ssize_t end, str name) except -1:
        cdef Py_UCS4 character
        cdef int code
        if end - at < len(name):
            return False
        for character in name:
            if at >= end:
                return False
            code = self.text[at]
            if code == c"\\" and self.text[at + 1] == c"u":
                code = hex4(self.text + at + 2)
                at += 5
            if code != <int>character:
                return False
            at += 1
        return at == end

    cdef Py_ssize_t fail(self, Py_ssize_t at) noexcept nogil:
        self.failed = at
        return WRONG

    cdef Py_ssize_t space(self, Py_ssize_t at) noexcept nogil:
        while self.text[at] in (32, 10, 13, 9):
            at += 1
        return at

    cdef Py_ssize_t value(self, Py_ssize_t at) noexcept nogil:
        """The position after the value that begins at ``at``, or WRONG."""
        cdef Py_ssize_t depth = 0
        cdef unsigned char c
        while True:
            at = self.space(at)
            c = self.text[at]
            if c == c"{" or c == c"[":
                self.enter(depth, c == c"{")
                depth += 1
                at = self.space(at + 1)
                if self.text[at] != (c"}" if c == c"{" else c"]"):
                    if c == c"{":
                        at = self.key(at)
                        if at == WRONG:
                            return WRONG
                    continue
            else:
                at = self.scalar(at)
                if at == WRONG:
                    return WRONG
            # After a value, or at the bracket that closes an empty one.
            while depth:
                at = self.space(at)
                c = self.text[at]
                if c == c",":
                    at += 1
                    if self.in_object(depth - 1):
                        at = self.key(self.space(at))
                        if at == WRONG:
                            return WRONG
                    break
                if c != (c"}" if self.in_object(depth - 1) else c"]"):
                    return self.fail(at)
                at += 1
                depth -= 1
            else:
                return at

    cdef void enter(self, Py_ssize_t level, bint is_object) noexcept nogil:
        # There are fewer levels than bytes, and one bit per byte.
        if is_object:
            self.levels[level >> 3] |= <unsigned char>(1 << (level & 7))
        else:
            self.levels[level >> 3] &= <unsigned char>~(1 << (level & 7))
        if level >= self.depth:
            self.depth = level + 1

    cdef bint in_object(self, Py_ssize_t level) noexcept nogil:
        return self.levels[level >> 3] >> (level & 7) & 1

    cdef Py_ssize_t key(self, Py_ssize_t at) noexcept nogil:
        """The position after a key and its colon."""
        if self.text[at] != c'"':
            return self.fail(at)
        at = self.string(at)
        if at == WRONG:
            return WRONG
        at = self.space(at)
        return at + 1 if self.text[at] == c":" else self.fail(at)

    cdef Py_ssize_t scalar(self, Py_ssize_t at) noexcept nogil:
        cdef unsigned char c = self.text[at]
        if c == c'"':
            return self.string(at)
        if c == c"t":
            return self.word(at, b"true")
        if c == c"f":
            return self.word(at, b"false")
        if c == c"n":
            return self.word(at, b"null")
        return self.number(at)

    cdef Py_ssize_t word(self, Py_ssize_t at, const char *word) noexcept nogil:
        while word[0]:
            if self.text[at] != <unsigned char>word[0]:
                return self.fail(at)
            at += 1
            word += 1
        return at

    cdef Py_ssize_t number(self, Py_ssize_t at) noexcept nogil:
        if self.text[at] == c"-":
            at += 1
        if self.text[at] == c"0":
            at += 1
        else:
            at = self.digits(at)
        if at != WRONG and self.text[at] == c".":
            at = self.digits(at + 1)
        if at != WRONG and self.text[at] | 0x20 == c"e":
            at += 1
            if self.text[at] == c"+" or self.text[at] == c"-":
                at += 1
            at = self.digits(at)
        return at

    cdef Py_ssize_t digits(self, Py_ssize_t at) noexcept nogil:
        cdef Py_ssize_t start = at
        while c"0" <= self.text[at] <= c"9":
            at += 1
        return at if at > start else self.fail(at)

    cdef Py_ssize_t string(self, Py_ssize_t at) noexcept nogil:
        """The position after the string whose first quote is at ``at``."""
        cdef const unsigned char *text = self.text
        cdef unsigned char c
        cdef int code
        at += 1
        while True:
            c = text[at]
            if c == c'"':
                return at + 1
            if c < 0x20:
                return self.fail(at)
            if c != c"\\":
                at += 1
            elif text[at + 1] != c"u":
                if not is_escaped(text[at + 1]):
                    return self.fail(at)
                at += 2
            else:
                code = hex4(text + at + 2)
                if code < 0:
                    return self.fail(at)
                if is_high(code) and escaped_low(text + at + 6):
                    at += 6
                elif (is_high(code) or is_low(code)) and self.surrogate == WRONG:
                    self.surrogate = at
                at += 6


cdef inline bint is_high(int code) noexcept nogil:
    return 0xD800 <= code <= 0xDBFF


cdef inline bint is_low(int code) noexcept nogil:
    return 0xDC00 <= code <= 0xDFFF


cdef bint escaped_low(const unsigned char *text) noexcept nogil:
    return text[0] == c"\\" and text[1] == c"u" and is_low(hex4(text + 2))


cdef int hex4(const unsigned char *text) noexcept nogil:
    """The number of four hexadecimal digits, or -1; stops at the first other character."""
    cdef int i, code = 0, digit
    for i in range(4):
        digit = text[i]
        if 48 <= digit <= 57:
            digit -= 48
        elif 97 <= digit | 0x20 <= 102:
            digit = (digit | 0x20) - 87
        else:
            return -1
        code = code << 4 | digit
    return code


cdef bint is_escaped(unsigned char c) noexcept nogil:
    """Whether the character may follow a backslash."""
    return c in (34, 47, 92, 98, 102, 110, 114, 116)  # " / \\ b f n r t
