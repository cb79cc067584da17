"""The declared names that errors suggest for one that is not, chosen as cel-go 0.33 does, which is
Kubernetes 1.38: common/env/catalog.go (Catalog.Find, EditDistance) and checker/errors.go.
"""

from collections.abc import Iterable, Sequence

from policyd._core.go.strings import closest
from policyd.cel.syntax.macros import MACRO_NAMES
from policyd.cel.types.declarations import TYPE_NAMES, Names, Scope
from policyd.versions import CEL_0_33

_SHORT, _LONG = 3, 8  # characters of a name that may differ in one, and in more than two
# Types of Kubernetes and of optionals are no symbols of cel-go's standard library.
_TYPES = tuple(name for name in TYPE_NAMES if name != "optional_type" and "net." not in name)
# Former names of operators, which cel-go declares still.
_DEPRECATED = ("__not_strictly_false__", "_in_", "in")


def undeclared(name: str, scope: Scope) -> str:
    """Return the error for a name that is not declared; before 1.38 it suggests nothing."""
    near = _suggestion(name, scope) if scope.version.has(CEL_0_33) else ""
    return f"undeclared reference to '{name}'{scope.place()}{near}"


def _suggestion(name: str, scope: Scope) -> str:
    found = _nearest_of(name, scope)
    if not found or found[0] == name:
        return ""
    quoted = " or ".join([f"'{each}'" for each in found])
    return f" (did you mean {quoted}?)"


def misspelt(name: str, names: Names, scope: Scope) -> bool:
    """Return whether a declared name is, or is near, ``a.b.c``, where neither ``a`` nor ``a.b`` is
    declared. Since 1.38 the error is then about all of it (checker/errors.go:
    checkUndeclaredReference).
    """
    if not scope.version.has(CEL_0_33):
        return False
    parts = name.split(".")[:-1]
    declared = any(names.variable(".".join(parts[: n + 1])) for n in range(len(parts)))
    return not declared and bool(_nearest_of(name, scope))


def _nearest_of(name: str, scope: Scope) -> Sequence[str]:
    return nearest(name, [*scope.variables, *scope.functions, *_TYPES, *MACRO_NAMES, *_DEPRECATED])


def nearest(name: str, symbols: Iterable[str]) -> Sequence[str]:
    """Return the symbols that a name may stand for, at most two, the shortest first: itself, those
    of the least edit distance, or those that it begins.
    """
    dotted = "." in name
    known = [each for each in symbols if ("." in each) == dotted]
    if name in known:
        return [name]
    most = 1 if len(name) <= _SHORT else len(name) // 3 if len(name) > _LONG else 2
    found = closest(name, known, most)
    if not found and len(name) > 1:
        found = [each for each in known if each.startswith(name)]
    return sorted(set(found), key=lambda each: (len(each), each))[:2]
