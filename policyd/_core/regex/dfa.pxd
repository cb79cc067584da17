"""Whether an ASCII text holds a match of a regular expression: a machine whose states are made as
texts ask for them.
"""

from libc.stdint cimport uint8_t, uint16_t, uint64_t

cdef enum:
    SET_WORDS = 8  # of 64 instructions each: regex_program's bound


cpdef enum Op:
    MATCH        # always the first instruction
    ONE          # one character of a set
    EITHER       # goes on at two places
    TEXT_START
    LINE_START
    TEXT_END     # this and what follows needs the next character to be decided
    LINE_END
    BOUNDARY
    NO_BOUNDARY


cdef struct Instruction:
    uint16_t op
    uint16_t after
    uint16_t other  # for EITHER the other place, for ONE the number of its set


cdef struct Characters:
    uint64_t bits[2]


cdef struct State:
    uint64_t members[SET_WORDS]  # instructions that wait for a character or for the end
    uint64_t before              # what was read last, where a member asks for it


cdef class Dfa:
    """``table`` has a row per state: the next state for each kind of characters, then the answer
    at the end of the text."""
    cdef Instruction *program
    cdef Characters *sets
    cdef State *states
    cdef uint16_t *table
    cdef uint8_t kinds[128]
    cdef uint16_t length   # of the program
    cdef uint16_t start    # where it begins
    cdef uint16_t set_count
    cdef uint16_t columns
    cdef uint16_t count    # of states
    cdef uint16_t room     # for states
    cdef uint16_t most     # states
    cdef uint16_t initial  # 0: not made yet
    cdef bint by_line      # LINE_START is among the instructions
    cdef bint by_word      # BOUNDARY or NO_BOUNDARY is
    cdef readonly Py_ssize_t steps  # worked out so far: at most one per entry of the table
    cdef readonly bint gave_up      # there would be too many states: ask RE2

    # 1, 0, or UNKNOWN (-1) where the text is not ASCII or too many states are needed.
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
