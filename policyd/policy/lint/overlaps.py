"""Advice on policies that write different constant values to the same field.

Two policies are compared if one applies whenever the other does: their rules have a request in
common, and their further restrictions (selectors, conditions, excludes) are the same, or only one
of them has any. Conflicts in a request are logged by ``admission/mutating/conflicts.py``.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, compress
from operator import not_
from typing import Any, NamedTuple

import orjson

from policyd._core.json.equality import equal
from policyd.bounded_text import few
from policyd.errors import Problem, Related
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.types.writes import ALL, Write, WrittenPlace, writes
from policyd.policy.model.base import Model
from policyd.policy.model.findings import FormProblem, path_text
from policyd.policy.model.kinds import AnyPolicy
from policyd.policy.model.match import NamedRuleWithOperations
from policyd.policy.source.loaded_documents import Document

RULE = "mutation-conflict"
_WORD = re.compile(r"[\w-]+(\[(name=.*|\*)\])?")
_ITEM = re.compile(r"\[name=.*\]\Z")
_LONGEST = 60  # characters of a value in a message
_SHOWN = 3  # policies named in a message
_RELATED = 100  # policies listed for programs


@dataclass(frozen=True, eq=False)
class _Scope:
    """To which requests policies apply: their rules, and what else restricts them, if anything."""

    rules: Sequence[NamedRuleWithOperations]
    narrowing: bytes


class _Written(NamedTuple):
    """The last constant value that a policy writes to a place, and the index of its mutation. The
    place may be one for all items of lists. ``number``: of the policy, in the order of names.
    """

    number: int
    document: Document
    scope: _Scope
    mutation: int
    write: Write

    @property
    def at(self) -> WrittenPlace:
        return self.write.place

    def differs(self, other: "_Written") -> bool:
        one, two = self.write, other.write
        return one.removes != two.removes or not equal(one.value, two.value)


_OfPolicy = dict[WrittenPlace, _Written]


def overlapping(run: LintRun) -> Iterator[Problem]:
    """Yield one advice for each field and scope, at its last policy by name: which values that
    policies set before it are lost. Each two policies that differ are in the advice of one scope.
    """
    together = cache(_apply_together)
    reported: dict[tuple[int, WrittenPlace], Collection[int]] = {}
    for place, written in sorted(_by_place(_writers(run)).items()):
        found = sorted(written, key=lambda each: each.number)
        narrowed: dict[bytes, list[_Written]] = defaultdict(list)
        for each in found:
            narrowed[each.scope.narrowing].append(each)
        for last in {each.scope: each for each in found}.values():
            own = last.scope.narrowing
            candidates = [*narrowed[b""], *narrowed[own]] if own else found
            above = (place[:end] for end in range(1, len(place)))
            known = set[int]().union(*(reported.get((last.number, up), ()) for up in above))
            lost = {
                each.number: each
                for each in candidates
                if each.number < last.number
                and place in (each.at, last.at, _met(each.at, last.at))
                and each.number not in known
                and together(each.scope, last.scope)
                and last.differs(each)
            }
            if lost:
                reported[last.number, place] = lost.keys()
                yield _finding(place, last, [lost[number] for number in sorted(lost)])


def _writers(run: LintRun) -> Iterator[_OfPolicy]:
    """Yield what each policy writes."""
    scopes: dict[bytes, _Scope] = {}
    policies = sorted(run.policies, key=lambda policy: policy.document.name)
    for number, policy in enumerate(each for each in policies if each.mutations):
        scope = _Scope(policy.rules, _narrowing(policy.model))
        scope = scopes.setdefault(_encoded([scope.rules, scope.narrowing.decode()]), scope)
        roots = [each.root.type for each in policy.schemas.values()]
        yield {
            write.place: _Written(number, policy.document, scope, mutation.index, write)
            for mutation in policy.mutations
            for write in writes(mutation.kind, mutation.held, roots)
        }


def _narrowing(policy: AnyPolicy) -> bytes:
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
    return _encoded(narrowing)


def _encoded(value: Any) -> bytes:
    return orjson.dumps(value, default=Model.plain, option=orjson.OPT_SORT_KEYS)


def _apply_together(first: _Scope, second: _Scope) -> bool:
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


def _by_place(writers: Iterable[_OfPolicy]) -> dict[WrittenPlace, list[_Written]]:
    """Return the writes of policies to each place: ``[*]`` has every item. The write of a policy to
    one item counts for that item, besides its writes to all of them.
    """
    fields: dict[WrittenPlace, dict[WrittenPlace, list[_OfPolicy]]] = {}
    for writer in writers:
        for place in writer:
            places = fields.setdefault(tuple(_ITEM.sub(ALL, step) for step in place), {})
            places.setdefault(place, []).append(writer)
    found: dict[WrittenPlace, list[_Written]] = {}
    for places in fields.values():
        for place, parts in _shared(places).items():
            found[place] = [
                by[at] for at in parts for by in places[at] if at == place or place not in by
            ]
    return found


def _shared(places: Iterable[WrittenPlace]) -> dict[WrittenPlace, set[WrittenPlace]]:
    """Return the places of one field, and what two of them have in common, each with those."""
    found = {place: {place} for place in places}
    forms: dict[tuple[bool, ...], list[WrittenPlace]] = defaultdict(list)
    for place in found:
        forms[tuple(step.endswith(ALL) for step in place)].append(place)
    for one, other in combinations(forms, 2):
        of_all = [any(both) for both in zip(one, other, strict=True)]
        named: dict[WrittenPlace, list[WrittenPlace]] = defaultdict(list)
        for place in forms[one]:
            named[tuple(compress(place, map(not_, of_all)))].append(place)
        for place in forms[other]:
            for each in named.get(tuple(compress(place, map(not_, of_all))), ()):
                found.setdefault(_met(each, place), set()).update((each, place))
    return found


def _met(one: WrittenPlace, other: WrittenPlace) -> WrittenPlace:
    """Return the part that two places of a field have in common, which have no other names."""
    return tuple(b if a.endswith(ALL) else a for a, b in zip(one, other, strict=True))


def _finding(place: WrittenPlace, last: _Written, lost: Sequence[_Written]) -> Problem:
    others = [f"policy {_named(each)}" for each in lost]
    if len(others) > 1:
        listed = few([_named(each) for each in lost], _SHOWN)
        others = [f"{len(lost)} policies before it do not: {listed}"]
    message = f"{_done(last.write)} {_shown(place)}{_to(last.write)}, but {others[0]}"
    hint = "policies mutate in the order of their names, so the later one wins"
    found = FormProblem(("spec", "mutations", last.mutation), message, hint, rule=RULE)
    problem = last.document.problem(found, "advice")
    return replace(problem, related=tuple(map(_related, lost[:_RELATED])))


def _related(each: _Written) -> Related:
    place = each.document.place(path_text(("spec", "mutations", each.mutation)))
    return Related(f"policy {_named(each)}", each.document.file, *place)


def _named(each: _Written) -> str:
    return f"{each.document.name!r} {_done(each.write)} it{_to(each.write)}"


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
