"""Regular expressions over ASCII strings: a DFA that creates its states on demand.

A state is the set of instructions that wait for the next character. A step resolves the assertions
between the last character and the next, consumes the character, and follows the program until it
waits again, so anchors and word boundaries are exact everywhere. Each step is computed once and
cached. A pattern that exceeds the limit of states or memory is never tried again. This also limits
the time per string: one lookup per character, and at most one step per table entry.

The DFA does not find where a match begins or ends, and reads only ASCII strings.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Realloc
from libc.stdint cimport uint8_t, uint16_t, uint64_t
from libc.string cimport memcmp, memset

#: class Op(IntFlag):
#:     MATCH = ...
#:     ONE = ...
#:     EITHER = ...
#:     TEXT_START = ...
#:     LINE_START = ...
#:     TEXT_END = ...
#:     LINE_END = ...
#:     BOUNDARY = ...
#:     NO_BOUNDARY = ...

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(str text)
    const uint8_t *PyUnicode_1BYTE_DATA(str text)
    Py_ssize_t PyUnicode_GET_LENGTH(str text)

# Values of the table other than a state. A state is the offset of its row.
cdef enum:
    UNMADE
    FOUND      # for any rest of the string
    NOT_FOUND  # for any rest of the string
    FIRST_ROW

cdef enum:
    UNKNOWN = -1
    END = 128        # the end of the string, as the next character
    NOT_YET = 129    # the next character is not known yet
    MAX_STATES = 256
    MAX_TABLE = 1 << 14  # entries of 2 bytes
    MAX_LENGTH = 64 * SET_WORDS
    LINE_FEED = 10
    MATCHED = 1  # the first bit of a state, because MATCH is the first instruction

# The kind of the character before a position.
cdef enum:
    OTHER
    TEXT_BEGINS
    NEWLINE
    WORD


cdef class Dfa:
    """``table`` has a row per state: the next state for each kind of character, then the result
    at the end of the string.
    """
    def __init__(self, list instructions, start, list sets, bytes kinds, tuple texts=()):
        #: (list[tuple[int, int, int]], int, list[int], bytes, tuple[str, ...]) -> None
        """``instructions``: (operation, next, other next for EITHER or number of the set for ONE);
        the first is MATCH. ``start``: the first instruction to run. ``sets``: bit n is character n.
        ``kinds``: the kind of each ASCII character; characters of one kind are equivalent.
        ``texts``: the sets in RE2 syntax, for ``Backtracking``.
        """
        if self.program != NULL or len(instructions) > MAX_LENGTH or len(kinds) != END:
            raise ValueError("not a program")
        self.length = len(instructions)
        self.set_count = len(sets)
        self.program = <Instruction *> PyMem_Calloc(self.length, sizeof(Instruction))
        self.sets = <Characters *> PyMem_Calloc(self.set_count + 1, sizeof(Characters))
        if self.program == NULL or self.sets == NULL:
            raise MemoryError
        for index, (op, after, other) in enumerate(instructions):
            self.program[index] = Instruction(op, after, other)
            self.by_line = self.by_line or op == LINE_START
            self.by_word = self.by_word or op == BOUNDARY or op == NO_BOUNDARY
        for index, members in enumerate(sets):
            self.sets[index].bits[0] = members & 0xFFFF_FFFF_FFFF_FFFF
            self.sets[index].bits[1] = members >> 64
        for index, kind in enumerate(kinds):
            self.kinds[index] = kind
        self.start = start
        self.texts = texts
        self.columns = max(kinds) + 2
        self.most = min(MAX_STATES, MAX_TABLE // self.columns)

    def __dealloc__(self):
        PyMem_Free(self.program)
        PyMem_Free(self.sets)
        PyMem_Free(self.states)
        PyMem_Free(self.table)

    def __sizeof__(self):
        cdef Py_ssize_t row = sizeof(State) + self.columns * sizeof(uint16_t)
        return (
            type(self).__basicsize__
            + self.length * sizeof(Instruction)
            + (self.set_count + 1) * sizeof(Characters)
            + self.room * row
        )

    def matches(self, str text not None):
        #: (str) -> bool | None
        """Whether the string matches; None if it is not ASCII or if there are too many states."""
        cdef int answer = self.search(text)
        return None if answer == UNKNOWN else bool(answer)

    cdef int search(self, str text) except -2:
        """1, 0, or UNKNOWN (-1) if the string is not ASCII or needs too many states."""
        if self.gave_up or not PyUnicode_IS_ASCII(text):
            return UNKNOWN
        cdef const uint8_t *data = PyUnicode_1BYTE_DATA(text)
        cdef const uint8_t *end = data + PyUnicode_GET_LENGTH(text)
        cdef const uint16_t *table
        cdef uint16_t at = self.initial if self.initial != UNMADE else self.begin()
        cdef uint16_t following
        if at <= NOT_FOUND:
            return at == FOUND
        table = self.table
        while data < end:
            following = table[at + self.kinds[data[0]]]
            if following <= NOT_FOUND:
                if following == UNMADE:
                    following = self.step(at, data[0])
                    table = self.table
                if following <= NOT_FOUND:
                    return UNKNOWN if self.gave_up else following == FOUND
            at = following
            data += 1
        following = table[at + self.columns - 1]
        if following == UNMADE:
            following = self.step(at, END)
        return following == FOUND

    cdef uint16_t begin(self) except? 0:
        cdef State state
        cdef uint64_t seen[SET_WORDS]
        if self.program == NULL:
            raise TypeError("there is no program")
        memset(&state, 0, sizeof(State))
        memset(seen, 0, sizeof(seen))
        self.follow(self.start, &state, seen, TEXT_BEGINS, NOT_YET)
        self.initial = self.number(&state)
        return self.initial

    cdef uint16_t step(self, uint16_t at, unsigned int char) except? 0:
        """Compute one table entry; UNMADE if there are too many states."""
        cdef State now, following
        cdef uint64_t seen[SET_WORDS]
        cdef unsigned int before = self.kind_before(char)
        cdef uint16_t result, index
        self.steps += 1
        self.decide(&self.states[(at - FIRST_ROW) // self.columns], &now, char)
        if char == END or now.members[0] & MATCHED:
            result = FOUND if now.members[0] & MATCHED else NOT_FOUND
        else:
            memset(&following, 0, sizeof(State))
            memset(seen, 0, sizeof(seen))
            self.follow(self.start, &following, seen, before, NOT_YET)
            for index in range(self.length):
                if holds(now.members, index) and self.takes(index, char):
                    self.follow(self.program[index].after, &following, seen, before, NOT_YET)
            result = self.number(&following)
        self.table[at + (self.columns - 1 if char == END else self.kinds[char])] = result
        return result

    cdef void decide(self, const State *waiting, State *decided, unsigned int following) noexcept:
        """Resolve the assertions of a state when the next character is known."""
        cdef uint64_t seen[SET_WORDS]
        cdef uint16_t index
        memset(decided, 0, sizeof(State))
        memset(seen, 0, sizeof(seen))
        for index in range(self.length):
            if holds(waiting.members, index):
                self.follow(index, decided, seen, <unsigned int> waiting.before, following)

    cdef void follow(
        self,
        uint16_t first,
        State *state,
        uint64_t *seen,
        unsigned int before,
        unsigned int following,
    ) noexcept:
        """Add the instructions at which the program waits if it continues at ``first``."""
        cdef uint16_t waiting[MAX_LENGTH]
        cdef uint16_t index, op
        cdef unsigned int depth = 0
        cdef const Instruction *instruction
        depth = push(waiting, depth, seen, first)
        while depth:
            depth -= 1
            index = waiting[depth]
            instruction = &self.program[index]
            op = instruction.op
            if op == MATCH or op == ONE:
                add(state.members, index)
            elif op == EITHER:
                depth = push(waiting, depth, seen, instruction.after)
                depth = push(waiting, depth, seen, instruction.other)
            elif op >= TEXT_END and following == NOT_YET:
                add(state.members, index)
                state.before = before
            elif stands(op, before, following):
                depth = push(waiting, depth, seen, instruction.after)

    cdef uint16_t number(self, const State *state) except? 0:
        """The row of a state, created if it is new; UNMADE if there is no room for it."""
        cdef uint16_t index
        if state.members[0] & MATCHED:
            return FOUND
        if not self.by_line and is_empty(state):
            return NOT_FOUND
        for index in range(self.count):
            if memcmp(&self.states[index], state, sizeof(State)) == 0:
                return FIRST_ROW + index * self.columns
        if self.count == self.most:
            self.gave_up = True
            return UNMADE
        if self.count == self.room:
            self.reserve()
        self.states[self.count] = state[0]
        self.count += 1
        return FIRST_ROW + (self.count - 1) * self.columns

    cdef int reserve(self) except -1:
        cdef size_t room = min(self.most, max(2 * self.room, 8))
        cdef size_t entries = FIRST_ROW + room * self.columns
        cdef size_t filled = FIRST_ROW + <size_t> self.room * self.columns if self.room else 0
        cdef void *states = PyMem_Realloc(self.states, room * sizeof(State))
        if states == NULL:
            raise MemoryError
        self.states = <State *> states
        cdef void *table = PyMem_Realloc(self.table, entries * sizeof(uint16_t))
        if table == NULL:
            raise MemoryError
        self.table = <uint16_t *> table
        memset(self.table + filled, 0, (entries - filled) * sizeof(uint16_t))
        self.room = <uint16_t> room
        return 0

    cdef bint takes(self, uint16_t index, unsigned int char) noexcept:
        cdef const Instruction *instruction = &self.program[index]
        return instruction.op == ONE and self.sets[instruction.other].bits[char >> 6] >> (
            char & 63
        ) & 1

    cdef unsigned int kind_before(self, unsigned int char) noexcept:
        """The kind of the character for assertions after it, if the program has such assertions."""
        if self.by_line and char == LINE_FEED:
            return NEWLINE
        return WORD if self.by_word and is_word(char) else OTHER


cdef inline bint stands(uint16_t op, unsigned int before, unsigned int following) noexcept:
    if op == TEXT_START:
        return before == TEXT_BEGINS
    if op == LINE_START:
        return before == TEXT_BEGINS or before == NEWLINE
    if op == TEXT_END:
        return following == END
    if op == LINE_END:
        return following == END or following == LINE_FEED
    return (op == BOUNDARY) == ((before == WORD) != is_word(following))


cdef inline bint is_word(unsigned int char) noexcept:
    return (
        c"a" <= char <= c"z" or c"A" <= char <= c"Z" or c"0" <= char <= c"9" or char == c"_"
    )


cdef inline bint is_empty(const State *state) noexcept:
    cdef int word
    for word in range(SET_WORDS):
        if state.members[word]:
            return False
    return True


cdef inline bint holds(const uint64_t *members, uint16_t index) noexcept:
    return members[index >> 6] >> (index & 63) & 1


cdef inline void add(uint64_t *members, uint16_t index) noexcept:
    members[index >> 6] |= (<uint64_t> 1) << (index & 63)


cdef inline unsigned int push(
    uint16_t *waiting, unsigned int depth, uint64_t *seen, uint16_t index
) noexcept:
    """Push an instruction unless it was pushed before, so there is room for all."""
    if holds(seen, index):
        return depth
    add(seen, index)
    waiting[depth] = index
    return depth + 1
