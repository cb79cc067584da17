"""Programs and the lazily computed variables of policies."""

cimport cython
from libc.stdint cimport int64_t
from time import thread_time_ns

from policyd._core.eval.nodes cimport Const, Node
from policyd._core.system.c_stack cimport has_room
from policyd._core.values.activation cimport MOST_TAKEN, Activation, activation, charge
from policyd._core.values.errors cimport CelError, error
from policyd._core.values.printing cimport string_of
from policyd._core.values.types cimport MISSING, some, type_name

from policyd.errors import CelPanic, CostExceeded, EvaluationError

#: from policyd._core.eval.slots import Slots


@cython.final
cdef class Program:
    #: layout: Slots
    def __init__(
        self,
        str text not None,
        Node root not None,
        layout,
        result_type,
        rereads=False,
        nesting=0,
        hands_on=True,
        since_1_38=False,
    ):
        #: (str, Node, Slots, Any, bool, int, bool, bool) -> None
        self.text = text
        self.rereads = rereads
        self.since_1_38 = since_1_38
        self.hands_on = hands_on
        self.nesting = nesting
        self.root = root
        self.layout = layout
        self.result_type = result_type

    cdef object run(self, Activation act):
        """The result, a value or CelError, within the cost limit and deadline of the activation.
        Sets act.spent to the cost of this expression. Raises CostExceeded or DeadlineExceeded.
        """
        act.count_from(0)
        act.rereads = self.rereads
        act.since_1_38 = self.since_1_38
        try:
            value = self.root.eval(act)
        except CelPanic as panic:
            return CelError(f"internal error: {panic}")
        if act.spent > act.limit:
            act.check()
        return value

    def evaluate(self, variables, *, cost_limit=1_000_000, deadline=0):
        #: (Mapping[str, Any], int, int) -> Any
        """The value for the given variables. Raises EvaluationError with CEL's message,
        BudgetExceeded.
        """
        value, _ = self.evaluate_with_cost(variables, cost_limit=cost_limit, deadline=deadline)
        if type(value) is CelError:
            raise EvaluationError(value.message)
        return value

    def evaluate_with_cost(self, variables, *, cost_limit=1_000_000, deadline=0, typing=None):
        #: (Mapping[str, Any], int, int, Any) -> tuple[Any, int]
        """The value or CelError, and the cost in units. Raises BudgetExceeded.

        ``typing`` comes from ``plan.typing_of`` and says which variables hold Go values.
        """
        cdef Activation act = activation(self.layout.size, cost_limit, deadline)
        act.typing = typing
        for name, value in variables.items():
            slot = self.layout.slots.get(name)
            if slot is not None:
                act.slots[slot] = value
        result = self.run(act)
        return result, act.spent + act.variables_spent

    def __repr__(self):
        return f"<Program {self.text!r}>"


def render(value):
    #: (Any) -> str
    """The value as CEL's ``string()`` converts it, or as messages print it."""
    return value.message if type(value) is CelError else string_of(value)


def type_of(value):
    #: (Any) -> str
    """The name of the CEL type of a value: ``int``, ``map``, ``google.protobuf.Timestamp`` ..."""
    return type_name(value)


cdef enum:
    MOST_SHARED = 64 << 10  # bytes of a value that is kept until all policies are evaluated

cdef int MAX_NESTED = 100  # variables that use variables that use variables ...


@cython.final
cdef class PlannedVariable:
    """A ``variables.x`` of a policy: its slot and its program (None until it is compiled)."""
    cdef readonly str name
    cdef readonly Py_ssize_t slot
    cdef Program program
    cdef str shared  # identifies its value to other policies; None: not shared

    def __init__(self, str name not None, slot):
        #: (str, int) -> None
        self.name = name
        self.slot = slot

    def define(self, Program program not None, str shared=None):
        #: (Program, str | None) -> None
        """Define the variable. A later definition replaces it, as in Kubernetes."""
        self.program = program
        self.shared = shared

    cdef object value(self, Activation act):
        """The value, computed at its first use and stored in the slot."""
        value = act.slots[self.slot]
        if value is MISSING:
            if self.shared is None or act.shared is None:
                value = self._compute(act)
            else:
                value = self._known(act)
            act.slots[self.slot] = value
        return value

    cdef object _known(self, Activation act):
        """Take the value that another policy computed, at the same cost and memory, or compute it.
        """
        cdef int64_t spent = act.variables_spent, taken = act.taken
        found = act.shared.get(self.shared)
        if found is not None and act.nested < MAX_NESTED:
            value, more, bytes_taken = <tuple>found
            if taken + <int64_t>bytes_taken <= MOST_TAKEN:
                act.variables_spent += <int64_t>more
                act.taken += <int64_t>bytes_taken
                return value
        value = self._compute(act)
        taken = act.taken - taken
        if found is None and taken <= MOST_SHARED and type(value) is not CelError:
            act.shared[self.shared] = (value, act.variables_spent - spent, taken)
        return value

    cdef object _compute(self, Activation act):
        """Computes the value with a separate cost count: the limit applies to each expression."""
        cdef int64_t spent = act.spent
        if self.program is None:
            return error(f"no such key: {self.name}")
        if act.nested >= MAX_NESTED or not has_room():
            return error(f'composited variable "{self.name}" is nested too deeply')
        act.nested += 1
        try:
            value = self.program.run(act)
        except CostExceeded as exceeded:
            value = CelError(str(exceeded))
        finally:
            act.nested -= 1
            act.variables_spent += act.spent
            act.count_from(spent)
        if type(value) is CelError:
            return error(f'composited variable "{self.name}" fails to evaluate: {value.message}')
        return value


@cython.final
cdef class VariableNode(Node):
    """A use of ``variables.x``."""
    cdef PlannedVariable variable
    cdef int units

    def __init__(self, PlannedVariable variable not None, units=2):
        #: (PlannedVariable, int) -> None
        self.variable = variable
        self.units = units

    cdef object eval(self, Activation act):
        charge(act, self.units)  # for `variables` and the select
        return self.variable.value(act)


@cython.final
cdef class VariableTest(Node):
    """``has(variables.x)``: computes x, as Kubernetes does; true unless x is an error."""
    cdef PlannedVariable variable

    def __init__(self, PlannedVariable variable not None):
        #: (PlannedVariable) -> None
        self.variable = variable

    cdef object eval(self, Activation act):
        charge(act, 1)
        value = self.variable.value(act)
        return value if type(value) is CelError else True


@cython.final
cdef class VariableOptional(Node):
    """``variables.?x``: its value as an optional, or its error."""
    cdef PlannedVariable variable

    def __init__(self, PlannedVariable variable not None):
        #: (PlannedVariable) -> None
        self.variable = variable

    cdef object eval(self, Activation act):
        charge(act, 1)
        value = self.variable.value(act)
        return value if type(value) is CelError else some(value)


def constant(Node node not None):
    #: (Node) -> Node
    """The constant node of a list or map of constants.

    A literal that has no value (``{b'a': 1}``) is returned unchanged and fails at run time.
    """
    try:
        return Const(node.eval(activation(0, 1_000_000_000, 0)))
    except CelPanic:
        return node


def compute(Node node not None, since_1_38=False):
    #: (Node, bool) -> tuple[Any, int]
    """The value of a node without variables, and its cost. Used while planning, for constants."""
    cdef Activation act = activation(0, 1_000_000_000, 0)
    act.since_1_38 = since_1_38
    try:
        return node.eval(act), act.spent
    except CostExceeded as exceeded:  # it needs more memory than one expression may use
        return CelError(str(exceeded)), act.spent


cdef int64_t FAR = 1 << 62  # a deadline, so that the clock is read as in production


def nanoseconds(tuple programs not None, dict variables not None, Py_ssize_t rounds=2_000):
    #: (tuple[Program, ...], dict[str, Any], int) -> float
    """CPU time of one round: a fresh activation with the variables, then every program.

    The programs share one layout, like the programs of a policy. Returns the smallest of ten means,
    because other processes can only make a round slower.
    """
    cdef Activation act
    layout = (<Program?>programs[0]).layout
    slots = [(layout.slots[name], value) for name, value in variables.items()
             if name in layout.slots]
    best = None
    for _batch in range(10):
        start = thread_time_ns()
        for _ in range(rounds):
            act = activation(layout.size, 1_000_000, FAR)
            for slot, value in slots:
                act.slots[slot] = value
            for program in programs:
                (<Program>program).run(act)
        mean = (thread_time_ns() - start) / rounds
        best = mean if best is None else min(best, mean)
    return best
