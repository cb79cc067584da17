"""Advice on mutations that write what the API server does not store for the resources and
subresources that the policy matches (``kinds/subresources``).

Reported is a write that no match stores; and, if the policy only mutates, one for a subresource
that stores nothing of what the policy writes. Evaluates nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from policyd.json_types import FieldPath
from policyd.policy.kinds.subresources import ANY_STEP, Subresource, subresources_matched
from policyd.policy.lint.guards.forms import Place
from policyd.policy.lint.mutations.written import writes
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.findings import FormProblem, path_text

RULE = "dropped-write"
_NODES = ("", "nodes")  # the kubelet creates a Node with its status
# Names that may distinguish the matched resources.
_TELLING = ("ubResource", ".kind", ".resource", ".operation")


@dataclass(frozen=True, slots=True)
class _Match:
    """A resource that a match rule names, or a subresource of it. ``drops_status``: only requests
    to its subresource write its status.
    """

    name: str
    group: str
    path: FieldPath = field(compare=False)
    subresource: Subresource | None
    drops_status: bool

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
    matches = list(dict.fromkeys(_matches(policy)))
    mutations = [(each, list(writes(each))) for each in policy.mutations]
    written = [write.place for _, places in mutations for write in places]
    texts = [each.text for each in policy.expressions]
    if not policy.checks and not any(word in text for text in texts for word in _TELLING):
        idle = [each for each in matches if not any(map(each.stores, written))]
        for match in idle if written and len(idle) < len(matches) else ():
            message = f"{match.kept}: nothing that the policy writes"
            yield FormProblem(match.path, message, f"remove {match.name}", rule=RULE)
    for mutation, places in mutations:
        first = {write.place: write for write in reversed(places)}
        for place in dict.fromkeys(write.place for write in places):
            for match in matches if not any(each.stores(place) for each in matches) else ():
                home = f"{match.resource}/status" if place[:1] == ("status",) else match.resource
                message = f"{path_text(place)} is lost: {match.kept}"
                hint = "write what is stored" if home in (ANY_STEP, match.name) else f"match {home}"
                yield first[place].finding(mutation, RULE, message, hint)


def _matches(policy: LintedPolicy) -> Iterator[_Match]:
    known = policy.run.resources
    for rule, resource, path in policy.named_resources:
        name = resource.partition("/")[0]
        homes = [group for group in rule.api_groups if (group, name) in known]
        for group in homes or rule.api_groups:
            for each in subresources_matched(resource, rule.operations):
                home = known.get((group, resource)) if each is None else None
                has_status = home is not None and "status" in home.subresources
                drops = has_status and (group, resource) != _NODES
                own = group if each is None else group.strip("*")
                yield _Match(resource, own, path, each, drops)
