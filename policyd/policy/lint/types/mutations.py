"""Mismatches between a mutation and the schema of a kind: undefined fields, constants of the wrong
type, atomic lists and maps that ApplyConfiguration cannot change. Evaluates nothing.

The API server accepts such a policy, then rejects (or drops) its result for each request.
"""

from collections.abc import Iterator

from policyd._core.schema.types import Field, Relation, Scalar
from policyd.cel.syntax.ast import Expr, ListExpr, Literal, MapExpr, StructExpr
from policyd.cel.syntax.recursion import children
from policyd.cel.syntax.source import Issue
from policyd.mutation.schemas.schemas import KindSchema
from policyd.policy.lint.types.writes import constant, fields_of

_WORDS = {Scalar.NUMERIC: "a number", Scalar.STRING: "a string", Scalar.BOOLEAN: "a bool"}


def mutation_issues(expr: Expr, schema: KindSchema, *, merges: bool) -> list[Issue]:
    """Return every mismatch with the schema of a kind, in source order."""
    return sorted(_issues(expr, schema, merges), key=lambda issue: issue.pos)


def _issues(node: Expr, schema: KindSchema, merges: bool) -> Iterator[Issue]:
    if isinstance(node, StructExpr):
        if node.type_name == "JSONPatch":
            yield from _of_operation(node, schema)
        elif node.type_name.partition(".")[0] == "Object":
            yield from _of_object(node, schema, merging=merges)
    for child in children(node):
        yield from _issues(child, schema, merges)


def _of_object(node: StructExpr, schema: KindSchema, *, merging: bool) -> Iterator[Issue]:
    """Check the fields of one ``Object.a.b{...}``; nested objects are checked separately."""
    struct = _named(schema.root, node.type_name.split(".")[1:])
    if struct is None or not struct.type.is_map:
        return
    for member in node.fields:
        field = struct.type.fields.get(member.name, struct.type.extra)
        if field is None:
            if member.name not in ("apiVersion", "kind"):
                yield Issue(member.pos, f"undefined field '{member.name}' of {node.type_name}")
            continue
        found = constant(member.value)
        expected = _WORDS.get(field.type.scalar)
        if expected is not None and not _fits(field, member.value, found):
            yield Issue(member.value.pos, f"'{member.name}' of {node.type_name} must be {expected}")
        elif merging and _atomic(field, member.value):
            message = f"ApplyConfiguration cannot change '{member.name}' of {node.type_name}"
            yield Issue(member.pos, f"{message}, which is atomic; use JSONPatch or Overlay")


def _named(root: Field, names: list[str]) -> Field | None:
    """Return the field that a type name refers to; for a list, its items."""
    field: Field | None = root
    for name in names:
        if field is None:
            return None
        field = field.type.fields.get(name, field.type.extra)
        if field is not None and field.type.is_list and not field.type.is_map:
            field = field.type.item
    return field


def _fits(field: Field, node: Expr, value: object) -> bool:
    """Whether a constant has the field's type; true for an expression that is not constant."""
    if isinstance(node, ListExpr | MapExpr | StructExpr):
        return False
    if not isinstance(node, Literal) or value is None:
        return True
    scalar = field.type.scalar
    if isinstance(value, bool):
        return scalar == Scalar.BOOLEAN
    if isinstance(value, str | bytes):
        return scalar == Scalar.STRING
    return scalar == Scalar.NUMERIC


def _atomic(field: Field, node: Expr) -> bool:
    kind = field.type
    if isinstance(node, ListExpr):
        return kind.is_list and kind.relation == Relation.ATOMIC and not kind.scalar
    return (
        isinstance(node, MapExpr | StructExpr) and kind.is_map and kind.atomic and not kind.scalar
    )


def _of_operation(node: StructExpr, schema: KindSchema) -> Iterator[Issue]:
    """Check the constant paths of one ``JSONPatch{...}``."""
    given = fields_of(node)
    for name in ("path", "from"):
        path = constant(given.get(name))
        if isinstance(path, str) and path.startswith("/"):
            wrong = _undefined(schema.root, path.split("/")[1:])
            if wrong:
                yield Issue(given[name].pos, wrong)


def _undefined(root: Field, steps: list[str]) -> str:
    field: Field | None = root
    for number, step in enumerate(steps):
        if field is None:
            return ""
        kind = field.type
        if kind.is_map:
            key = step.replace("~1", "/").replace("~0", "~")
            found = kind.fields.get(key, kind.extra)
            if found is None and not (kind.is_list and (step.isdigit() or step == "-")):
                above = "/" + "/".join(steps[:number]) if number else "the object"
                return f"undefined field '{key}' of {above}"
            field = found or kind.item
        elif kind.is_list:
            field = kind.item
        else:
            above = "/" + "/".join(steps[:number])
            return f"{above} has no '{step}': it is {_WORDS.get(kind.scalar, 'not an object')}"
    return ""
