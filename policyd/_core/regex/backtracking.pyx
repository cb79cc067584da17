"""Backtracks over the program of a regular expression, with the preferences of RE2 and Go
(leftmost, then the first alternative), and remembers failures.

RE2 and Go may look far ahead in vain for every match, which takes quadratic time: ``0*1|0`` in a
long row of zeros. But whether an instruction at a position leads to a match does not depend on
where the search began, so each such pair is tried only once for all matches.

The program knows which ASCII characters a set has. For other characters there is a table of those
in the string, which RE2 fills for each set.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.unicode cimport PyUnicode_AsUTF8String
from cpython.mem cimport PyMem_Free, PyMem_Realloc

from policyd._core.regex.dfa cimport Instruction, Op
from policyd._core.values.activation cimport activation, work

from policyd._core.regex.program import spans

#: from policyd._core.regex.dfa import Dfa

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(str text)
    int PyUnicode_KIND(str text)
    void *PyUnicode_DATA(str text)
    uint32_t PyUnicode_READ(int kind, void *data, Py_ssize_t at) noexcept nogil

cdef enum:
    MAX_PAIRS = 1 << 27  # bits: 16 MiB, until the search ends
    BLOCK = 1 << 14      # pairs between two reads of the clock
    PAIRS_A_UNIT = 4
    ASCII = 128
    LEARNING = 1 << 16   # characters searched for different ones between two reads
    CHARACTERS_A_UNIT = 2
    CLASS = 25_000       # units of work to compile a Unicode class


cdef Backtracking backtracking(Activation act, Dfa dfa, str text):
    """Returns None if it would need too much memory."""
    cdef int64_t pairs = <int64_t> dfa.length * (len(text) + 1)
    if pairs > MAX_PAIRS:
        return None
    cdef Backtracking made = Backtracking.__new__(Backtracking)
    made.dfa = dfa
    made.owner = text
    made.kind = PyUnicode_KIND(text)
    made.text = PyUnicode_DATA(text)
    made.size = len(text)
    made.bits = bytearray(pairs // 8 + 1)
    made.failed = <uint8_t *> PyByteArray_AS_STRING(made.bits)
    if not PyUnicode_IS_ASCII(text):
        made.learn(act)
    return made


cdef str beyond_ascii(Activation act, str text):
    """The different characters of a string beyond ASCII, in order."""
    cdef Py_ssize_t start
    cdef set found = set()
    for start in range(0, len(text), LEARNING):
        work(act, LEARNING // CHARACTERS_A_UNIT)
        found.update(text[start : start + LEARNING])
    return "".join(sorted([char for char in found if not char.isascii()]))


@cython.final
cdef class Backtracking:
    """The search of one string. ``failed`` has a bit per position and instruction, set if it leads
    to no match, so that no search repeats a failed attempt.
    """
    @staticmethod
    def spans(Dfa dfa not None, str text not None) -> list:
        #: (Dfa, str) -> list[tuple[int, int]] | None
        """Every match of a program from ``program.machine``, without overlaps; an empty match may
        follow another match. None if ``text`` is too long.
        """
        cdef Activation unlimited = activation(0, 1 << 62, 0)
        cdef Backtracking search = backtracking(unlimited, dfa, text)
        cdef int64_t at = 0
        cdef list found = []
        if search is None:
            return None
        while at <= search.size:
            at = search.next(unlimited, at)
            if at < 0:
                break
            found.append((at, search.end))
            at = max(at + 1, search.end)
        return found

    def __dealloc__(self):
        PyMem_Free(self.waiting)

    cdef int learn(self, Activation act) except -1:
        """Look up which characters beyond ASCII each set has."""
        cdef int64_t index, member, members
        cdef bytes data
        self.others = beyond_ascii(act, self.owner)
        self.other_count = members = len(self.others)
        self.other_kind = PyUnicode_KIND(self.others)
        self.other_data = PyUnicode_DATA(self.others)
        self.last_char = 0
        data = PyUnicode_AsUTF8String(self.others)
        self.table_bits = bytearray(self.dfa.set_count * members // 8 + 1)
        self.table = <uint8_t *> PyByteArray_AS_STRING(self.table_bits)
        for index in range(self.dfa.set_count):
            work(act, CLASS + members // CHARACTERS_A_UNIT)
            at = member = 0
            for start, end in spans(self.dfa.texts[index], data):
                member += len(data[at:start].decode())
                for member in range(member, member + <int64_t> len(data[start:end].decode())):
                    set_bit(self.table, index * members + member)
                member += 1
                at = end
        return 0

    cdef int64_t place(self, uint32_t char) noexcept:
        """The place of a character among the string's characters beyond ASCII."""
        cdef int64_t low = 0, high = self.other_count, middle
        if char == self.last_char:
            return self.last_place
        while high - low > 1:
            middle = (low + high) >> 1
            if PyUnicode_READ(self.other_kind, self.other_data, middle) <= char:
                low = middle
            else:
                high = middle
        self.last_char = char
        self.last_place = low
        return low

    cdef bint has(self, uint16_t index, uint32_t char) noexcept:
        """Whether a set has a character of the string."""
        if char < ASCII:
            return self.dfa.sets[index].bits[char >> 6] >> (char & 63) & 1
        return bit(self.table, index * self.other_count + self.place(char))

    cdef inline uint32_t at(self, int64_t position) noexcept:
        return PyUnicode_READ(self.kind, self.text, position)

    cdef int64_t next(self, Activation act, int64_t at) except -2:
        """The start of the first match at or after a position, or -1; sets ``end`` to its end."""
        cdef int64_t start
        for start in range(at, self.size + 1):
            if not start % BLOCK:
                work(act, BLOCK // PAIRS_A_UNIT)
            if self.completes(act, start):
                return start
        return -1

    cdef bint completes(self, Activation act, int64_t start) except -1:
        """Whether a match begins here; if so, sets ``end`` to its end."""
        cdef const Instruction *instruction
        cdef int64_t pair, position, length = self.dfa.length, tried = 0
        self.depth = 0
        self.push(start, self.dfa.start)
        while self.depth:
            self.depth -= 1
            pair = self.waiting[self.depth]
            if bit(self.failed, pair):
                continue
            # Either it fails, or it is part of the match: then ``forget`` clears it where
            # necessary.
            set_bit(self.failed, pair)
            tried += 1
            if tried == BLOCK:
                work(act, BLOCK // PAIRS_A_UNIT)
                tried = 0
            position = pair // length
            instruction = &self.dfa.program[pair - position * length]
            if instruction.op == Op.MATCH:
                self.end = position
                forget(self.failed, position * length, length)
                return True
            if instruction.op == Op.EITHER:
                self.push(position, instruction.other)
                self.push(position, instruction.after)
            elif instruction.op != Op.ONE:
                if self.stands(instruction.op, position):
                    self.push(position, instruction.after)
            elif position < self.size:
                if self.has(instruction.other, self.at(position)):
                    self.push(position + 1, instruction.after)
        return False

    cdef int push(self, int64_t position, int64_t instruction) except -1:
        cdef void *memory
        if self.depth == self.room:
            self.room = 2 * self.room + 64
            memory = PyMem_Realloc(self.waiting, self.room * sizeof(int64_t))
            if memory == NULL:
                raise MemoryError
            self.waiting = <int64_t *> memory
        self.waiting[self.depth] = position * self.dfa.length + instruction
        self.depth += 1
        return 0

    cdef bint stands(self, unsigned int op, int64_t position) noexcept:
        """Whether an assertion holds at a position."""
        cdef bint first = position == 0, last = position == self.size
        if op == Op.TEXT_START:
            return first
        if op == Op.TEXT_END:
            return last
        if op == Op.LINE_START:
            return first or self.at(position - 1) == c"\n"
        if op == Op.LINE_END:
            return last or self.at(position) == c"\n"
        cdef bint before = not first and is_word(self.at(position - 1))
        cdef bint after = not last and is_word(self.at(position))
        return (op == Op.BOUNDARY) == (before != after)


cdef void forget(uint8_t *failed, int64_t first, int64_t count) noexcept:
    """Clear the bits of the position where a match ended. The next search begins there or later,
    and all bits after it are failures, because the match did not reach them.
    """
    cdef int64_t pair
    for pair in range(first, first + count):
        failed[pair >> 3] &= <uint8_t> ~(1 << (pair & 7))


cdef inline bint bit(const uint8_t *bits, int64_t at) noexcept:
    return bits[at >> 3] >> (at & 7) & 1


cdef inline void set_bit(uint8_t *bits, int64_t at) noexcept:
    bits[at >> 3] |= 1 << (at & 7)


cdef inline bint is_word(uint32_t char) noexcept:
    return (
        c"a" <= char <= c"z" or c"A" <= char <= c"Z" or c"0" <= char <= c"9" or char == c"_"
    )
