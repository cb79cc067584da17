"""Type unification: check whether a value of one type may be used as another, and bind the type
parameters. The rules are from cel-go's checker/types.go, including its leniency towards null.
"""

from policyd.cel.types.types import DYN, Kind, Type, is_same, shared_type, unwrapped

# Names of the module: the .pxd makes them C variables.
_PRIMITIVE, _PARAM, _NULL, _TYPE = Kind.PRIMITIVE, Kind.PARAM, Kind.NULL, Kind.TYPE
_DYN, _ERROR, _OPAQUE, _LIST, _MAP = Kind.DYN, Kind.ERROR, Kind.OPAQUE, Kind.LIST, Kind.MAP
_NULLABLE = frozenset((Kind.OPAQUE, Kind.STRUCT, Kind.WELL_KNOWN, Kind.NULL, Kind.WRAPPER))


class Bindings:
    """Bindings of type parameters. Failed attempts leave no trace."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._trail: list[tuple[Type, Type | None]] = []

    def assignable(self, to: Type, given: Type) -> bool:
        """Return whether the types agree; if so, keep the bindings of their parameters."""
        return self.all_assignable((to,), (given,))

    def all_assignable(self, first: tuple[Type, ...], second: tuple[Type, ...]) -> bool:
        """Return whether the types agree pair by pair."""
        if len(first) != len(second):
            return False
        self._trail.clear()
        if self._pairs(first, second):
            return True
        for param, before in reversed(self._trail):
            if before is None:
                del self._bound[param]
            else:
                self._bound[param] = before
        return False

    def substitute(self, t: Type, free_to_dyn: bool = False) -> Type:
        """Replace bound type parameters; unbound ones stay, or become dyn."""
        if not t.parametric:
            return t
        while t.kind is _PARAM:
            bound = self._bound.get(t)
            if bound is None:
                return DYN if free_to_dyn else t
            t = bound
        if not t.parametric:
            return t
        params = tuple([self.substitute(each, free_to_dyn) for each in t.params])
        return t if params == t.params else shared_type(t.name, params)

    def _bind(self, param: Type, to: Type) -> None:
        self._trail.append((param, self._bound.get(param)))
        self._bound[param] = to

    def _pairs(self, first: tuple[Type, ...], second: tuple[Type, ...]) -> bool:
        if len(first) != len(second):
            return False
        for index in range(len(first)):
            if not self._agree(first[index], second[index]):
                return False
        return True

    def _agree(self, first: Type, second: Type) -> bool:
        one, other = first.kind, second.kind
        if one is _PRIMITIVE and other is _PRIMITIVE:
            return first.name == second.name
        if other is _PARAM:
            stands = self._stands_for(second, first)
            if stands != _UNBOUND_NO:
                return stands != _BOUND_NO
        if one is _PARAM:
            return self._stands_for(first, second) == _YES
        if one is _DYN or one is _ERROR or other is _DYN or other is _ERROR:
            return True
        if one is _NULL:
            return other in _NULLABLE
        if other is _NULL:
            return one in _NULLABLE
        if one is _TYPE:
            return other is _TYPE
        if one is _OPAQUE or one is _LIST or one is _MAP:
            return first.name == second.name and self._pairs(first.params, second.params)
        return is_same(unwrapped(first), unwrapped(second))

    def _stands_for(self, param: Type, t: Type) -> int:
        """Return whether the parameter can have the type; if not, whether it was already bound."""
        if is_same(param, t):
            return _YES
        known = self._bound.get(param)
        if known is None:
            if self._occurs(param, t):
                return _UNBOUND_NO
            self._bind(param, t)
            return _YES
        if is_same(known, t):
            return _YES
        if not self._agree(t, known):
            return _BOUND_NO
        general = most_general(t, known)
        if not self._occurs(param, general):
            self._bind(param, general)
        return _YES

    def _occurs(self, param: Type, within: Type) -> bool:
        if not within.parametric:
            return False
        if is_same(param, within):
            return True
        if within.kind is _PARAM:
            known = self._bound.get(within)
            return known is not None and self._occurs(param, known)
        for each in within.params:
            if self._occurs(param, each):
                return True
        return False


# The results of ``_stands_for``.
_YES, _BOUND_NO, _UNBOUND_NO = 0, 1, 2


def most_general(first: Type, second: Type) -> Type:
    """Return the less specific of two types that agree."""
    return first if _covers(first, second) else second


def _covers(first: Type, second: Type) -> bool:
    """Return whether the first type equals the second or is less specific."""
    if first.kind is _DYN or first.kind is _PARAM:
        return True
    one, other = unwrapped(first), unwrapped(second)
    kind = one.kind
    if other.kind is _DYN or other.kind is _PARAM or kind is not other.kind:
        return False
    if kind is _TYPE:
        return True
    if kind is _OPAQUE or kind is _LIST or kind is _MAP:
        if one.name != other.name or len(one.params) != len(other.params):
            return False
        for index in range(len(one.params)):
            if not _covers(one.params[index], other.params[index]):
                return False
        return True
    return is_same(one, other)
