"""Advice on policies that write different constant values to the same field.

Two policies are compared if one applies whenever the other does: their rules have a request in
common, and their further restrictions (selectors, conditions, excludes) are the same, or only one
of them has any. Conflicts in a request are logged by ``admission/mutating/conflicts.py``.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import orjson

from policyd._core.json.equality import equal
from policyd.errors import Problem
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.types.kinds import kinds_of
from policyd.policy.lint.types.writes import ALL, Write, WrittenPlace, writes
from policyd.policy.model.base import Model
from policyd.policy.model.expressions import mutations_of
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import MutatingAdmissionPolicy, Policy
from policyd.policy.model.match import NamedRuleWithOperations
from policyd.policy.source.loaded_documents import Document

RULE = "mutation-conflict"
_WORD = re.compile(r"[\w-]+(\[(name=.*|\*)\])?")
_ITEM = re.compile(r"\[name=.*\]\Z")
_LONGEST = 60  # characters of a value in a message


@dataclass(frozen=True)
class _Writer:
    """A policy, with the last constant value that it writes to each field."""

    document: Document
    rules: Sequence[NamedRuleWithOperations]
    narrowing: bytes
    last: dict[WrittenPlace, tuple[int, Write]]

    @cached_property
    def of_all(self) -> list[WrittenPlace]:
        """Return the places in all items of a list."""
        return [place for place in self.last if any(step.endswith(ALL) for step in place)]

    @cached_property
    def by_field(self) -> dict[WrittenPlace, list[WrittenPlace]]:
        """Return the places by their fields, whichever items of lists they are in."""
        found: dict[WrittenPlace, list[WrittenPlace]] = defaultdict(list)
        for place in self.last:
            found[_field(place)].append(place)
        return found


def _field(place: WrittenPlace) -> WrittenPlace:
    return tuple(_ITEM.sub(ALL, step) for step in place)


def overlapping(run: LintRun) -> Iterator[Problem]:
    """Yield one advice for each pair of policies and field, at the later policy by name."""
    writers = sorted(_writers(run), key=lambda writer: writer.document.name)
    for first, second in combinations(writers, 2):
        if _apply_together(first, second):
            yield from _compare(first, second)


def _writers(run: LintRun) -> Iterator[_Writer]:
    for document in run.sources.documents:
        policy = document.model
        if not isinstance(policy, MutatingAdmissionPolicy | Policy) or not policy.spec.mutations:
            continue
        schemas = (run.schemas.lookup(*gvk) for gvk in kinds_of(policy, run.typed.schemas))
        roots = [each.root.type for each in schemas if each is not None]
        last: dict[WrittenPlace, tuple[int, Write]] = {}
        for mutation in mutations_of(document.raw):
            for write in writes(mutation.kind, mutation.held, roots):
                last[write.place] = (mutation.index, write)
        if last:
            rules = policy.spec.match_constraints.resource_rules
            yield _Writer(document, rules, _narrowing(policy), last)


def _narrowing(policy: MutatingAdmissionPolicy | Policy) -> bytes:
    """Return what restricts a policy besides its rules; empty if nothing does."""
    match = policy.spec.match_constraints
    narrowing: list[list[Any]] = [
        [match.namespace_selector.match_labels, match.namespace_selector.match_expressions],
        [match.object_selector.match_labels, match.object_selector.match_expressions],
        [match.exclude_resource_rules],
        [condition.expression.strip() for condition in policy.spec.match_conditions],
    ]
    if not any(any(each) for each in narrowing):
        return b""
    return orjson.dumps(narrowing, default=Model.plain, option=orjson.OPT_SORT_KEYS)


def _apply_together(first: _Writer, second: _Writer) -> bool:
    if first.narrowing and second.narrowing and first.narrowing != second.narrowing:
        return False
    return any(_common(one, other) for one in first.rules for other in second.rules)


def _common(one: NamedRuleWithOperations, other: NamedRuleWithOperations) -> bool:
    """Whether a request can match both rules."""
    names = (one.resource_names, other.resource_names)
    return (
        _meet(one.operations, other.operations)
        and _meet(one.api_groups, other.api_groups)
        and _meet(one.api_versions, other.api_versions)
        and any(_same_resource(a, b) for a in one.resources for b in other.resources)
        and (not all(names) or bool(set(names[0]) & set(names[1])))
        and ("*" in (one.scope, other.scope) or one.scope == other.scope)
    )


def _meet(one: Iterable[str], other: Iterable[str]) -> bool:
    first, second = set(one), set(other)
    return bool(first & second) or bool("*" in first and second) or bool("*" in second and first)


def _same_resource(one: str, other: str) -> bool:
    """Resources and subresources apart, each may be ``*``; ``pods/*`` is ``pods`` too."""
    pairs = zip(_parts(one), _parts(other), strict=True)
    return all(a == b or "*" in (a, b) for a, b in pairs)


def _parts(resource: str) -> tuple[str, str]:
    name, _, sub = resource.partition("/")
    return name, sub


def _compare(first: _Writer, second: _Writer) -> Iterator[Problem]:
    reported: list[WrittenPlace] = []
    for place, one, other in sorted(_common_places(first, second)):
        earlier, (index, later) = first.last[one][1], second.last[other]
        if earlier.removes == later.removes and equal(earlier.value, later.value):
            continue
        if any(place[: len(above)] == above for above in reported):
            continue
        reported.append(place)
        name = first.document.name
        finding = FormProblem(
            ("spec", "mutations", index),
            f"{_done(later)} {_shown(place)}{_to(later)}, "
            f"but policy {name!r} {_done(earlier)} it{_to(earlier)}",
            "policies mutate in the order of their names, so the later one wins",
            rule=RULE,
        )
        yield second.document.problem(finding, "advice")


def _common_places(
    first: _Writer, second: _Writer
) -> set[tuple[WrittenPlace, WrittenPlace, WrittenPlace]]:
    """Return the places that both write, each with those of the policies: ``[*]`` has every item.

    What a policy writes to one item, besides what it writes to all of them, is compared alone.
    """
    found = {(place, place, place) for place in first.last.keys() & second.last.keys()}
    pairs = [(one, each) for one in first.of_all for each in second.by_field.get(_field(one), ())]
    pairs += [(each, one) for one in second.of_all for each in first.by_field.get(_field(one), ())]
    for one, other in pairs:
        steps = list(zip(one, other, strict=True))
        if all(a == b or a.endswith(ALL) or b.endswith(ALL) for a, b in steps):
            place = tuple(b if a.endswith(ALL) else a for a, b in steps)
            if (one == place or place not in first.last) and (
                other == place or place not in second.last
            ):
                found.add((place, one, other))
    return found


def _shown(place: WrittenPlace) -> str:
    """``spec.containers[name=web].image``, ``metadata.labels[example.com/x]``."""
    plain = (f".{step}" if _WORD.fullmatch(step) else f"[{step}]" for step in place)
    return "".join(plain).removeprefix(".")


def _done(write: Write) -> str:
    return "removes" if write.removes else "sets"


def _to(write: Write) -> str:
    if write.removes:
        return ""
    text = orjson.dumps(write.value, default=str).decode()
    return f" to {text if len(text) <= _LONGEST else text[:_LONGEST] + '...'}"
