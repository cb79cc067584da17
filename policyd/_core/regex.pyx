"""Regular expressions with Go's syntax and meaning, in linear time: literals by string search,
small patterns over ASCII texts by a machine of our own, the rest by RE2.

RE2's Python wrapper costs several times what the match does, so the binding below it is called
directly. Even so, a call costs ten times what the machine takes for a name or an image.
"""

from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_Find, PyUnicode_Tailmatch
from libc.stdint cimport int64_t

from re2 import _re2

from policyd._core.regex_program import machine
from policyd._core.regex_syntax import RegexSyntaxError, parse

# Objects may carry patterns: what they can make us keep is MEMO times RE2's bound per pattern.
cdef enum:
    MEMO = 128
    MAX_MEMORY = 8 << 20
    PATIENCE = 16  # texts before a machine is made, which costs what RE2 takes for some hundred
    MAX_PATTERN = 1 << 18  # characters: longer ones would be refused by RE2 after a second or more

cdef object ANYWHERE = _re2.RE2.Anchor.UNANCHORED
cdef object OPTIONS = _re2.RE2.Options()
OPTIONS.log_errors = False
OPTIONS.never_capture = True
OPTIONS.max_mem = MAX_MEMORY
cdef dict MEMOIZED = {}


cdef class Regex:
    def __init__(self):
        raise TypeError("use compile_regex")

    def __repr__(self):
        return f"<Regex {self.pattern!r}>"

    cdef bint search(self, str text) except -1:
        if self.engine == EQUALS:
            return text == self.literal
        if self.engine == PREFIX:
            return PyUnicode_Tailmatch(text, self.literal, 0, len(text), -1)
        if self.engine == SUFFIX:
            return PyUnicode_Tailmatch(text, self.literal, 0, len(text), 1)
        if self.engine == CONTAINS:
            return PyUnicode_Find(text, self.literal, 0, len(text), 1) >= 0
        if self.engine == ONE_OF:
            return text in self.choices
        cdef int answer
        if self.engine == DFA:
            answer = self.ask_dfa(text)
            if answer >= 0:
                return answer
        cdef bytes data = PyUnicode_AsUTF8String(text)
        return span(self, data, 0) is not None

    cdef int ask_dfa(self, str text) except -2:
        """1, 0, or -1 where RE2 has to be asked, about this text or from now on."""
        if self.dfa is None:
            if self.asked < PATIENCE:
                self.asked += 1
                return -1
            self.dfa = machine(self.rewritten)
            if self.dfa is None:
                self.engine = RE2
                return -1
        cdef int answer = self.dfa.search(text)
        if self.dfa.gave_up:
            self.engine = RE2
            self.dfa = None
        return answer

    cdef str find(self, str text):
        cdef bytes data = PyUnicode_AsUTF8String(text)
        cdef tuple found = span(self, data, 0)
        return "" if found is None else data[found[0]:found[1]].decode()

    cdef list find_all(self, str text, int64_t limit):
        cdef bytes data = PyUnicode_AsUTF8String(text)
        cdef Py_ssize_t at = 0, start, end, before = -1
        cdef list result = []
        cdef tuple found
        while at <= len(data) and (limit < 0 or len(result) < limit):
            found = span(self, data, at)
            if found is None:
                break
            start, end = found
            if end > at:
                at = end
            elif at < len(data):
                at += 1
                while at < len(data) and (data[at] & 0xC0) == 0x80:  # to the next code point
                    at += 1
            else:
                at += 1
            if start < end or start != before:
                result.append(data[start:end].decode())
            before = end
        return result


cdef tuple span(Regex regex, bytes data, Py_ssize_t at):
    """The first match at or after ``at``, as byte positions; what is before ``at`` counts for ``^``
    and ``\\b``."""
    # Without groups to capture RE2 answers with the whole match, (-1, -1) or nothing.
    cdef list found = regex.match(ANYWHERE, data, at, len(data))
    if not found or found[0][0] < 0:
        return None
    return found[0]


cdef object compile_regex(str pattern):
    cdef Regex regex = Regex.__new__(Regex)
    if len(pattern) > MAX_PATTERN:
        return f"error parsing regexp: expression too large: `{pattern}`"
    try:
        parsed = parse(pattern)
    except RegexSyntaxError as error:
        return str(error)
    regex.pattern = pattern
    regex.rewritten = parsed.text
    choose_engine(regex, parsed.items)
    compiled = _re2.RE2(regex.rewritten.encode(), OPTIONS)
    if not compiled.ok():  # Go's own bound is 128 MB of program
        return f"error parsing regexp: expression too large: `{pattern}`"
    regex.match = compiled.Match
    return regex


cdef int choose_engine(Regex regex, tuple items) except -1:
    """A sequence of plain characters between anchors needs no regular expression engine."""
    cdef list texts = [item.text for item in items or ()]
    cdef bint from_start = bool(texts) and texts[0] == r"\A"
    cdef bint to_end = len(texts) > from_start and texts[-1] == r"\z"
    regex.engine = DFA
    if items is None:
        return 0
    inner = items[from_start : len(items) - to_end]
    if from_start and to_end and len(inner) == 1 and inner[0].choices is not None:
        regex.engine = ONE_OF
        regex.choices = frozenset(inner[0].choices)
    elif all(item.literal is not None and not item.fold_case for item in inner):
        regex.literal = "".join([item.literal for item in inner])
        regex.engine = (CONTAINS, SUFFIX, PREFIX, EQUALS)[2 * from_start + to_end]
    return 0


cdef object cached_regex(str pattern):
    cdef object found = MEMOIZED.get(pattern)
    if found is None:
        found = compile_regex(pattern)
        if len(MEMOIZED) >= MEMO:
            MEMOIZED.pop(next(iter(MEMOIZED)))  # the oldest
        MEMOIZED[pattern] = found
    return found
