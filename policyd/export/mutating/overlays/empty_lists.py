"""Lists that are surely empty where a policy mutates, because its matchConditions say so."""

from collections.abc import Iterable

from policyd.cel.syntax.ast import Call, Expr, Ident, ListExpr, Literal, Select
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import terms_of
from policyd.versions import KubernetesVersion

_Path = tuple[str, ...]


def empty_lists(conditions: Iterable[str], version: KubernetesVersion) -> frozenset[_Path]:
    """Return the paths of the lists of ``object`` that are absent, null or empty if all of these
    conditions hold.

    >>> from policyd.versions import NEWEST
    >>> text = "object.spec.?tolerations.orValue(null) == null || object.spec.tolerations == []"
    >>> empty_lists([text], NEWEST)
    frozenset({('spec', 'tolerations')})
    """
    found = set()
    for text in conditions:
        paths = set(map(_emptied, terms_of(parse(text, version), "_||_")))
        if len(paths) == 1:
            found |= paths - {None}
    return frozenset(path for path in found if path is not None)


def _emptied(node: Expr) -> _Path | None:
    """Return the path that is null, absent or an empty list if a term holds."""
    match node:
        case Call(function="!_", args=(Select(operand=operand, field=field, test_only=True),)):
            above = _path(operand)
            return None if above is None else (*above, field)
        case Call(function="_==_", args=(value, Literal(value=None))):
            return _or_null(value)
        case Call(function="_==_", args=(value, ListExpr(elements=()))):
            return _path(value)
    return None


def _or_null(node: Expr) -> _Path | None:
    """Return the path of ``a.?b.orValue(null)``, or of a plain selection."""
    match node:
        case Call(function="orValue", target=Expr() as target, args=(Literal(value=None),)):
            return _path(target)
    return _path(node)


def _path(node: Expr) -> _Path | None:
    """Return the keys of plain and optional selections from ``object``."""
    match node:
        case Ident(name="object"):
            return ()
        case Select(operand=operand, field=field, test_only=False):
            above, key = _path(operand), field
        case Call(function="_?._", args=(operand, Literal(value=str(field)))):
            above, key = _path(operand), field
        case _:
            return None
    return None if above is None else (*above, key)
