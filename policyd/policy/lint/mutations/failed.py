"""Name the JSON Patch operation that failed for an object, with its remedy. Applies none."""

import re
from collections.abc import Collection, Iterator

from policyd.cel.syntax.ast import Expr, StructExpr
from policyd.errors import Problem
from policyd.mutation.schemas.schemas import Gvk
from policyd.policy.lint.mutations.failing import FRAGILE
from policyd.policy.lint.mutations.parents import (
    WrittenParts,
    missing_parts,
    operations,
)
from policyd.policy.lint.mutations.paths import read_path
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.types.kinds import KindTypes
from policyd.policy.lint.types.writes import constant, fields_of
from policyd.policy.model.expressions import MUTATIONS
from policyd.policy.source.loaded_documents import Sources

# The messages of the API server's library about a path that an object does not have.
_MISSING = re.compile(
    r"(?P<op>add|remove|replace|move|copy) operation does not apply: doc is missing "
    r"(?P<of>from )?(?:path|key): \"?(?P<path>/[^\s\"']*+)"
    r"|error in (?P<deleting>remove) for path: '(?P<deleted>/[^\s\"']*+)': "
    r"[Uu]nable to remove nonexistent"
)


def failed_operations(
    sources: Sources, names: Collection[str], message: str, kind: Gvk
) -> Iterator[Problem]:
    """Yield the operations of these policies that a message is about; none if it is about no
    missing path. ``kind``: of the object.
    """
    found = _MISSING.search(message)
    if found is None:
        return
    op = found["op"] or found["deleting"]
    path = (found["path"] or found["deleted"]).rstrip(":")
    missing = (
        f"{path} is missing, so {op} fails",
        "write a condition with has(…) ? [JSONPatch{…}] : []",
    )
    if op == "add":
        message = f"the parent of {path} is missing, so add fails"
        missing = message, "write an Overlay, which adds it, or add it first"
    steps = [each.replace("~1", "/").replace("~0", "~") for each in path.split("/")[1:]]
    for policy in LintRun(sources).policies:
        if policy.document.name not in names:
            continue
        kinds = [policy.types(gvk) for gvk in (kind, *policy.kinds)]
        for each in policy.of_role(*MUTATIONS.values()):
            checked = kinds[0].checked(each.text)
            for node in operations(checked.expr) if checked is not None else ():
                given = fields_of(node)
                at = given.get("from" if found["of"] else "path")
                if at is None or constant(given.get("op")) not in (op, None):
                    continue
                if _leads(at, steps):
                    message, hint = _explained(node, at, kinds) or missing
                    finding = each.finding(at.pos, FRAGILE, message, hint)
                    yield policy.document.problem(finding)


def _leads(at: Expr, steps: list[str]) -> bool:
    """Whether an expression may make a path of these steps."""
    path = read_path(at)
    if path is None:
        return True
    same = len(path.steps) == len(steps) or (path.open and len(path.steps) < len(steps))
    return same and all(
        not isinstance(step, str) or step == given
        for step, given in zip(path.steps, steps, strict=False)
    )


def _explained(node: StructExpr, at: Expr, kinds: list[KindTypes]) -> tuple[str, str] | None:
    """Return what lint says of an operation that nothing guards: a message and a hint."""
    nothing = WrittenParts(frozenset(), "")
    for types in kinds:
        for part in missing_parts(node, types, lambda step: None, frozenset(), nothing):
            if part.node is at:
                return part.message, part.hint
    return None
