"""What validating and mutating policies share: variables, slots, matchConditions, budgets.

Order, budgets and outcomes are the same as in Kubernetes (k8s.io/apiserver,
admission/plugin/cel/condition.go and admission/plugin/webhook/matchconditions).
"""

cimport cython
from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation, over as fresh
from policyd._core.values.errors cimport CelError
from policyd._core.counting.counters cimport PolicyCounters
from policyd._core.json.request cimport AdmissionRequest
from policyd._core.lib.authz cimport AuthorizerValue, authorizer_for, request_resource
from policyd._core.match.match_resources cimport Hit
from policyd._core.eval.program cimport Program
from policyd._core.plan.typed_values cimport TypedValues, typed_values
from policyd._core.values.types cimport MISSING

from policyd._core.json.shared_keys import shared_key
from policyd.errors import CostExceeded, DeadlineExceeded

#: from policyd._core.match.matcher import Hit
#: from policyd._core.schema.types import Field
#: ROOTS: tuple[str, ...]
#: _Gvk = tuple[str, str, str]
#: _Reads = Callable[[Any, bool], Any]
#: _ReadSlots = tuple[tuple[int, Any, bool], ...]
#: class _GoTypes(Protocol):
#:
#:     def go_type(self, gvk: tuple[str, str, str]) -> Field | None:
#:         ...

cdef str GROUP = shared_key("group")
cdef str VERSION = shared_key("version")
cdef str KIND = shared_key("kind")
cdef str RESOURCE = shared_key("resource")
cdef str REQUEST_RESOURCE = shared_key("requestResource")

cdef enum:
    MAX_ERROR_CHARS = 4096  # of one error, which may quote a key or value of megabytes

cdef str OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
cdef str LATE = "deadline exceeded before the policy was evaluated"


class Stopped(Exception):
    """The evaluation of a policy ends with this message: budget or deadline exceeded."""


class TimedOut(Stopped):
    """The evaluation of a policy ends because the deadline passed."""


# Kubernetes' variables, in the order of the first slots of every policy. The authorizer's
# have slots only in policies that use them.
ROOTS = ("object", "oldObject", "request", "namespaceObject", "params")

cdef enum:
    REQUEST = 2
    NAMESPACE_OBJECT = 3
    PARAMS = 4


@cython.final
cdef class Subject:
    """A request as policies see it. Policies that see it alike share one Subject.

    ``conditions_request`` is ``request`` as matchConditions see it (with the original resource).
    ``namespace_object`` may be a function, which is called when a policy needs the value and
    returns it or raises Unanswered. ``authorizer`` is the backend of the variable of that name (see
    ``lib/authz.pxd``), or None. ``within`` is the path of the object in the request's object ("" or
    the path of a pod template). ``reads`` takes a read that a policy uses, and whether it is only
    read by key, and returns its list, map or CelError. ``unreadable`` says why the review cannot be
    evaluated ("": it can): each matching policy fails once its matchConditions hold.
    """

    def __init__(
        self,
        object,
        old_object,
        request,
        conditions_request,
        namespace_object,
        authorizer=None,
        str within not None="",
        str unreadable not None="",
        reads=None,
    ):
        #: (Any, Any, Any, Any, Any, Any, str, str, _Reads | None) -> None
        self.object = object
        self.old_object = old_object
        self.made_request = request
        self.made_conditions = conditions_request
        self.namespace_object = namespace_object
        self.authorizer = authorizer
        self.within = within
        self.unreadable = unreadable
        self.reads = reads
        self.roots = [object, old_object, None, namespace_object, None]
        self.shared = {}

    @property
    def request(self):
        #: () -> Any
        return self.seen_request()

    @property
    def conditions_request(self):
        #: () -> Any
        return self.seen_by_conditions()

    cdef object seen_request(self):
        if self.sent is not None:
            self.make_requests()
        return self.made_request

    cdef object seen_by_conditions(self):
        if self.sent is not None:
            self.make_requests()
        return self.made_conditions

    cdef int make_requests(self) except -1:
        cdef dict shown = self.sent.shown()
        cdef dict request = with_name(shown, KIND, KIND, self.hit.kind)
        # matchConditions see the request's resource, all other expressions the matched resource.
        resource = shown[REQUEST_RESOURCE]
        self.made_conditions = request
        if shown[RESOURCE] != resource:
            self.made_conditions = {**request, RESOURCE: resource}
        self.made_request = with_name(request, RESOURCE, RESOURCE, self.hit.resource)
        self.sent = None
        return 0

    cpdef Subject seeing(self, object object):
        #: (Any) -> Subject
        """The same subject with another object."""
        cdef Subject other = Subject.__new__(Subject)
        other.object = object
        other.old_object = self.old_object
        other.sent, other.hit = self.sent, self.hit
        other.made_request, other.made_conditions = self.made_request, self.made_conditions
        other.namespace_object = self.namespace_object
        other.authorizer = self.authorizer
        other.within = self.within
        other.unreadable = self.unreadable
        other.reads = self.reads
        other.roots = self.roots[:]
        other.roots[0] = object
        other.shared = {}
        if self.typed is not None:
            other.typed = typed_values(self.typed.types, self.typed.kind)
        return other


def subject_of(
    Hit hit not None,
    object,
    old_object,
    AdmissionRequest sent not None,
    namespace_object,
    authorizer,
    str within not None,
    tuple kind not None,
    go_types not None,
    reads,
):
    #: (Hit, Any, Any, AdmissionRequest, Any, Any, str, _Gvk, _GoTypes, _Reads | None) -> Subject
    """The Subject of policies matched by ``hit``. ``request`` is the one ``sent``; policies see the
    kind and resource that they match in it. ``kind`` is the kind of the objects, ``go_types`` are
    the types of what is read of Go's values.
    """
    cdef Subject made = Subject.__new__(Subject)
    made.object, made.old_object = object, old_object
    made.sent, made.hit = sent, hit
    made.namespace_object, made.authorizer = namespace_object, authorizer
    made.within, made.unreadable = within, sent.unreadable
    made.reads = reads
    made.roots = [object, old_object, None, namespace_object, None]
    made.shared = {}
    made.typed = typed_values(go_types, kind)
    return made


def typing_of(go_types not None, tuple roots not None):
    #: (_GoTypes, tuple[tuple[Any, tuple[str, str, str]], ...]) -> Any
    """Which values are Go's, for ``Program.evaluate_with_cost``: ``roots`` are the variables'
    roots, each with its group, version and kind.
    """
    cdef TypedValues made = typed_values(go_types, None)
    made.roots = roots
    return made


cdef dict with_name(dict shown, str field, str last, tuple value):
    """``request`` with this GroupVersionKind or GroupVersionResource; ``shown`` if it has it."""
    current = shown[field]
    if (
        type(current) is dict
        and (<dict>current).get(VERSION) == value[1]
        and (<dict>current).get(last) == value[2]
        and (<dict>current).get(GROUP) == value[0]
    ):
        return shown
    return {**shown, field: {GROUP: value[0], VERSION: value[1], last: value[2]}}


@cython.final
cdef class Frame:
    """The slots of the programs of one policy after the roots; the number of ``variables.*``."""

    def __init__(
        self,
        int slots,
        dict names not None,
        int variables,
        used,
        bint typed=False,
        tuple params_kind=None,
        tuple reads=(),
    ):
        #: (int, dict[str, int], int, Container[str], bool, _Gvk | None, _ReadSlots) -> None
        if tuple(names)[: len(ROOTS)] != ROOTS:
            raise ValueError(f"the first slots must be those of {ROOTS}")
        self.others = [MISSING] * (slots - len(ROOTS))
        self.authorizer = names.get("authorizer", -1)
        self.request_resource = names.get("authorizer.requestResource", -1)
        self.uses_authorizer = self.authorizer >= 0 or self.request_resource >= 0
        self.variables = variables
        self.sees_namespace = "namespaceObject" in used
        self.sees_request = "request" in used
        self.typed = typed
        self.params_kind = params_kind
        self.reads = reads


cdef object run(Program program, Activation act, int64_t* budget):
    """The value or CelError of one expression.

    Reduces the budget by its cost and the cost of the variables that it uses first.
    """
    try:
        value = program.run(act)
    except CostExceeded as exceeded:
        value = CelError(str(exceeded))
    except DeadlineExceeded as exceeded:
        raise TimedOut(str(exceeded)) from None
    budget[0] -= act.spent + act.variables_spent
    act.variables_spent = 0
    if budget[0] < 0:
        raise Stopped(OUT_OF_BUDGET)
    return value


cdef str error_message(Program program, CelError error):
    cdef str message = error.message
    if len(message) > MAX_ERROR_CHARS:
        message = f"{message[:MAX_ERROR_CHARS]}… ({len(message) - MAX_ERROR_CHARS} more characters)"
    return f"expression '{program.text}' resulted in error: {message}"


cdef class Plan:
    """The common part of validating and mutating plans: matchConditions, slots and counters."""
    #: conditions: tuple[Program, ...]

    def __init__(
        self, conditions, Frame frame not None, bint fail, PolicyCounters counters not None
    ):
        #: (Iterable[Program], Frame, bool, PolicyCounters) -> None
        self.conditions = tuple(conditions)
        self.frame = frame
        self.fail = fail
        self.counters = counters

    cdef Activation activation(self, Subject subject, object params, int64_t deadline):
        cdef list slots = subject.roots + self.frame.others
        self.fill(slots, subject, params)
        return self.reading(fresh(slots, PER_CALL_LIMIT, deadline), subject)

    cdef Activation reading(self, Activation act, Subject subject):
        """The activation, which knows which of the subject's values are Go's."""
        if self.frame.typed:
            if act.typing is not subject.typed:
                act.typing = subject.typed
            if act.params_kind is not self.frame.params_kind:
                act.params_kind = self.frame.params_kind
        elif act.typing is not None:
            act.typing = None
        return act

    cdef int fill(self, list slots, Subject subject, object params) except -1:
        """Set the roots that this policy sees besides the objects."""
        slots[PARAMS] = params
        if self.frame.sees_request:
            slots[REQUEST] = subject.seen_request()
        if self.frame.sees_namespace:
            value = subject.namespace_object
            slots[NAMESPACE_OBJECT] = value() if callable(value) else value
        if self.frame.uses_authorizer:
            self.authorize(slots, subject)
        if self.frame.reads:
            for slot, read, keyed in self.frame.reads:
                slots[slot] = subject.reads(read, keyed)
        return 0

    cdef Activation next_activation(self, Subject subject, object params, int64_t deadline):
        """Like ``activation``, but reuse the previous policy's, whose evaluation has ended."""
        cdef Activation act = subject.last
        cdef Py_ssize_t size = ROOTS_COUNT + len(self.frame.others), i
        if act is None or len(act.slots) < size:
            act = subject.last = self.activation(subject, params, deadline)
            act.shared = subject.shared
            return act
        act.spent = act.checkpoint = act.variables_spent = act.taken = act.nested = 0
        act.deadline = deadline
        for i in range(ROOTS_COUNT, size):
            act.slots[i] = MISSING
        self.fill(act.slots, subject, params)
        return self.reading(act, subject)

    cdef int authorize(self, list slots, Subject subject) except -1:
        """Set the variables ``authorizer`` and ``authorizer.requestResource`` for the user."""
        cdef dict request = subject.seen_by_conditions()
        cdef AuthorizerValue authorizer = authorizer_for(subject.authorizer, request)
        if self.frame.authorizer >= 0:
            slots[self.frame.authorizer] = authorizer
        if self.frame.request_resource >= 0:
            slots[self.frame.request_resource] = request_resource(authorizer, request)
        return 0

    cdef object matched(self, Activation act, Subject subject):
        """Whether the matchConditions hold: True, False, or their errors. One False beats errors.

        matchConditions have no namespaceObject, and see the resource that the client named.
        """
        cdef list slots = act.slots
        cdef object namespace_object = slots[NAMESPACE_OBJECT]
        cdef int64_t budget = CONDITIONS_BUDGET
        cdef list errors = []
        cdef bint held = True
        cdef Program program
        cdef bint sees_request = self.frame.sees_request
        if sees_request:
            slots[REQUEST] = subject.seen_by_conditions()
        slots[NAMESPACE_OBJECT] = None
        for program in self.conditions:
            value = run(program, act, &budget)
            if type(value) is CelError:
                errors.append(error_message(program, value))
            elif value is not True:
                held = False
        if sees_request:
            slots[REQUEST] = subject.seen_request()
        slots[NAMESPACE_OBJECT] = namespace_object
        self.counters.cost_units += CONDITIONS_BUDGET - budget
        if not held:
            return False
        if not errors:
            return True
        return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"


cdef class PlannedPolicy:
    """The direct form of a policy, which the core reads on each request.

    ``direct_validation`` is (ValidationPlan, params), ``direct_mutation`` a MutationInvocation;
    None: it has no such form.
    """
    #: direct_validation: tuple[Any, Any] | None
    pass
