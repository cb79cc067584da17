"""Type unification: check whether a value of one type may be used as another, and bind the type
parameters. The rules are those of cel-go's checker/types.go, its leniency towards null included.
"""

from collections.abc import Sequence

from policyd.cel.types.types import DYN, Kind, Type, unwrapped

_WILD = (Kind.DYN, Kind.ERROR)
_NULLABLE = (Kind.OPAQUE, Kind.STRUCT, Kind.WELL_KNOWN, Kind.NULL, Kind.WRAPPER)
_PARAMETRIC = (Kind.OPAQUE, Kind.LIST, Kind.MAP)


class Bindings:
    """Bindings of type parameters. Failed attempts leave no trace."""

    __slots__ = ("_bound", "_trail")

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._trail: list[tuple[Type, Type | None]] = []

    def assignable(self, to: Type, given: Type) -> bool:
        """Return whether the types agree; if so, keep the bindings of their parameters."""
        return self.all_assignable((to,), (given,))

    def all_assignable(self, first: Sequence[Type], second: Sequence[Type]) -> bool:
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

    def substitute(self, t: Type, *, free_to_dyn: bool = False) -> Type:
        """Replace bound type parameters; unbound ones stay, or become dyn."""
        while t.kind is Kind.PARAM:
            bound = self._bound.get(t)
            if bound is None:
                return DYN if free_to_dyn else t
            t = bound
        if not t.params:
            return t
        params = tuple(self.substitute(each, free_to_dyn=free_to_dyn) for each in t.params)
        return t if params == t.params else Type(t.name, params)

    def _bind(self, param: Type, to: Type) -> None:
        self._trail.append((param, self._bound.get(param)))
        self._bound[param] = to

    def _pairs(self, first: Sequence[Type], second: Sequence[Type]) -> bool:
        return len(first) == len(second) and all(map(self._agree, first, second))

    def _agree(self, first: Type, second: Type) -> bool:
        if first.kind is Kind.PRIMITIVE and second.kind is Kind.PRIMITIVE:
            return first.name == second.name
        if second.kind is Kind.PARAM:
            valid, bound = self._stands_for(second, first)
            if valid or bound:
                return valid
        if first.kind is Kind.PARAM:
            return self._stands_for(first, second)[0]
        if first.kind in _WILD or second.kind in _WILD:
            return True
        if first.kind is Kind.NULL:
            return second.kind in _NULLABLE
        if second.kind is Kind.NULL:
            return first.kind in _NULLABLE
        if first.kind is Kind.TYPE:
            return second.kind is Kind.TYPE
        if first.kind in _PARAMETRIC:
            return first.name == second.name and self._pairs(first.params, second.params)
        return unwrapped(first) == unwrapped(second)

    def _stands_for(self, param: Type, t: Type) -> tuple[bool, bool]:
        """Return whether the parameter can have the type, and whether it was bound before."""
        if param == t:
            return True, True
        known = self._bound.get(param)
        if known is None:
            if self._occurs(param, t):
                return False, False
            self._bind(param, t)
            return True, False
        if known == t:
            return True, True
        if not self._agree(t, known):
            return False, True
        general = most_general(t, known)
        if not self._occurs(param, general):
            self._bind(param, general)
        return True, True

    def _occurs(self, param: Type, within: Type) -> bool:
        if param == within:
            return True
        if within.kind is Kind.PARAM:
            known = self._bound.get(within)
            return known is not None and self._occurs(param, known)
        return any(self._occurs(param, each) for each in within.params)


def most_general(first: Type, second: Type) -> Type:
    """Return the less specific of two types that agree."""
    return first if _covers(first, second) else second


def _covers(first: Type, second: Type) -> bool:
    """Return whether the first type is equal to the second or less specific."""
    if first.kind in (Kind.DYN, Kind.PARAM):
        return True
    first, second = unwrapped(first), unwrapped(second)
    if second.kind in (Kind.DYN, Kind.PARAM) or first.kind is not second.kind:
        return False
    if first.kind is Kind.TYPE:
        return True
    if first.kind in _PARAMETRIC:
        same = first.name == second.name and len(first.params) == len(second.params)
        return same and all(map(_covers, first.params, second.params))
    return first == second
