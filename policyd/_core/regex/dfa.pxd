"""A DFA that tests whether an ASCII string contains a match of a regular expression."""

from libc.stdint cimport uint8_t, uint16_t, uint64_t

cdef enum:
    SET_WORDS = 8  # of 64 instructions each: the limit of regex/program.py


cpdef enum Op:
    MATCH        # always the first instruction
    ONE          # one character of a set
    EITHER       # continues at two instructions
    TEXT_START
    LINE_START
    TEXT_END     # this and the following depend on the next character
    LINE_END
    BOUNDARY
    NO_BOUNDARY


cdef struct Instruction:
    uint16_t op
    uint16_t after
    uint16_t other  # for EITHER the other next, for ONE the number of its set


cdef struct Characters:
    uint64_t bits[2]


cdef struct State:
    uint64_t members[SET_WORDS]  # instructions that wait for a character or the end
    uint64_t before              # the kind of the last character, if a member needs it


cdef class Dfa:
    cdef Instruction *program
    cdef Characters *sets
    cdef tuple texts       # the sets in RE2 syntax, to find their characters beyond ASCII
    cdef State *states
    cdef uint16_t *table
    cdef uint8_t kinds[128]
    cdef uint16_t length   # of the program
    cdef uint16_t start    # first instruction to run
    cdef uint16_t set_count
    cdef uint16_t columns
    cdef uint16_t count    # number of states
    cdef uint16_t room     # allocated states
    cdef uint16_t most     # states
    cdef uint16_t initial  # 0: not created yet
    cdef bint by_line      # the program has LINE_START
    cdef bint by_word      # the program has BOUNDARY or NO_BOUNDARY
    cdef readonly Py_ssize_t steps  # transitions computed so far: at most one per table entry
    cdef readonly bint gave_up      # too many states: RE2 must be used

    cdef int search(self, str text) except -2
    cdef uint16_t begin(self) except? 0
    cdef uint16_t step(self, uint16_t at, unsigned int char) except? 0
    cdef void decide(
        self, const State *waiting, State *decided, unsigned int following
    ) noexcept
    cdef void follow(
        self,
        uint16_t first,
        State *state,
        uint64_t *seen,
        unsigned int before,
        unsigned int following,
    ) noexcept
    cdef uint16_t number(self, const State *state) except? 0
    cdef int reserve(self) except -1
    cdef bint takes(self, uint16_t index, unsigned int char) noexcept
    cdef unsigned int kind_before(self, unsigned int char) noexcept
