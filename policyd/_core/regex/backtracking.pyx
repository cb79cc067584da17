"""Backtracking over the program of a regular expression, in the order of preference of RE2 and Go
(leftmost, then the first alternative), with a memory of what failed.

A search that looks far ahead in vain, such as ``0*1|0`` in a long row of zeros, would do it again
for every match: quadratic time in RE2 and Go. Whether a match can be completed from an instruction
and a position does not depend on where the search began, so each pair is tried once for all
matches.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.mem cimport PyMem_Free, PyMem_Realloc

from policyd._core.regex.dfa cimport Instruction, Op
from policyd._core.values.activation cimport activation, work

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(str text)
    const uint8_t *PyUnicode_1BYTE_DATA(str text)

cdef enum:
    MAX_PAIRS = 1 << 27  # bits: 16 MiB, until the search ends
    BLOCK = 1 << 14      # pairs between two reads of the clock
    PAIRS_A_UNIT = 4


cdef Backtracking backtracking(Dfa dfa, str text):
    cdef int64_t pairs = <int64_t> dfa.length * (len(text) + 1)
    if not PyUnicode_IS_ASCII(text) or pairs > MAX_PAIRS:
        return None
    cdef Backtracking made = Backtracking.__new__(Backtracking)
    made.dfa = dfa
    made.owner = text
    made.text = PyUnicode_1BYTE_DATA(text)
    made.size = len(text)
    made.bits = bytearray(pairs // 8 + 1)
    made.failed = <uint8_t *> PyByteArray_AS_STRING(made.bits)
    return made


@cython.final
@cython.auto_pickle(False)
cdef class Backtracking:
    @staticmethod
    def spans(Dfa dfa not None, str text not None) -> list:
        cdef Backtracking search = backtracking(dfa, text)
        cdef Activation unlimited = activation(0, 1 << 62, 0)
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

    cdef int64_t next(self, Activation act, int64_t at) except -2:
        cdef int64_t start
        for start in range(at, self.size + 1):
            if not start % BLOCK:
                work(act, BLOCK // PAIRS_A_UNIT)
            if self.completes(act, start):
                return start
        return -1

    cdef bint completes(self, Activation act, int64_t start) except -1:
        """Whether a match begins here; ``end`` is then its end."""
        cdef const Instruction *instruction
        cdef int64_t pair, position, length = self.dfa.length, tried = 0
        cdef unsigned int char
        self.depth = 0
        self.push(start, self.dfa.start)
        while self.depth:
            self.depth -= 1
            pair = self.waiting[self.depth]
            if self.failed[pair >> 3] >> (pair & 7) & 1:
                continue
            # It fails, or is a part of the match: ``forget`` then removes what may be needed again.
            self.failed[pair >> 3] |= 1 << (pair & 7)
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
                char = self.text[position]
                if self.dfa.sets[instruction.other].bits[char >> 6] >> (char & 63) & 1:
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
            return first or self.text[position - 1] == c"\n"
        if op == Op.LINE_END:
            return last or self.text[position] == c"\n"
        cdef bint before = not first and is_word(self.text[position - 1])
        cdef bint after = not last and is_word(self.text[position])
        return (op == Op.BOUNDARY) == (before != after)


cdef void forget(uint8_t *failed, int64_t first, int64_t count) noexcept:
    """Clear the bits of the position where a match ended. The next search begins there or later,
    and what was tried after that position has failed: the match did not get there."""
    cdef int64_t pair
    for pair in range(first, first + count):
        failed[pair >> 3] &= <uint8_t> ~(1 << (pair & 7))


cdef inline bint is_word(unsigned int char) noexcept:
    return (
        c"a" <= char <= c"z" or c"A" <= char <= c"Z" or c"0" <= char <= c"9" or char == c"_"
    )
