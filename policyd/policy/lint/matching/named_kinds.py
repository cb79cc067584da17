"""Advice on a paramKind, or on the kind of a read, that no object has: its kind, group or version
does not exist.

Only certain mistakes are reported, as for match rules: a cluster can have kinds of other groups.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from policyd._core.match.equivalents import BUILT_IN_GROUPS
from policyd.errors import Fix, Problem
from policyd.json_types import FieldPath
from policyd.near_names import did_you_mean
from policyd.policy.kinds.definitions import definitions
from policyd.policy.kinds.mapping import BUILT_IN, ResourceMapper
from policyd.policy.kinds.plural import plural
from policyd.policy.kinds.served import Resources, known_resources
from policyd.policy.lint.run import LintRun
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import AnyPolicy, Policy
from policyd.policy.model.match import ParamKind
from policyd.policy.model.reads import PolicyRead

RULE = "no-such-resource"
_EFFECT = "every request that the policy matches follows failurePolicy"


def advise_named_kinds(run: LintRun) -> Iterator[Problem]:
    """Yield the advice for all policies, in file order."""
    crds = [each.raw for each in definitions(run.sources).documents]
    kinds = _Kinds(BUILT_IN.with_definitions(crds), known_resources(crds))
    for document, policy in run.policies():
        for path, named in _named(policy):
            found = kinds.finding(named)
            if found is not None:
                yield document.problem(replace(found, path=(*path, *found.path)), "advice")


def _named(policy: AnyPolicy) -> Iterator[tuple[FieldPath, ParamKind | PolicyRead]]:
    if policy.spec.param_kind is not None:
        yield ("spec", "paramKind"), policy.spec.param_kind
    if isinstance(policy, Policy):
        for index, read in enumerate(policy.spec.reads):
            yield ("spec", "reads", index), read


@dataclass(frozen=True, slots=True)
class _Kinds:
    """The kinds of Kubernetes and of the CustomResourceDefinitions."""

    mapper: ResourceMapper
    resources: Resources

    def finding(self, named: ParamKind | PolicyRead) -> FormProblem | None:
        """Return what is wrong with a kind, by its field; None if that is not certain."""
        group, _, version = named.api_version.rpartition("/")
        found = self.mapper.of(named.api_version, named.kind)
        known = self.resources.get((group, found.resource))
        of_group = self.mapper.kinds_of(group)
        names = {name: kind for kind in of_group for name in (kind.lower(), plural(kind))}
        meant = names.get(named.kind.lower(), named.kind)
        if meant != named.kind and named.kind not in of_group:
            return _problem("kind", named, f"write {meant}", Fix(named.kind, meant))
        if known is not None:
            if version in known.versions:
                return None
            home = f"{group}/" if group else ""
            hint = f"write {' or '.join(home + each for each in known.versions)}"
            return _problem("apiVersion", named, hint)
        if group not in BUILT_IN_GROUPS and "." in group:  # the group of a CRD must contain a dot
            return None
        homes = [each for each in self.mapper.of_kind(named.kind) if not each.doubt]
        if homes:
            there = f"{homes[0].group}/{homes[0].version}".removeprefix("/")
            return _problem("apiVersion", named, f"write {there}")
        return _problem("kind", named, did_you_mean(named.kind, of_group))


def _problem(
    field: str, named: ParamKind | PolicyRead, hint: str, fix: Fix | None = None
) -> FormProblem:
    message = f"{named.api_version} has no kind {named.kind!r}: {_EFFECT}"
    return FormProblem((field,), message, hint, rule=RULE, fix=fix)
