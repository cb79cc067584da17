"""Regular expressions with Go's syntax and semantics, in linear time: literals by string search,
small patterns over ASCII strings by a DFA, the rest by RE2.

RE2's Python wrapper takes several times as long as the match, so this calls the binding below it.
Even so, a call takes ten times as long as the DFA for a name or an image.
"""

from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_Tailmatch
from cpython.time cimport PyTime_PerfCounterRaw as clock
from libc.stdint cimport int64_t

from policyd._core.values.activation cimport take, work
from policyd._core.regex.backtracking cimport Backtracking, backtracking
from policyd._core.regex.search cimport find as find_string

from re2 import _re2

from policyd._core.regex.program import machine
from policyd._core.regex.syntax import RegexSyntaxError, parse
from policyd.errors import CostExceeded, DeadlineExceeded

cdef enum:
    MAX_MEMORY = 8 << 20  # bytes of memory that RE2 may use for a policy's pattern
    PATIENCE = 16  # strings before the DFA is created, which takes as long as hundreds of RE2 calls
    MAX_PATTERN = 1 << 18  # characters: RE2 would reject longer patterns after a second or more
    # Patterns may come from objects: they use at most MEMO times DYNAMIC_MEMORY.
    MEMO = 64
    DYNAMIC_MEMORY = 1 << 20
    # Compilation cannot be interrupted. At worst it takes 5 µs per character and 0.25 ms per
    # Unicode class; patterns that may take more than 50 ms are rejected.
    NANOS_A_CHARACTER = 5_000
    NANOS_A_CLASS = 250_000
    MAX_COMPILATION = 50_000_000
    NANOS_A_UNIT = 10
    MATCH = 100  # units of work for a call of RE2
    PIECE = 64   # bytes of a string beside its characters

# A search cannot be interrupted either. RE2 takes 1 to 2 ns per character; but if a string needs
# too many states of its DFA, it runs all instructions in parallel, at 4 to 12 ns per instruction.
cdef int64_t FEW_STEPS = 1 << 17
cdef int64_t MAX_STEPS = 1 << 27
cdef int64_t NANOS_A_STEP = 12

# Characters after the matches of one string that RE2 may read in all. Beyond that, something else
# must find the remaining matches, or the search fails.
cdef int64_t FEW_CHARACTERS = 1 << 22
cdef int64_t MAX_CHARACTERS = 1 << 30

cdef object ANYWHERE = _re2.RE2.Anchor.UNANCHORED
cdef object OPTIONS = _re2.RE2.Options()
OPTIONS.log_errors = False
OPTIONS.never_capture = True
cdef dict MEMOIZED = {}


cdef class Regex:
    def __init__(self):
        raise TypeError("use compile_regex")

    def __repr__(self):
        return f"<Regex {self.pattern!r}>"

    cdef int afford(self, Activation act, str text) except -1:
        """Counts the search of a string; raises BudgetExceeded if it is too expensive."""
        cdef int64_t steps = self.size * (len(text) + 1)
        if steps <= FEW_STEPS:
            return 0
        work(act, len(text) // 4)
        if steps > MAX_STEPS:
            raise CostExceeded(
                f"operation cancelled: a regular expression of {self.size} instructions is too "
                f"expensive for a string of {len(text)} characters")
        if act.deadline and clock() + steps * NANOS_A_STEP > act.deadline:
            raise DeadlineExceeded("deadline exceeded: a regular expression may take longer")
        return 0

    cdef bint search(self, Activation act, str text) except -1:
        if self.engine == EQUALS:
            return text == self.literal
        if self.engine == PREFIX:
            return PyUnicode_Tailmatch(text, self.literal, 0, len(text), -1)
        if self.engine == SUFFIX:
            return PyUnicode_Tailmatch(text, self.literal, 0, len(text), 1)
        if self.engine == CONTAINS:
            return find_string(act, text, self.literal, 0, len(text)) >= 0
        if self.engine == ONE_OF:
            return text in self.choices
        cdef int answer
        if self.engine == DFA:
            answer = self.search_dfa(text)
            if answer >= 0:
                return answer
        self.afford(act, text)
        cdef bytes data = PyUnicode_AsUTF8String(text)
        return span(self, data, 0) is not None

    cdef int search_dfa(self, str text) except -2:
        """1, 0, or -1 if RE2 must be used, for this string or from now on."""
        if self.dfa is None:
            if self.searches < PATIENCE and self.size * len(text) <= FEW_STEPS:
                self.searches += 1
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

    cdef str find(self, Activation act, str text):
        """The first match, "" if there is none."""
        self.afford(act, text)
        cdef bytes data = PyUnicode_AsUTF8String(text)
        cdef tuple found = span(self, data, 0)
        return "" if found is None else data[found[0]:found[1]].decode()

    cdef list find_all(self, Activation act, str text, int64_t limit):
        """Each match may read the string to its end, so this reads the clock for each match, and
        stops using RE2 if the total is large.
        """
        self.afford(act, text)
        cdef bytes data = PyUnicode_AsUTF8String(text)
        cdef Py_ssize_t at = 0, start, end, before = -1
        cdef int64_t read = 0, most = FEW_CHARACTERS
        cdef Backtracking linear
        cdef list result = []
        cdef tuple found
        while at <= len(data) and (limit < 0 or len(result) < limit):
            work(act, MATCH + (len(data) - at) // 16)
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
                take(act, PIECE + (end - start))
                result.append(data[start:end].decode())
            before = end
            read += len(data) - start
            if read <= most:
                continue
            most = MAX_CHARACTERS
            linear = self.linear_search(act, text)
            if linear is not None and at <= len(data):
                at, before = len(data[:at].decode()), len(data[:before].decode())
                find_rest(act, linear, at, before, limit, result)
                return result
            if read > MAX_CHARACTERS:
                raise CostExceeded(
                    f"operation cancelled: finding all matches of a regular expression is too "
                    f"expensive for a string of {len(text)} characters")
        return result

    cdef Backtracking linear_search(self, Activation act, str text):
        """Finds the matches where RE2 may take quadratic time; None if only RE2 can."""
        if self.program is None and not self.has_no_program:
            self.program = machine(self.rewritten)
            self.has_no_program = self.program is None
        return None if self.program is None else backtracking(act, self.program, text)


cdef int find_rest(
    Activation act, Backtracking search, int64_t at, int64_t before, int64_t limit, list result
) except -1:
    """Add the matches at or after ``at``, in characters. ``before``: the end of the last one."""
    cdef int64_t start, end
    cdef str text = search.owner
    while at <= search.size and (limit < 0 or len(result) < limit):
        work(act, MATCH)
        start = search.next(act, at)
        if start < 0:
            break
        end = search.end
        at = end if end > at else at + 1
        if start < end or start != before:
            take(act, PIECE + (end - start) * search.kind)
            result.append(text[start:end])
        before = end
    return 0


cdef tuple span(Regex regex, bytes data, Py_ssize_t at):
    """The first match at or after ``at``, as byte positions. ``^`` and ``\\b`` see the bytes before
    ``at``.
    """
    # Without capturing groups RE2 returns the whole match, (-1, -1) or nothing.
    cdef list found = regex.match(ANYWHERE, data, at, len(data))
    if not found or found[0][0] < 0:
        return None
    return found[0]


cdef object compile_regex(str pattern, int64_t memory=MAX_MEMORY):
    """The Regex, or Go's error message ("error parsing regexp: …")."""
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
    OPTIONS.max_mem = memory
    compiled = _re2.RE2(regex.rewritten.encode(), OPTIONS)
    if not compiled.ok():  # Go's limit is a program of 128 MB
        return f"error parsing regexp: expression too large: `{pattern}`"
    regex.match = compiled.Match
    regex.size = max(1, compiled.ProgramSize())
    return regex


cdef int choose_engine(Regex regex, tuple items) except -1:
    """Choose the engine. Plain characters between anchors need no regular expression."""
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


cdef object cached_regex(Activation act, str pattern):
    """Like ``compile_regex``, with a bounded cache, for patterns known only at run time."""
    cdef int64_t nanos
    cdef object found = MEMOIZED.get(pattern)
    if found is None:
        nanos = compilation(pattern)
        work(act, nanos // NANOS_A_UNIT)
        if nanos > MAX_COMPILATION:
            return f"error parsing regexp: expression too large: `{pattern}`"
        found = compile_regex(pattern, DYNAMIC_MEMORY)
        if len(MEMOIZED) >= MEMO:
            MEMOIZED.pop(next(iter(MEMOIZED)))  # the oldest
        MEMOIZED[pattern] = found
    return found


cdef int64_t compilation(str pattern):
    """The maximum time of the compilation, in nanoseconds."""
    cdef int64_t classes = 0
    for sign in ("\\p", "\\P", "[^"):
        classes += pattern.count(sign)
    return len(pattern) * NANOS_A_CHARACTER + classes * NANOS_A_CLASS
