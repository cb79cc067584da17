"""Advice on reads: those that nothing uses, and those whose cost grows with the cluster."""

import re
from collections.abc import Iterator, Sequence

from policyd.json_types import FieldPath
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.expressions import KEY, PolicyExpression
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.reads import ANY, SAME, PolicyRead

# Words that are probably not meant as the name of a namespace.
_WORDS = {
    **dict.fromkeys(("all", "every", "each", "cluster", "global"), f"{ANY}, for all namespaces"),
    **dict.fromkeys(
        ("own", "self", "current", "request", "this", "namespace"),
        f"{SAME}, for the namespace of the request",
    ),
}
# Macros and functions that look at each object of a list.
_WALKS = r"\s*+\.\s*+(?:all|exists|exists_one|filter|map|sortBy|transformList)\s*+\("


def advise_reads(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for a policy, at most one for each read."""
    expressions = [each for each in policy.expressions if each.role is not KEY]
    for index, read in enumerate(policy.own.reads if policy.own else ()):
        found = _finding(read, ("spec", "reads", index), expressions)
        if found is not None:
            yield found


def _finding(
    read: PolicyRead, path: FieldPath, expressions: Sequence[PolicyExpression]
) -> FormProblem | None:
    if read.namespace in _WORDS:
        message = f"the namespace whose name is {read.namespace!r} is read"
        hint = f"write {_WORDS[read.namespace]}"
        return FormProblem((*path, "namespace"), message, hint, rule="read-namespace")
    use = rf"\breads\s*+\.\s*+{re.escape(read.name)}\b"
    used = [each for each in expressions if re.search(use, each.text)]
    if not used:
        message = f"read {read.name!r} is never used"
        return FormProblem((*path, "name"), message, "remove it", rule="unused-read")
    everywhere = read.namespace == ANY and not read.key.strip() and read.label_selector is None
    same = [rf"\bvariables\s*+\.\s*+{re.escape(each.name)}\b" for each in used if each.name]
    walks = "|".join(f"{each}{_WALKS}" for each in (use, *same))
    if everywhere and any(re.search(walks, each.text) for each in expressions):
        message = f"each request goes through every {read.kind} of the cluster"
        hint = "give the read a key, and write reads.NAME[?KEY].orValue([])"
        return FormProblem((*path, "name"), message, hint, rule="growing-read")
    return None
