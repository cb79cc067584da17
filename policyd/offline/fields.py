"""Find the manifest field that each finding of a request is about. Decides nothing.

A pattern reports the field that does not fit. The field of a false expression follows from a
second evaluation, which records the fields that the expression reads.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from policyd._core.values.errors import CelError
from policyd.admission.applicable import LookupSources
from policyd.admission.decision import Finding
from policyd.admission.review import AdmissionRequest
from policyd.cel.trace.reads import NOTHING
from policyd.cel.trace.steps import Steps
from policyd.json_types import JSON, FieldPath
from policyd.offline.ignored import IgnoredError
from policyd.offline.observing import Notes
from policyd.offline.stories import Visit, is_about
from policyd.offline.tracing import TracedPolicies
from policyd.policy.compile.compiled import CompiledPolicy, PolicyFilter
from policyd.policy.model.findings import path_text
from policyd.policy.model.suite import Webhook
from policyd.policy.source.places import path_parts

_Key = tuple[tuple[str, str], str | None, int, str, bool]


@dataclass(frozen=True, slots=True)
class WebhookFindings:
    """The findings of a webhook's policies in a request. ``fields`` has the path of the field that
    each finding is about; empty if unknown or not searched for.
    """

    request: AdmissionRequest
    webhook: Webhook
    findings: Sequence[Finding]
    ignored: Sequence[IgnoredError]
    fields: Sequence[str]


class FieldFinder:
    """Finds fields with the policies that ``make`` returns, which is called only if needed."""

    def __init__(self, make: Callable[[], TracedPolicies]) -> None:
        self._make = make

    @cached_property
    def _traced(self) -> TracedPolicies:
        return self._make()

    def located(
        self,
        found: WebhookFindings,
        manifest: JSON,
        lookups: LookupSources,
        only: PolicyFilter | None = None,
    ) -> WebhookFindings:
        """Return the findings with their fields. ``manifest`` is the given object, which differs
        from the request's if policies or defaults changed it.
        """
        names = {each.policy.name for each in found.findings if not _is_of_pattern(each)}
        names |= {each.policy for each in found.ignored}

        def chosen(policy: CompiledPolicy) -> bool:
            # Other mutations may have created the value at which a mutation fails.
            needed = found.webhook == "mutate" or policy.name in names
            return needed and (only is None or only(policy))

        texts: dict[_Key, deque[str]] = defaultdict(deque)
        dropped: dict[tuple[str, str], str] = {}
        notes: Mapping[tuple[str, str], Notes] = {}
        if names:
            traced = self._traced.of(found.request, found.webhook, lookups, chosen)
            _, notes = traced.run(brief=True)
        for visit in (visit for each in notes.values() for visit in each.visits):
            for finding, text in _of_visit(visit, manifest):
                texts[_key(finding)].append(text)
                dropped.setdefault((finding.policy.name, finding.message), text)
        fields, seen = [], found.request.object
        if seen is None:
            seen = found.request.old_object
        for each in found.findings:
            waiting = texts.get(_key(each))
            if _is_of_pattern(each):
                path = tuple(path_parts(each.field))
                fields.append(path_text(in_manifest(path, seen, manifest)))
            else:
                fields.append(waiting.popleft() if waiting else "")
        ignored = [
            each._replace(field=dropped.get((each.policy, each.message), ""))
            for each in found.ignored
        ]
        return replace(found, fields=fields, ignored=ignored)


def _key(finding: Finding) -> _Key:
    policy = finding.policy.sort_key
    return policy, finding.binding, finding.index, finding.message, finding.error


def _is_of_pattern(finding: Finding) -> bool:
    plan = finding.policy.validation
    if plan is None or finding.error or finding.index >= len(plan.validations):
        return False
    return plan.validations[finding.index].pattern is not None


def _of_visit(visit: Visit, manifest: JSON) -> Iterator[tuple[Finding, str]]:
    """Yield the field of each finding of a visit, including ignored ones."""
    within = tuple(filter(None, visit.within.split(".")))
    for step in within:
        manifest = _held(manifest, step)
    for finding in (*visit.findings, *visit.ignored):
        path = _path(finding, visit)
        path = None if path is None else in_manifest(path, visit.fields.root, manifest)
        yield finding, "" if path is None else path_text((*within, *path))


def field_of(finding: Finding, visit: Visit) -> str:
    """Return the field, in the request's object, that a finding of a visit is about; empty if
    unknown.
    """
    path = None if _is_of_pattern(finding) else _path(finding, visit)
    within = filter(None, visit.within.split("."))
    return finding.field if path is None else path_text((*within, *path))


def _path(finding: Finding, visit: Visit) -> FieldPath | None:
    """Return that field in the object that the policy sees; None if unknown."""
    reads = next((each.root.reads for each in _expressions(finding, visit)), NOTHING)
    return visit.fields.about(reads) if reads else None


def _expressions(finding: Finding, visit: Visit) -> Iterator[Steps]:
    """Yield the expression that a finding is about."""
    if not finding.error:
        yield from (e for e in visit.expressions if is_about(finding, e) and e.root.value is False)
        return
    failed = [
        each
        for each in visit.expressions
        if isinstance(each.root.value, CelError) and each.root.value.message in finding.message
    ]
    yield from (each for each in failed if is_about(finding, each))
    yield from failed if len(failed) == 1 else ()


def in_manifest(path: FieldPath, seen: JSON, manifest: JSON) -> FieldPath:
    """Return a path in the object that a policy sees as a path in the manifest. It ends at a list
    whose item is uncertain, because policies may have added or moved items.
    """
    made: FieldPath = ()
    for step in path:
        at: str | int | None = step
        if isinstance(seen, list) and str(step).isdigit():
            items = manifest if isinstance(manifest, list) else []
            # The path of a list that was not given is unambiguous.
            at = int(step) if manifest is None else _index(int(step), seen, items)
        if at is None:
            break
        made = (*made, at)
        seen, manifest = _held(seen, step), _held(manifest, at)
    return made


def _index(index: int, seen: list[JSON], given: list[JSON]) -> int | None:
    """Return the index of an item in the given list; None if uncertain."""
    if index >= len(seen):
        return index if len(seen) == len(given) else None
    item = seen[index]
    same = [at for at, each in enumerate(given) if _is_same(each, item)]
    if index in same or (not same and len(seen) == len(given) and _is_nameless(item)):
        return index
    return same[0] if len(same) == 1 else None


def _is_same(one: JSON, other: JSON) -> bool:
    if _is_nameless(one) or _is_nameless(other) or not isinstance(one, dict):
        return bool(one == other)
    return isinstance(other, dict) and one["name"] == other["name"]


def _is_nameless(item: JSON) -> bool:
    return isinstance(item, dict) and not isinstance(item.get("name"), str)


def _held(value: JSON, step: str | int) -> JSON:
    if isinstance(value, dict):
        return value.get(step)
    listed = isinstance(value, list) and str(step).isdigit() and int(step) < len(value)
    return value[int(step)] if listed else None
