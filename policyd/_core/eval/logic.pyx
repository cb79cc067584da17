"""Equality, the alternative of an optional, and logical operators, which absorb errors."""

cimport cython
from libc.stdint cimport int64_t

from policyd._core.eval.nodes cimport Node
from policyd._core.values.activation cimport charge
from policyd._core.values.errors cimport NO_SUCH_OVERLOAD, CelError, not_bool
from policyd._core.values.equality cimport equal, unlike
from policyd._core.eval.functions cimport tenths
from policyd._core.values.types cimport MISSING, Opaque, Optional, UInt, map_key, size_of

#: from policyd._core.eval.nodes import Node


@cython.final
cdef class And(Node):
    """False if any term is false; otherwise the first error, if there is one; otherwise true."""
    cdef readonly tuple terms
    #: terms: tuple[Node, ...]

    def __init__(self, tuple terms not None):
        #: (tuple[Node, ...]) -> None
        self.terms = terms

    cdef object eval(self, Activation act):
        return all_of(act, self.terms, 0)


cdef object all_of(Activation act, tuple terms, Py_ssize_t start):
    """The result of && for the terms from ``start`` on; all earlier terms were true."""
    cdef Py_ssize_t i
    failure = None
    for i in range(start, len(terms)):
        value = (<Node>terms[i]).eval(act)
        if value is False:
            return False
        if value is not True and failure is None:
            failure = not_bool(value)
    return True if failure is None else failure


@cython.final
cdef class Or(Node):
    """True if any term is true; otherwise the first error, if there is one; otherwise false."""
    cdef readonly tuple terms
    #: terms: tuple[Node, ...]

    def __init__(self, tuple terms not None):
        #: (tuple[Node, ...]) -> None
        self.terms = terms

    cdef object eval(self, Activation act):
        failure = None
        for term in self.terms:
            value = (<Node>term).eval(act)
            if value is True:
                return True
            if value is not False and failure is None:
                failure = not_bool(value)
        return False if failure is None else failure


@cython.final
cdef class Conditional(Node):
    cdef Node condition
    cdef Node yes
    cdef Node no

    def __init__(self, Node condition not None, Node yes not None, Node no not None):
        #: (Node, Node, Node) -> None
        self.condition = condition
        self.yes = yes
        self.no = no

    cdef object eval(self, Activation act):
        value = self.condition.eval(act)
        if value is True:
            return self.yes.eval(act)
        if value is False:
            return self.no.eval(act)
        return not_bool(value)


cdef inline int64_t _equality_cost(
    Activation act, object left, object right, bint negated
) except -1:
    cdef int64_t one, other
    if not negated and isinstance(left, Opaque):
        return 1  # Kubernetes' estimator has a rule for == of its types, not for !=
    one = size_of(left)
    other = size_of(right)
    if act.since_1_38:  # optionals have no size
        one = 1 if type(left) is Optional else one
        other = 1 if type(right) is Optional else other
    return tenths(one if one < other else other)


@cython.final
cdef class Equal(Node):
    cdef Node left
    cdef Node right
    cdef bint negated

    def __init__(self, Node left not None, Node right not None, negated=False):
        #: (Node, Node, bool) -> None
        self.left = left
        self.right = right
        self.negated = negated

    cdef object eval(self, Activation act):
        left = self.left.eval(act)
        if type(left) is CelError and act.since_1_38:
            charge(act, 1)
            return left
        right = self.right.eval(act)
        charge(act, _equality_cost(act, left, right, self.negated))
        if type(left) is CelError:
            return left
        if type(right) is CelError:
            return right
        same = equal(act, left, right)
        if self.negated:
            return same is not True
        return same


@cython.final
cdef class EqualConst(Node):
    """Equality with a string constant: the most frequent comparison in policies."""
    cdef Node child
    cdef str constant
    cdef bint negated

    def __init__(self, Node child not None, str constant not None, negated=False):
        #: (Node, str, bool) -> None
        self.child = child
        self.constant = constant
        self.negated = negated

    cdef object eval(self, Activation act):
        cdef Py_ssize_t size, other
        value = self.child.eval(act)
        if type(value) is not str:
            if type(value) is CelError:
                charge(act, 1 if self.constant or act.since_1_38 else 0)
                return value
            charge(act, _equality_cost(act, value, self.constant, self.negated))
            if isinstance(value, Opaque):
                same = (<Opaque>value).equals(self.constant)
            elif type(value) is list or type(value) is dict:
                same = unlike(act, value, self.constant)
            else:
                same = False
            return same is not True if self.negated else same
        size = len(<str>value)
        other = len(self.constant)
        if other < size:
            size = other
        charge(act, 1 if 0 < size <= 10 else tenths(size))
        if self.negated:
            return <str>value != self.constant
        return <str>value == self.constant


@cython.final
cdef class InSet(Node):
    """``x in [literals]``: only x is charged, as in cel-go."""
    cdef Node child
    cdef frozenset members

    def __init__(self, Node child not None, members):
        #: (Node, Iterable[object]) -> None
        self.child = child
        self.members = _members(members)

    cdef object eval(self, Activation act):
        value = self.child.eval(act)
        kind = type(value)
        if kind is str:
            return value in self.members
        if kind is CelError:
            return value
        if kind is list or kind is dict:  # unhashable, and never a member
            return False
        return map_key(value) in self.members


cdef frozenset _members(values):
    """The members in all forms that compare equal: 1, 1u and 1.0."""
    cdef set forms = set()
    for value in values:
        forms.add(map_key(value))
        number = (<UInt>value).value if type(value) is UInt else value
        if type(number) is float and number.is_integer():
            number = int(number)
        if type(number) is int:
            forms.add(number)
            forms.add(map_key(float(number)))
            if 0 <= number < 1 << 64:
                forms.add(UInt(number))
    return frozenset(forms)


@cython.final
cdef class OptionalOr(Node):
    """``a.or(b)`` and ``a.orValue(b)``: b is evaluated only if a is none."""
    cdef Node left
    cdef Node right
    cdef bint unwrap
    cdef bint checks  # check that a is an optional

    def __init__(self, Node left not None, Node right not None, unwrap=False, checks=True):
        #: (Node, Node, bool, bool) -> None
        self.left = left
        self.right = right
        self.unwrap = unwrap
        self.checks = checks

    cdef object eval(self, Activation act):
        value = self.left.eval(act)
        if type(value) is not Optional:
            # Before 1.37, a value that is not an optional is returned as it is.
            return NO_SUCH_OVERLOAD if self.checks and type(value) is not CelError else value
        if (<Optional>value).held is MISSING:
            return self.right.eval(act)
        return (<Optional>value).held if self.unwrap else value
