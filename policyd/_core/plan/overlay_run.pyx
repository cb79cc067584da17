"""One application of an overlay: its expressions, its conditions, and the base of its changes."""

cimport cython

from policyd._core.json.equality cimport same
from policyd._core.values.errors cimport CelError
from policyd._core.json.sizes cimport value_bytes
from policyd._core.pattern.checks cimport HOLDS, Pattern
from policyd._core.plan.plan cimport POLICY_BUDGET, error_message, run
from policyd._core.schema.list_items cimport ABSENT
from policyd._core.schema.types cimport kind_of

from policyd._core.json import sizes

#: from policyd._core.eval.program import Program


class OverlayError(Exception):
    """The overlay cannot be applied. The message says where and why."""


@cython.final
cdef class OverlayRun:
    """One application of an overlay: its budget and the values of its expressions so far.

    ``conditions_activation`` has the deadline for the conditions, which spend no budget.
    """

    def __cinit__(self):
        self.budget = POLICY_BUDGET
        self.room = sizes.MAX_PATCH_BYTES

    cdef int write(self, object value) except -1:
        self.room -= value_bytes(value, self.room)
        if self.room < 0:
            raise OverlayError(f"its expressions make {sizes.TOO_LARGE}")
        return 0


@cython.final
cdef class OverlayExpression:
    """The expression between ``${`` and ``}``. ``number`` is its index in the mutation."""
    def __init__(self, Program program not None, number):
        #: (Program, int) -> None
        self.program = program
        self.number = number

    cdef object value(self, OverlayRun work):
        value = work.values[self.number]
        if value is ABSENT:
            value = self.sound(run(self.program, work.activation, &work.budget))
            work.values[self.number] = value
        return value

    cdef object sound(self, object value):
        if type(value) is CelError:
            raise OverlayError(error_message(self.program, value))
        return value


@cython.final
cdef class OverlayScope:
    """The conditions of a tree of maps: (path to the map, pattern). All must hold."""
    def __init__(self, conditions=()):
        #: (Iterable[tuple[tuple[str, ...], object]]) -> None
        self.conditions = tuple(conditions)

    cdef bint holds(self, object value, OverlayRun work) except -1:
        """Whether all conditions hold. A missing map counts as an empty map."""
        cdef Pattern pattern
        for path, pattern in self.conditions:
            place = value
            for name in <tuple>path:
                place = (<dict>place).get(name) if kind_of(place) is dict else None
            place = place if kind_of(place) is dict else {}
            if pattern.test(place, work.conditions_activation) != HOLDS:
                return False
        return True


cdef class OverlayChange:
    """The change of an overlay at one path.

    ``merged`` returns the new value, or ``live`` itself if nothing changes. Either may be ABSENT.
    It raises OverlayError, MergeError, Stopped or DeadlineExceeded.
    """
    cdef object merged(self, object live, OverlayRun work):
        raise TypeError("a change without merged")


cdef object replaced(object live, object value):
    return live if same(live, value, True, 0) else value
