"""Coverage of policies by suite cases: conditions, selectors and validations that were true and
false; match rules, bindings, mutations, exceptions and audit annotations that applied.

Reads the outcomes from stories (``explaining.py``); requests that are not explained cost nothing.
Prints nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from policyd.offline.stories import PolicyStory, Visit, WebhookStory
from policyd.policy.model import kinds
from policyd.policy.source.loaded_documents import Document

PartOutcome = Literal["true", "false", "applied"]
_BOTH: tuple[PartOutcome, ...] = ("true", "false")
_MATCH = "matchConstraints"
_SELECTORS = ("namespaceSelector", "objectSelector")
# A policy: the real path of its file, its kind, its name.
_PolicyKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a policy, the outcomes that cases should cover, and those they missed.

    ``path`` is its field without ``spec``, ``name`` its own name, if it has one. A binding has a
    separate file.
    """

    path: str
    name: str
    file: str
    line: int
    wanted: tuple[PartOutcome, ...]
    missing: tuple[PartOutcome, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyCoverage:
    """One policy: its parts, and whether any case matched it."""

    document: Document
    parts: tuple[Part, ...]
    matched: bool

    @property
    def wanted(self) -> int:
        """The number of possible outcomes."""
        return sum(len(part.wanted) for part in self.parts)

    @property
    def seen(self) -> int:
        """The number of covered outcomes."""
        return self.wanted - sum(len(part.missing) for part in self.parts)


class Coverage:
    """The outcomes covered so far."""

    def __init__(self) -> None:
        self._documents: dict[_PolicyKey, Document] = {}
        self._bindings: dict[_PolicyKey, dict[str, Document]] = {}
        self._seen: set[tuple[_PolicyKey, str, PartOutcome]] = set()
        self._matched: set[_PolicyKey] = set()

    def expect(self, documents: Iterable[Document]) -> None:
        """Include these policies and their bindings, even if no case matches them."""
        listed = list(documents)
        by_name = {
            (each.kind, each.name): _key(each)
            for each in listed
            if isinstance(each.model, kinds.AnyPolicy)
        }
        for document in listed:
            if isinstance(document.model, kinds.AnyPolicy):
                self._documents.setdefault(_key(document), document)
            elif isinstance(document.model, kinds.AnyBinding):
                of = (document.kind.removesuffix("Binding"), document.model.spec.policy_name)
                if of in by_name:
                    self._bindings.setdefault(by_name[of], {})[document.name] = document

    def see(self, story: WebhookStory) -> None:
        """Record the outcomes of the policies in one webhook."""
        for each in story.policies:
            key = _key(each.document)
            if each.visits or each.exceptions or each.findings:
                self._matched.add(key)
            for path, outcome in _outcomes(each):
                self._seen.add((key, path, outcome))

    def policies(self) -> list[PolicyCoverage]:
        """Return every included policy, in the order in which they were added."""
        return [self._policy(key, document) for key, document in self._documents.items()]

    def _policy(self, key: _PolicyKey, document: Document) -> PolicyCoverage:
        parts = []
        for path, name, wanted in _parts(document):
            line, _ = document.place(f"spec.{path}")
            missing = self._missing(key, path, wanted)
            parts.append(Part(path, name, document.file, line, wanted, missing))
        for name, binding in self._bindings.get(key, {}).items():
            line, _ = binding.place("metadata.name")
            missing = self._missing(key, _binding(name), ("applied",))
            parts.append(Part("binding", name, binding.file, line, ("applied",), missing))
        return PolicyCoverage(document, tuple(parts), key in self._matched)

    def _missing(
        self, key: _PolicyKey, path: str, wanted: tuple[PartOutcome, ...]
    ) -> tuple[PartOutcome, ...]:
        return tuple(each for each in wanted if (key, path, each) not in self._seen)


def percent(policies: Iterable[PolicyCoverage]) -> float:
    """Return the share of outcomes covered, in percent; 100 if there are none."""
    listed = list(policies)
    wanted = sum(each.wanted for each in listed)
    return 100.0 * sum(each.seen for each in listed) / wanted if wanted else 100.0


def _binding(name: str) -> str:
    return f"binding {name}"


def _key(document: Document) -> _PolicyKey:
    return (str(Path(document.file).resolve()), document.kind, document.name)


def _parts(document: Document) -> Iterator[tuple[str, str, tuple[PartOutcome, ...]]]:
    """Yield path, name and possible outcomes of each part. A literal ``false`` has one outcome."""
    policy = document.model
    if not isinstance(policy, kinds.AnyPolicy):
        return
    spec = policy.spec
    match = spec.match_constraints
    for index in range(len(match.resource_rules or ())):
        yield f"{_MATCH}.resourceRules[{index}]", "", ("applied",)
    for index in range(len(match.exclude_resource_rules or ())):
        yield f"{_MATCH}.excludeResourceRules[{index}]", "", ("applied",)
    for place in _SELECTORS:
        if any((match.plain().get(place) or {}).values()):
            yield f"{_MATCH}.{place}", "", _BOTH
    for path, attribute, named, has_outcomes in _LISTS:
        for index, item in enumerate(getattr(spec, attribute, ())):
            wanted = _possible(item.expression) if has_outcomes else ("applied",)
            yield f"{path}[{index}]", getattr(item, named, None) or "", wanted


# The lists of spec: path, attribute, the name of an item, and whether it is true or false.
_LISTS = (
    ("matchConditions", "match_conditions", "name", True),
    ("validations", "validations", "name", True),
    ("auditAnnotations", "audit_annotations", "key", False),
    ("mutations", "mutations", "name", False),
    ("exceptions", "exceptions", "name", False),
)


def _possible(expression: str | None) -> tuple[PartOutcome, ...]:
    text = (expression or "").strip()
    if text == "true":
        return ("true",)
    return ("false",) if text == "false" else _BOTH


def _outcomes(story: PolicyStory) -> Iterator[tuple[str, PartOutcome]]:
    """Yield the outcomes of one policy in one webhook."""
    policy = story.document.model
    yield from _matching(story)
    if isinstance(policy, kinds.Policy):
        for index, exception in enumerate(policy.spec.exceptions):
            if exception.name in story.exceptions:
                yield f"exceptions[{index}]", "applied"
    for visit in story.visits:
        yield from _expressions(visit)
        yield _binding(visit.binding), "applied"
        for applied in visit.mutations:
            if applied.operations:
                yield f"mutations[{applied.index}]", "applied"
        if visit.validates:
            yield from _patterns(story, visit)


def _matching(story: PolicyStory) -> Iterator[tuple[str, PartOutcome]]:
    """Yield the rule that matched, or the rule or selector that did not."""
    reason = story.reason
    if reason.applies or reason.place.startswith("exclude"):
        yield f"{_MATCH}.{reason.place}", "applied"
    elif reason.place in _SELECTORS:
        yield f"{_MATCH}.{reason.place}", "false"
    if story.matched:
        yield from ((f"{_MATCH}.{place}", "true") for place in _SELECTORS)


def _expressions(visit: Visit) -> Iterator[tuple[str, PartOutcome]]:
    lifted = {f"validations[{index}]" for index in visit.lifted}
    for each in visit.expressions:
        path, _, last = each.label.removeprefix("spec.").rpartition(".")
        value = each.root.value
        if path in lifted or each.root.state != "done":
            continue
        if last == "valueExpression":
            if isinstance(value, str) and value.strip():
                yield path, "applied"
        elif last == "expression" and isinstance(value, bool):
            yield path, "true" if value else "false"


def _patterns(story: PolicyStory, visit: Visit) -> Iterator[tuple[str, PartOutcome]]:
    """Patterns leave no evaluation behind: those without a finding were true."""
    plan = story.policy.validation
    if plan is None or visit.stopped or any(each.error for each in visit.findings):
        return
    if visit.ignored:
        return
    failed = {each.index for each in visit.findings}
    for index, each in enumerate(plan.validations):
        if each.pattern is not None and index not in visit.lifted:
            yield f"validations[{index}]", "false" if index in failed else "true"
