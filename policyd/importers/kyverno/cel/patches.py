"""JSON Patches that only work on an object of which nothing is dropped between them.

Kyverno applies the mutations of a policy to plain JSON. The API server reads the object as its Go
type after each mutation, and policyd does the same: an empty map or list that one patch adds is
gone before the next. Both patches become one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from policyd.cel.syntax.ast import Expr, ListExpr, Literal, MapExpr, StructExpr
from policyd.cel.syntax.recursion import nodes, terms_of
from policyd.export.expressions.occurrences import occurrences
from policyd.importers.fields import enclosed
from policyd.importers.kyverno.cel.libraries import parsed
from policyd.importers.policies import json_patch
from policyd.json_types import JSONObject

_OBJECT = frozenset(("object",))
_VARIABLES = frozenset(("variables",))
_Path = tuple[str, ...]


def joined_patches(
    mutations: Sequence[JSONObject], variables: Mapping[str, str]
) -> list[JSONObject]:
    """Return mutations, with a patch that adds an empty map or list and the patch after it as one.

    If the later one reads what the earlier one adds, it must see the change: they stay apart, and
    an earlier one that does nothing else is made again before the later one, which finds the empty
    parent then. ``variables`` are the expressions of the policy's variables.
    """
    found: list[JSONObject] = []
    for each in mutations:
        text = _expression(each)
        before = _expression(found[-1]) if found else ""
        root = parsed(before, "") if before and text else None
        added = list(_emptied(root)) if root is not None else []
        both = f"{enclosed(before)}\n+ {enclosed(text)}"
        whole = json_patch(both)
        if added and not _meets(added, _reads(text, variables, frozenset())):
            found[-1] = whole
        elif root is not None and len(added) == sum(map(_is_patch, nodes(root))) > 0:
            found.append(whole)
        else:
            found.append(each)
    return found


def _is_patch(node: Expr) -> bool:
    return isinstance(node, StructExpr) and node.type_name == "JSONPatch"


def _expression(mutation: JSONObject) -> str:
    patch = mutation.get("jsonPatch")
    return str(patch["expression"]) if isinstance(patch, dict) else ""


def _emptied(root: Expr) -> Iterator[_Path]:
    """Yield the paths at which a patch writes an empty map or list, up to what is computed."""
    for node in nodes(root):
        if isinstance(node, StructExpr) and _is_patch(node):
            fields = {field.name: field.value for field in node.fields}
            path, value = fields.get("path"), fields.get("value")
            empty = (isinstance(value, MapExpr) and not value.entries) or (
                isinstance(value, ListExpr) and not value.elements
            )
            first, *more = terms_of(path, "_+_") if path is not None else [node]
            if empty and isinstance(first, Literal) and isinstance(first.value, str):
                keys = first.value.split("/")[1 : -1 if more else None]
                yield tuple(each.replace("~1", "/").replace("~0", "~") for each in keys)


def _reads(text: str, variables: Mapping[str, str], seen: frozenset[str]) -> Iterator[_Path]:
    """Yield what an expression, or a variable that it reads, reads of the object: the keys that are
    known.
    """
    if not text:
        return
    for use in occurrences(text, _OBJECT):
        keys = [access.key for access in use.accesses]
        known = keys.index(None) if None in keys else len(keys)
        yield tuple(str(key) for key in keys[:known])
    for use in occurrences(text, _VARIABLES):
        name = use.accesses[0].key if use.accesses else None
        if name is None:
            yield ()
        elif name not in seen:
            yield from _reads(variables.get(name, ""), variables, seen | {name})


def _meets(added: Iterable[_Path], reads: Iterator[_Path]) -> bool:
    """Whether a path that is read is above or below one that is added."""
    paths = list(added)
    return any(
        path[: len(read)] == read or read[: len(path)] == path for read in reads for path in paths
    )
