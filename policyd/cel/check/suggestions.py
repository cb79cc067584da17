"""The declared names that errors suggest for an undeclared name, as in Kubernetes 1.38 (cel-go
0.33): common/env/catalog.go (Catalog.Find, EditDistance) and checker/errors.go.
"""

from collections.abc import Iterable, Sequence

from policyd._core.go.strings import closest
from policyd.cel.syntax.macros import MACRO_NAMES
from policyd.cel.types.declarations import TYPE_NAMES, Names, Scope
from policyd.versions import CEL_0_33

_SHORT, _LONG = 3, 8  # lengths of names that may differ in one character, and in more than two
# The types of Kubernetes and of optionals are not symbols of cel-go's standard library.
_TYPES = tuple(name for name in TYPE_NAMES if name != "optional_type" and "net." not in name)
# Former names of operators, which cel-go still declares.
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
    """Return whether a declared name equals or resembles ``a.b.c``, of which neither ``a`` nor
    ``a.b`` is declared. If so, the error since 1.38 is about the whole name (checker/errors.go:
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
    """Return at most two symbols that a name may stand for, the shortest first: the name itself,
    those with the least edit distance, or those that begin with it.
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
