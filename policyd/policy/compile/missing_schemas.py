"""Report ApplyConfigurations of kinds without a schema when policies load, since every request for
them would fail. Only kinds that match rules name; overlays have a separate check.
"""

from collections.abc import Iterable, Iterator

from policyd.errors import Problem
from policyd.policy.compile.overlays import MISSING_SCHEMA, KnownKinds, remedy
from policyd.policy.kinds.definitions import is_custom
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import MutatingAdmissionPolicy, Policy
from policyd.policy.source.loaded_documents import Document

RULE = MISSING_SCHEMA


def merges(document: Document) -> bool:
    """Whether the policy merges objects of kinds that it names and that are not built in."""
    policy = document.readable
    if not isinstance(policy, MutatingAdmissionPolicy | Policy):
        return False
    return any(each.kind.merges for each in policy.spec.mutations) and any(
        map(
            is_custom,
            (g for r in policy.spec.match_constraints.resource_rules for g in r.api_groups),
        )
    )


def missing(document: Document, kinds: KnownKinds) -> Iterator[Problem]:
    """Yield the resources of match rules without a schema; the hint names what to add."""
    policy = document.readable
    if not merges(document) or not isinstance(policy, MutatingAdmissionPolicy | Policy):
        return
    for index, rule in enumerate(policy.spec.match_constraints.resource_rules):
        for number, resource in enumerate(rule.resources):
            plural = resource.partition("/")[0]
            for group in filter(is_custom, rule.api_groups):
                what = _unknown(group, rule.api_versions, plural, kinds)
                if plural != "*" and what:
                    path = ("spec", "matchConstraints", "resourceRules", index, "resources", number)
                    finding = FormProblem(
                        path,
                        f"no schema of {what} is known: ApplyConfiguration cannot merge without",
                        f"{remedy(f'{plural}.{group}')}, or write a JSONPatch mutation",
                        rule=RULE,
                    )
                    yield document.problem(finding)


def _unknown(group: str, versions: Iterable[str], plural: str, kinds: KnownKinds) -> str:
    served = [
        version
        for version in kinds.versions(group, plural)
        if kinds.of_resource(group, version, plural) is not None
    ]
    if not served:
        return f"{plural}.{group}"
    absent = [version for version in versions if version not in (*served, "*", "")]
    return f"{plural}.{group} in {', '.join(absent)}" if absent else ""
