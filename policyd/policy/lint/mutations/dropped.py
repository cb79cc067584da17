"""Advice on mutations that write what the API server does not store for the resources and
subresources that the policy matches (``kinds/subresources``).

Reported is a write that no match stores; and, if the policy only mutates, one for a subresource
that stores nothing of what the policy writes. Evaluates nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from policyd.json_types import FieldPath
from policyd.policy.kinds.served import Resources
from policyd.policy.kinds.subresources import ANY_STEP, Subresource, subresources_named
from policyd.policy.lint.guards.forms import Place
from policyd.policy.lint.mutations.written import MutatedPlace, writes
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.expressions import HeldMutation
from policyd.policy.model.findings import FormProblem, path_text
from policyd.policy.model.match import NamedRuleWithOperations, covers

RULE = "dropped-write"
_NODES = ("", "nodes")  # the kubelet creates a Node with its status
# Names that may distinguish the matched resources.
_TELLING = ("ubResource", ".kind", ".resource", ".operation")


@dataclass(frozen=True, slots=True)
class _Match:
    """A resource that a match rule names, or a subresource of it."""

    name: str
    group: str
    path: FieldPath = field(compare=False)
    subresource: Subresource | None
    drops_status: bool = False

    @property
    def resource(self) -> str:
        return self.name.partition("/")[0]

    def stores(self, place: Place) -> bool:
        """Whether a change at a place is stored, at least in part."""
        if self.subresource is None:
            return not (self.drops_status and place[:1] == ("status",))
        return self.subresource.stores(place, self.group, self.resource)

    @property
    def kept(self) -> str:
        """Return what is stored, for messages."""
        if self.subresource is None:
            return f"the API server keeps everything but status of requests to {self.name}"
        listed = list(map(path_text, self.subresource.stored))
        dropped = self.subresource.dropped_metadata(self.group, self.resource)
        if not {"annotations", "labels"} <= dropped:
            without = " and ".join(sorted(dropped))
            listed.append(f"metadata (without {without})" if without else "metadata")
        *most, last = listed
        names = f"{', '.join(most)} and {last}" if most else last
        return f"the API server keeps only {names} of requests to {self.name}"


def dropped(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for a policy."""
    matches = list(dict.fromkeys(_matches(policy.rules, policy.run.resources)))
    mutations = [(each, list(writes(each))) for each in policy.mutations]
    written = [write.place for _, places in mutations for write in places]
    texts = [each.text for each in policy.expressions]
    if not policy.checks and not any(word in text for text in texts for word in _TELLING):
        for match in _idle(matches, written):
            message = f"{match.kept}: nothing that the policy writes"
            yield FormProblem(match.path, message, f"remove {match.name}", rule=RULE)
    for mutation, places in mutations:
        first: dict[Place, MutatedPlace] = {}
        for write in places:
            first.setdefault(write.place, write)
        for place, write in first.items():
            if not any(match.stores(place) for match in matches):
                yield from (_lost(mutation, write, match) for match in matches)


def _idle(matches: list[_Match], written: list[Place]) -> list[_Match]:
    """Return the matches that store nothing of what is written, if others store any of it."""
    idle = [each for each in matches if not any(map(each.stores, written))]
    return idle if written and len(idle) < len(matches) else []


def _matches(rules: Iterable[NamedRuleWithOperations], known: Resources) -> Iterator[_Match]:
    for index, rule in enumerate(rules):
        for number, resource in enumerate(rule.resources):
            path = ("spec", "matchConstraints", "resourceRules", index, "resources", number)
            name = resource.partition("/")[0]
            subresources = list(subresources_named(resource))
            homes = [group for group in rule.api_groups if (group, name) in known]
            for group in homes or rule.api_groups:
                if not subresources:
                    yield _Match(resource, group, path, None, _drops_status(group, resource, known))
                for each in subresources:
                    if covers(rule.operations, each.operation):
                        yield _Match(resource, group.strip("*"), path, each)


def _drops_status(group: str, resource: str, known: Resources) -> bool:
    """Whether only requests to its subresource write the status of a resource."""
    found = known.get((group, resource))
    return found is not None and "status" in found.subresources and (group, resource) != _NODES


def _lost(mutation: HeldMutation, write: MutatedPlace, match: _Match) -> FormProblem:
    message = f"{path_text(write.place)} is lost: {match.kept}"
    home = f"{match.resource}/status" if write.place[:1] == ("status",) else match.resource
    hint = "write what is stored" if home in (ANY_STEP, match.name) else f"match {home}"
    return write.finding(mutation, RULE, message, hint)
