"""Check the operations of a JSON Patch: op, path, from and value. Reads no objects."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from policyd._core.schema.types import Field
from policyd.cel.syntax.ast import Expr, StructExpr
from policyd.mutation.schemas.schemas import KindSchema
from policyd.near_names import nearest
from policyd.policy.lint.mutations.paths import (
    MutationFinding,
    PatchPath,
    follow,
    is_one_step,
    read_path,
)
from policyd.policy.lint.mutations.results import results
from policyd.policy.lint.mutations.values import WrittenValues
from policyd.policy.lint.types.writes import constant, fields_of

OPS = ("add", "remove", "replace", "move", "copy", "test")
_OF_OP = {  # other words for the same
    "set": "add",
    "append": "add",
    "insert": "add",
    "create": "add",
    "delete": "remove",
    "update": "replace",
}
_WHOLE = frozenset(("replace", "test"))  # what can have the whole object as its place
_APPENDING = frozenset(("add", "move", "copy"))
_SOURCED = frozenset(("move", "copy"))
# Fields whose keys have no slash: keys of ConfigMaps and Secrets.
_PLAIN_KEYS = frozenset(("data", "binaryData", "stringData"))

Strings = Callable[[Expr], frozenset[str] | None]


@dataclass(frozen=True, slots=True)
class OperationCheck:
    """Checks operations for one kind; without a schema, only what is wrong for every kind.

    ``strings`` returns the strings that an expression can have as its value, None if unknown.
    """

    values: WrittenValues
    strings: Strings

    @property
    def schema(self) -> KindSchema | None:
        return self.values.schema

    def findings(self, node: StructExpr) -> Iterator[MutationFinding]:
        """Yield the mistakes of one ``JSONPatch{...}``."""
        if any(field.optional for field in node.fields):
            return
        given, ops = fields_of(node), {""}
        if "op" in given:
            found = [constant(each) for each in results(given["op"])]
            known = all(isinstance(op, str) for op in found)
            ops = set(found) if known else set(OPS)  # every op that it can have
        yield from self._wrong_ops(node, given.get("op"), ops)
        ops &= set(OPS)
        if not ops:
            return
        target = None
        if "path" in given:
            target, wrong = self._place(given["path"], ops)
            yield from wrong
        elif ops.isdisjoint(_WHOLE):
            yield _general(node.pos, "a JSONPatch needs a path", "write path: '/…'")
        yield from self._source(node, given.get("from"), ops)
        if ops <= {"add", "replace"}:
            yield from self._value(node, given.get("value"), target)

    def _wrong_ops(
        self, node: StructExpr, at: Expr | None, ops: set[str]
    ) -> Iterator[MutationFinding]:
        for op in sorted(ops.difference(OPS)):
            if at is None:
                message, near = "a JSONPatch needs an op", ""
            else:
                message = f"there is no op '{op}'"
                near = _OF_OP.get(op.lower()) or nearest(op.lower(), OPS)
            hint = f"write '{near}'" if near else f"write {', '.join(OPS[:-1])} or {OPS[-1]}"
            yield _general(node.pos if at is None else at.pos, message, hint)

    def _place(
        self, node: Expr, ops: set[str]
    ) -> tuple[tuple[Field | None, str] | None, list[MutationFinding]]:
        """Return the field that a path leads to, with its path, and what is wrong with the path."""
        path = read_path(node)
        if path is None:
            return None, []
        if not path.rooted:
            return None, self._unrooted(node, path, ops)
        if not path.steps:
            if ops.isdisjoint(_WHOLE):
                wrong = _general(node.pos, "the path is empty", "write path: '/…'")
                return None, [wrong]
            return None, []
        loose = list(_tildes(node))
        if self.schema is None:
            return None, loose
        field, wrong_path = follow(
            self.schema.root,
            path,
            node.pos,
            appends=bool(ops & _APPENDING),
            native=self.schema.native and ops != {"test"},
        )
        if wrong_path is not None:
            return None, [wrong_path, *loose]
        return (field, path.text), [*self._unescaped(node, path, self.schema), *loose]

    def _unrooted(self, node: Expr, path: PatchPath, ops: set[str]) -> list[MutationFinding]:
        """Report a path without its first slash; the library drops what is before the first one."""
        text = constant(node)
        first = text if isinstance(text, str) else "…"
        message = f"the path '{first}' does not begin with a slash, so its first part is dropped"
        hint = f"write '/{first}'" if isinstance(text, str) else "begin it with '/'"
        wrong = None
        if self.schema is not None:
            appends = bool(ops & _APPENDING)
            native = self.schema.native
            wrong = follow(self.schema.root, path, node.pos, appends=appends, native=native)[1]
        certain = not path.steps or (wrong is not None and wrong.certain)
        return [MutationFinding(node.pos, message, hint, certain, general=not path.steps)]

    def _unescaped(
        self, node: Expr, path: PatchPath, schema: KindSchema
    ) -> Iterator[MutationFinding]:
        """Report a computed key of labels and the like that may have a slash."""
        if not path.open or len(path.steps) < 2 or path.steps[-2] in _PLAIN_KEYS:
            return
        key = path.steps[-1]
        above = PatchPath(path.steps[:-1])
        field, _ = follow(schema.root, above, node.pos, appends=False, native=False)
        if isinstance(key, str) or field is None:
            return
        kind = field.type
        if not kind.is_map or kind.fields or kind.is_list or is_one_step(key):
            return
        known = self.strings(key)
        if known is not None and not any("/" in each or "~" in each for each in known):
            return
        message = f"a key of {above.text} with a slash in it is not escaped"
        yield MutationFinding(
            node.pos, message, f"write '{above.text}/' + jsonpatch.escapeKey(…)", certain=False
        )

    def _source(
        self, node: StructExpr, at: Expr | None, ops: set[str]
    ) -> Iterator[MutationFinding]:
        if not ops <= _SOURCED:
            return
        if at is None or constant(at) == "":
            message = f"{' and '.join(sorted(ops))} needs a from"
            yield _general(node.pos, message, "write from: '/…', the place of the value")
        else:
            yield from self._place(at, {"remove"})[1]

    def _value(
        self, node: StructExpr, value: Expr | None, target: tuple[Field | None, str] | None
    ) -> Iterator[MutationFinding]:
        if value is None:
            message = "an operation without a value writes null"
            hint = "add value, or write op: 'remove'"
            yield MutationFinding(node.pos, message, hint, certain=False, general=True)
        else:
            field, where = target or (None, "value")
            yield from self.values.findings(value, field, where)


def _tildes(node: Expr) -> Iterator[MutationFinding]:
    """Report a ``~`` that begins no escape: RFC 6901 has no such path; Go takes it as it is."""
    text = constant(node)
    if not isinstance(text, str):
        return
    first, *rest = text.split("~")
    escaped = first + "".join(
        f"~{each}" if each[:1] in ("0", "1") else f"~0{each}" for each in rest
    )
    if escaped != text:
        message = f"the ~ in the path '{text}' is not escaped"
        yield MutationFinding(node.pos, message, f"write '{escaped}'", certain=False, general=True)


def _general(pos: int, message: str, hint: str) -> MutationFinding:
    return MutationFinding(pos, message, hint, general=True)
