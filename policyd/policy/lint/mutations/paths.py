"""Follow the path of a JSON Patch operation through the schema of a kind.

A path may be a concatenation: its constant parts are checked, and a part such as ``string(i)`` is
one step of any name. Reads no objects.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from policyd._core.schema.types import Field, SchemaType
from policyd.cel.syntax.ast import Call, Expr, Select
from policyd.mutation.overlays.types import expectation
from policyd.mutation.schemas.unknown_fields import field_hint
from policyd.policy.lint.types.writes import constant

END = "-"
# Strings without a slash: names of objects, containers, volumes …
_NAMES = ("name", "namespace", "generateName", "uid", "kind")


class MutationFinding(NamedTuple):
    """A mistake at an offset of an expression.

    ``certain``: the mutation fails whenever the operation or object is applied, not only for some
    objects. ``general``: for objects of every kind.
    """

    pos: int
    message: str
    hint: str = ""
    certain: bool = True
    general: bool = False


@dataclass(frozen=True, slots=True)
class PatchPath:
    """The steps of a path; an expression stands for a step that is not constant.

    ``open``: the last step is an expression whose value may have slashes, so more steps may follow.
    """

    steps: tuple[str | Expr, ...]
    rooted: bool = True
    open: bool = False

    @property
    def text(self) -> str:
        """Return the path for messages."""
        return shown(self.steps)

    @property
    def constant(self) -> bool:
        """Whether all steps are known."""
        return not self.open and all(isinstance(step, str) for step in self.steps)


def shown(steps: tuple[str | Expr, ...]) -> str:
    """Format steps as a path, with ``…`` for what is not constant."""
    return "".join(
        "/" + (step.replace("~", "~0").replace("/", "~1") if isinstance(step, str) else "…")
        for step in steps
    )


def read_path(node: Expr) -> PatchPath | None:
    """Return the path that an expression makes; None if its beginning is not constant."""
    steps: list[list[str | Expr]] = [[]]
    is_open = False
    for part in _parts(node):
        if is_open:
            break
        if isinstance(part, str):
            first, *more = part.split("/")
            steps[-1].append(first)
            steps += [[each] for each in more]
        else:
            steps[-1].append(part)
            is_open = not is_one_step(part)
    if not isinstance(steps[0][0] if steps[0] else None, str):
        return None
    rooted = steps[0] == [""]
    # The library drops what is before the first slash.
    return PatchPath(tuple(_step(each) for each in steps[1:]), rooted, is_open)


def _parts(node: Expr) -> Iterator[str | Expr]:
    value = constant(node)
    if isinstance(value, str):
        yield value
    elif isinstance(node, Call) and node.function == "_+_":
        for each in node.args:
            yield from _parts(each)
    else:
        yield node


def _step(parts: list[str | Expr]) -> str | Expr:
    expressions = [part for part in parts if not isinstance(part, str)]
    if expressions:
        return expressions[-1]
    return "".join(map(str, parts)).replace("~1", "/").replace("~0", "~")


def is_one_step(node: Expr) -> bool:
    """Whether the value of an expression has no slash."""
    if isinstance(node, Select):
        return node.field in _NAMES
    escaped = isinstance(node, Call) and node.function.rpartition(".")[2] == "escapeKey"
    return escaped or (isinstance(node, Call) and node.function == "string")


def follow(
    root: Field, path: PatchPath, pos: int, *, appends: bool, native: bool
) -> tuple[Field | None, MutationFinding | None]:
    """Return the field that a path leads to, if it is known, and what is wrong with the path.

    ``appends``: ``-`` as the last step is the place after the last item. ``native``: unknown fields
    are errors, not dropped.
    """
    here: Field | None = root
    for number, step in enumerate(path.steps):
        if here is None:
            return None, None
        above, kind = path.steps[:number], here.type
        if kind.is_map and kind.is_list:
            return None, None  # any value
        if kind.is_list:
            wrong = _index_problem(step, above, last=number == len(path.steps) - 1, appends=appends)
            if wrong is not None:
                return None, MutationFinding(pos, *wrong)
            here = kind.item
        elif not kind.is_map:
            return None, _below_scalar(path, number, kind, pos)
        elif isinstance(step, str):
            here = kind.fields.get(step, kind.extra)
            if here is None:
                message = f"{shown(above) or 'the object'} has no field '{step}'"
                hint = _written_otherwise(step, above, kind) or field_hint(step, kind, root.type)
                return None, MutationFinding(pos, message, hint, certain=native)
        else:
            here = None if kind.fields else kind.extra
    return (None if path.open else here), None


def _written_otherwise(step: str, above: tuple[str | Expr, ...], kind: SchemaType) -> str:
    """Return the remedy for a step as of JSONPath: ``containers[0]``, ``spec.containers``; empty
    if its first part is no field.
    """
    plain = step.removeprefix("$").replace("[", ".").replace("]", "")
    parts = [each for each in plain.split(".") if each]
    if len(parts) < 2 or parts[0] not in kind.fields:
        return ""
    return f"write {shown((*above, *parts))}: every step is behind a slash"


def _index_problem(
    step: str | Expr, above: tuple[str | Expr, ...], *, last: bool, appends: bool
) -> tuple[str, str] | None:
    if not isinstance(step, str) or step.lstrip("+-").isdigit():
        return None
    if step != END:
        hint = "write the index of the item: '/0', or '/' + string(i) for each i of lists.range(…)"
        return f"'{step}' is not an index of the list {shown(above)}", hint
    if last and appends:
        return None
    message = f"'-' is the place after the last item of {shown(above)}, where nothing is"
    return message, "write an index" if last else "write an index: '-' is only for adding an item"


def _below_scalar(path: PatchPath, number: int, kind: SchemaType, pos: int) -> MutationFinding:
    """Report a path that goes on below a value: mostly the key of a map with a slash in it."""
    above, rest = path.steps[:number], path.steps[number:]
    parent = shown(above[:-1])
    if above and isinstance(above[-1], str) and "." in above[-1]:
        key = "/".join(each if isinstance(each, str) else "…" for each in (above[-1], *rest))
        right = f"'{shown((*above[:-1], key))}', or " if path.constant else ""
        quoted = f"'{key}'" if path.constant else "the whole key"
        return MutationFinding(
            pos,
            f"the slash in the key '{key}' of {parent} is not escaped",
            f"write {right}'{parent}/' + jsonpatch.escapeKey({quoted})",
        )
    step = rest[0] if isinstance(rest[0], str) else "…"
    return MutationFinding(pos, f"{shown(above)} has no '{step}': it is {expectation(kind)}")
