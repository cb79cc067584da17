"""Folds: loops over lists and maps.

cel-go runs all folds as one general loop over an accumulator. These nodes do less work but charge
what that loop charges: the comments name the parts of the general form that are charged.
"""

cimport cython
from libc.stdint cimport int64_t

from policyd._core.eval.nodes cimport Node
from policyd._core.values.activation cimport Activation, charge, charge_ended, take, work
from policyd._core.values.elements cimport NO_ITEMS
from policyd._core.values.errors cimport CelError, error, not_bool
from policyd._core.values.equality cimport find
from policyd._core.values.printing cimport printed
from policyd._core.eval.rereading cimport reread
from policyd._core.values.types cimport MISSING, Optional, go_name, key_value, map_key, type_name

#: from policyd._core.eval.nodes import Node

cdef enum:
    ENTRY = 100  # bytes of memory per entry of a map
    # The cost of one round of the general form, without the body.
    ALL_ROUND = 3     # @not_strictly_false(accu): 2, accu && ...: 1
    EXISTS_ROUND = 4  # @not_strictly_false(!accu): 3, accu || ...: 1
    RESULT = 1        # reading accu at the end


cdef class FoldNode(Node):
    """A loop over the elements of a list or the keys of a map; with two variables: index/key and
    value.
    """
    cdef Node range
    cdef Py_ssize_t slot
    cdef Py_ssize_t second_slot  # -1: one variable
    cdef Node body

    def __init__(self, Node range not None, slot, second_slot, Node body not None):
        #: (Node, int, int, Node) -> None
        self.range = range
        self.slot = slot
        self.second_slot = second_slot
        self.body = body

    cdef object eval(self, Activation act):
        value = self.range.eval(act)
        if type(value) is not list and type(value) is not dict:
            return self.refuse(act, value)
        return self.fold(act, self.firsts(act, value), self.seconds(act, value))

    cdef object fold(self, Activation act, list items, list others):
        """The loop over the values of the variables; others: None if there is one variable."""
        raise TypeError("a fold without a loop")

    cdef list firsts(self, Activation act, object value):
        """The values of the first variable: elements or keys, or indexes if there are two."""
        if type(value) is list:
            if self.second_slot < 0:
                return <list>value
            work(act, len(<list>value))
            return list(range(len(<list>value)))
        work(act, len(<dict>value))
        return [key_value(key) for key in <dict>value]

    cdef list seconds(self, Activation act, object value):
        """The values of the second variable, or None if there is one variable."""
        if self.second_slot < 0:
            return None
        return <list>value if type(value) is list else list((<dict>value).values())

    cdef object refuse(self, Activation act, object value):
        """The error for a range that is neither a list nor a map. Since 1.38, an empty string is an
        empty range.
        """
        if type(value) is CelError:
            return value
        if act.since_1_38 and (type(value) is str or type(value) is bytes) and not value:
            return self.fold(act, [], None)
        if self.second_slot >= 0:
            return error(f"unsupported comprehension range type: {go_name(value)}")
        return error(f"got '{go_name(value)}', expected iterable type")


@cython.boundscheck(False)  # i < size of lists that do not change; slots as in Slot
@cython.wraparound(False)
cdef inline int begin_round(
    FoldNode fold, Activation act, list items, list others, Py_ssize_t i
) except -1:
    """Set the variables to the values of this round."""
    act.slots[fold.slot] = items[i]
    if others is not None:
        act.slots[fold.second_slot] = others[i]
    return work(act, 1)


cdef inline object search(
    FoldNode fold, Activation act, list items, list others, object wanted, int64_t cost
):
    """Return ``wanted`` (True or False) if a round has that value. ``cost``: the cost of a round.
    """
    cdef Py_ssize_t i, size = len(items)
    failure = None
    for i in range(size):
        begin_round(fold, act, items, others, i)
        value = fold.body.eval(act)
        charge(act, cost)
        if value is wanted:
            charge(act, RESULT if i + 1 == size else cost - 1 + RESULT)
            return wanted
        if value is not True and value is not False and failure is None:
            failure = not_bool(value)
    charge(act, RESULT)
    return wanted is False if failure is None else failure


@cython.final
cdef class AllNode(FoldNode):
    cdef object fold(self, Activation act, list items, list others):
        return search(self, act, items, others, False, ALL_ROUND)


@cython.final
cdef class ExistsNode(FoldNode):
    cdef object fold(self, Activation act, list items, list others):
        return search(self, act, items, others, True, EXISTS_ROUND)


@cython.final
cdef class ExistsOneNode(FoldNode):
    cdef object fold(self, Activation act, list items, list others):
        cdef Py_ssize_t i, size, found = 0
        failure = None
        size = len(items)
        for i in range(size):
            begin_round(self, act, items, others, i)
            value = self.body.eval(act)
            if value is True:
                charge(act, 1)  # accu
                found += 1
                if failure is None:
                    charge(act, 1)  # accu + 1
                else:
                    charge_ended(act, 1)
            elif value is not False:  # keep the last error: it replaces accu
                failure = not_bool(value)
        charge(act, RESULT + 1)  # accu == 1
        return found == 1 if failure is None else failure


@cython.final
cdef class Collect(FoldNode):
    """``constant``: the body is a constant, so [body] is one too and creating it is free."""
    cdef Node condition     # None: always
    cdef int64_t step_cost  # of accu + [body]

    def __init__(self, Node range not None, slot, second_slot, Node body not None,
                 Node condition, constant):
        #: (Node, int, int, Node, Node | None, bool) -> None
        FoldNode.__init__(self, range, slot, second_slot, body)
        self.condition = condition
        self.step_cost = 2 if constant else 12  # accu, +, and the list [body]

    cdef object fold(self, Activation act, list items, list others):
        cdef list made = []
        cdef Py_ssize_t i
        failure = None
        for i in range(len(items)):
            begin_round(self, act, items, others, i)
            if self.condition is not None:
                value = self.condition.eval(act)
                if value is not True:
                    if value is not False:
                        failure = not_bool(value)
                    continue
            if failure is not None and act.since_1_38:
                charge(act, 1)  # accu
                continue
            value = self.body.eval(act)
            if type(value) is CelError:
                charge(act, 1 if act.since_1_38 else self.step_cost)
                failure = value if failure is None else failure
                continue
            charge(act, self.step_cost)
            if failure is None:
                made.append(value)
        charge(act, RESULT)
        return failure if failure is not None else made if made else NO_ITEMS


@cython.final
cdef class CollectMap(FoldNode):
    """``entries``: the body evaluates to a map to insert; otherwise to the value of the key."""
    cdef Node condition
    cdef bint entries

    def __init__(self, Node range not None, slot, second_slot, Node body not None,
                 Node condition, entries):
        #: (Node, int, int, Node, Node | None, bool) -> None
        FoldNode.__init__(self, range, slot, second_slot, body)
        self.condition = condition
        self.entries = entries

    cdef object fold(self, Activation act, list items, list others):
        cdef dict made = {}
        cdef Py_ssize_t i
        failure = None
        for i in range(len(items)):
            begin_round(self, act, items, others, i)
            if self.condition is not None:
                value = self.condition.eval(act)
                if value is not True:
                    if value is not False:
                        failure = not_bool(value)
                    continue
            value = self._step(act, made, items[i], failure)
            failure = value if type(value) is CelError else failure
        charge(act, RESULT)
        return made if failure is None else failure

    cdef object _step(self, Activation act, dict made, object first, object failure):
        """cel.@mapInsert(accu, key, body) or (accu, body); returns an error or None."""
        charge(act, 1)  # accu
        if self.entries:
            if failure is not None and act.since_1_38:
                return failure
            value = self.body.eval(act)
            if failure is not None or type(value) is CelError:
                charge_ended(act, 1)
                return value if failure is None else failure
            charge(act, 1)
            return _insert_all(act, made, value)
        if failure is not None:
            return failure
        charge(act, 1)  # the key variable
        value = self.body.eval(act)
        if type(value) is CelError:
            charge_ended(act, 1)
            return value
        charge(act, 1)
        return _insert(made, map_key(first), value)


cdef object _insert_all(Activation act, dict made, object entries):
    if type(entries) is not dict:
        return error(f"no such overload: cel.@mapInsert(map, {type_name(entries)})")
    for key, value in (<dict>entries).items():
        work(act, 4)
        take(act, ENTRY)
        failure = _insert(made, key, value)
        if failure is not None:
            return failure
    return None


cdef object _insert(dict made, object key, object value):
    if find(made, key_value(key)) is not MISSING:  # 0 and 0u are the same key
        return error(f"insert failed: key {printed(key_value(key))} already exists")
    made[key] = value
    return None


@cython.final
cdef class Bind(Node):
    """A named value within an expression, computed at its first use."""
    cdef Py_ssize_t slot
    cdef Node body

    def __init__(self, slot, Node body not None):
        #: (int, Node) -> None
        self.slot = slot
        self.body = body

    cdef object eval(self, Activation act):
        act.slots[self.slot] = MISSING
        return self.body.eval(act)


@cython.final
cdef class BoundSlot(Node):
    """A use of that name."""
    cdef Py_ssize_t slot
    cdef Node value
    cdef int64_t units

    def __init__(self, slot, Node value not None, units=1):
        #: (int, Node, int) -> None
        self.slot = slot
        self.value = value
        self.units = units

    cdef object eval(self, Activation act):
        held = act.slots[self.slot]
        if held is MISSING:
            held = self.value.eval(act)
            act.slots[self.slot] = held
        charge(act, self.units)
        return reread(<Optional>held) if type(held) is Optional and act.rereads else held
