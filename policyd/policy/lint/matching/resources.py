"""Advice on the match rules of policies and bindings: groups, versions, resources, subresources and
operations that do not exist, and versions that Kubernetes removed.

Only certain mistakes are reported: none for groups that are neither built in nor defined by a known
CustomResourceDefinition.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from policyd._core.match.equivalents import BUILT_IN_GROUPS
from policyd.cel.hints.globs import instead_of_glob
from policyd.errors import Fix
from policyd.json_types import FieldPath
from policyd.near_names import did_you_mean
from policyd.policy.kinds.served import REMOVED, Resource, Resources
from policyd.policy.lint.run import LintRun
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import match_of
from policyd.policy.model.match import NamedRuleWithOperations
from policyd.policy.source.loaded_documents import Document

RULE = "no-such-resource"
REMOVED_RULE = "removed-version"
EXACT_RULE = "exact-version"
_CLOSE = 0.85  # how similar a group must be to a known one to suggest that
_CORE = ("core", "v1", "api", "core/v1")


def advise_rules(run: LintRun, document: Document) -> Iterator[FormProblem]:
    """Yield the advice for a policy or binding."""
    field, match = match_of(document.model)
    if match is not None:
        exact = match.match_policy == "Exact"
        for name, rules in (
            ("resourceRules", match.resource_rules),
            ("excludeResourceRules", match.exclude_resource_rules),
        ):
            for index, rule in enumerate(rules):
                path = ("spec", field, name, index)
                yield from _RuleAdvice(rule, path, run.resources, exact).findings()


_CONNECT = "CONNECT is for pods/exec, pods/attach, services/proxy and the like"


@dataclass(frozen=True, slots=True)
class _RuleAdvice:
    """Checks one match rule."""

    rule: NamedRuleWithOperations
    path: FieldPath
    known: Resources
    exact: bool

    def findings(self) -> Iterator[FormProblem]:
        """Yield what is wrong with the rule, field by field."""
        for index, name in enumerate(self.rule.resource_names):
            if "*" in name:
                condition = instead_of_glob(name, "request.name")
                hint = f"names have no wildcards here: write matchConditions with {condition}"
                yield self._finding(
                    "resourceNames", index, f"no object has the name {name!r}", hint
                )
        if "*" in self.rule.api_groups:
            return
        groups = list(self._groups())
        yield from groups
        if not groups:
            yield from self._versions()
            for index, resource in enumerate(self.rule.resources):
                if not resource.startswith("*"):
                    yield from self._resource(index, resource)
            yield from self._operations()
            yield from self._exactness()

    def _groups(self) -> Iterator[FormProblem]:
        own = {group for group, _ in self.known} | BUILT_IN_GROUPS
        for index, group in enumerate(self.rule.api_groups):
            if group in own:
                continue
            hint, fix = self._right_group(group, own)
            if hint or "." not in group:  # the group of a CRD must contain a dot
                message = f"API group {group!r} does not exist"
                yield self._finding("apiGroups", index, message, hint, fix=fix)

    def _right_group(self, group: str, own: Collection[str]) -> tuple[str, Fix | None]:
        """Return the remedy for a group that does not exist, and the fix if that is certain."""
        name = group.rpartition("/")[0]
        if group in _CORE:
            return 'write apiGroups: [""], the core group', Fix(group, "")
        if name in own and name:  # apps/v1
            return f"write {name}", Fix(group, name)
        if longer := sorted(each for each in own if each.startswith(f"{group}.")):
            return f"did you mean {longer[0]}?", None
        if close := did_you_mean(group, filter(None, own), ratio=_CLOSE):
            return close, None
        homes = sorted(home for home, plural in self.known if plural in self.rule.resources)
        ends = [home for home in homes if home.endswith(f".{group}")]
        return f"write {ends[0]}" if ends else "", None

    def _versions(self) -> Iterator[FormProblem]:
        homes = [self._homes(resource) for resource in self.rule.resources]
        served = sorted({each for found in homes for home in found for each in home.versions})
        for index, version in enumerate(self.rule.api_versions):
            removed = self._removed(version, self.rule.resources)
            if removed:
                yield self._finding("apiVersions", index, *removed, rule=REMOVED_RULE)
            elif version not in ("*", *served) and all(homes):
                message = f"{', '.join(self.rule.resources)}: version {version!r} does not exist"
                yield self._finding("apiVersions", index, message, f"write {' or '.join(served)}")

    def _removed(self, version: str, resources: Iterable[str]) -> tuple[str, str] | None:
        """Return what Kubernetes removed in that version, and what to write instead."""
        for group in self.rule.api_groups:
            names = [each for each in resources if (group, version, each) in REMOVED]
            if names:
                release, now = REMOVED[group, version, names[0]]
                message = (
                    f"Kubernetes {release} removed {', '.join(names)} from {group}/{version}: "
                    "the version matches no request, with any matchPolicy"
                )
                there = now.rpartition("/")
                named = there[0] in self.rule.api_groups and there[2] in self.rule.api_versions
                return message, "remove it" if named or not now else f"write {now}"
        return None

    def _resource(self, index: int, resource: str) -> Iterator[FormProblem]:
        name, _, sub = resource.partition("/")
        homes = self._homes(resource)
        subresources = sorted({each for home in homes for each in home.subresources})
        if not homes:
            fix = self._resource_fix(name)
            gone = any(self._removed(each, [name]) for each in self.rule.api_versions)
            # The plural of a CRD has no dot.
            if (fix or self._certain() or "." in name) and not gone:
                where = " and ".join(group or "the core group" for group in self.rule.api_groups)
                message = f"resource {name!r} does not exist in {where}"
                hint = f"write {fix.new}: rules name the plural" if fix else ""
                hint = hint or self._resource_hint(resource)
                yield self._finding("resources", index, message, hint, fix=fix)
        elif sub not in ("", "*", *subresources):
            hint = f"it has {', '.join(subresources)}" if subresources else "it has none"
            message = f"{name} has no subresource {sub!r}"
            yield self._finding("resources", index, message, hint)
        else:
            yield from self._reach(index, resource, homes)

    def _reach(self, index: int, resource: str, homes: list[Resource]) -> Iterator[FormProblem]:
        """Report a resource of which no request can match the operations and scope."""
        seen, operations = self._seen(resource), self.rule.operations
        if not seen:
            message = f"Kubernetes calls no admission policies for {resource}"
            yield self._finding("resources", index, message, "remove it")
        elif "*" not in operations and not seen.intersection(operations):
            message = f"{resource} does not support {' or '.join(operations)}"
            hint = f"it supports {', '.join(sorted(seen))}"
            hint += f"; {_CONNECT}" if "CONNECT" in operations else ""
            yield self._finding("resources", index, message, hint)
        wanted = {"Namespaced": True, "Cluster": False}.get(self.rule.scope)
        if wanted is not None and all(home.namespaced is (not wanted) for home in homes):
            where = "cluster-scoped" if wanted else "namespaced"
            message = f"{resource} is {where}, so scope {self.rule.scope} excludes it"
            yield self._finding("resources", index, message, "remove scope")

    def _operations(self) -> Iterator[FormProblem]:
        """Report operations that no resource of the rule supports, if it supports others."""
        operations, named = self.rule.operations, self.rule.resources
        seen_of_each = [self._seen(each) for each in named]
        if "*" in operations or not all(seen_of_each):
            return
        seen = frozenset[str]().union(*seen_of_each)
        for index, operation in enumerate(operations):
            if operation not in seen and seen.intersection(operations):
                hint = f"supported: {', '.join(sorted(seen))}"
                if operation == "CONNECT":
                    hint = _CONNECT
                message = f"{operation} is not supported by {', '.join(named)}"
                yield self._finding("operations", index, message, hint)

    def _exactness(self) -> Iterator[FormProblem]:
        """Report served versions that the rule misses because matchPolicy is Exact."""
        if not self.exact or "*" in self.rule.api_versions:
            return
        homes = [home for each in self.rule.resources for home in self._homes(each)]
        served = {version for home in homes for version in home.usual}
        passing = sorted(served.difference(self.rule.api_versions))
        if passing and served.intersection(self.rule.api_versions):
            message = f"matchPolicy is Exact: requests of {', '.join(passing)} are not matched"
            hint = "add these versions, or set matchPolicy: Equivalent"
            yield FormProblem((*self.path, "apiVersions"), message, hint, rule=EXACT_RULE)

    def _seen(self, resource: str) -> frozenset[str]:
        sub = resource.partition("/")[2]
        return frozenset[str]().union(*(h.operations_of(sub) for h in self._homes(resource)))

    def _homes(self, resource: str) -> list[Resource]:
        """Return the resource in each group of the rule that has it; none if that is uncertain."""
        name = resource.partition("/")[0]
        found = (self.known.get((group, name)) for group in self.rule.api_groups)
        homes = [each for each in found if each is not None]
        return homes if self._certain() or len(homes) == len(self.rule.api_groups) else []

    def _certain(self) -> bool:
        """Whether all resources of the groups are known."""
        return BUILT_IN_GROUPS.issuperset(self.rule.api_groups)

    def _resource_fix(self, name: str) -> Fix | None:
        """Return the plural for a singular, kind or short name of the rule's groups."""
        given = name.lower()
        found = {
            plural
            for (group, plural), resource in self.known.items()
            if group in self.rule.api_groups
            and plural != name
            and (given == plural or given in resource.aliases)
        }
        return Fix(name, found.pop()) if len(found) == 1 else None

    def _resource_hint(self, named: str) -> str:
        name, _, last = named.partition("/")
        last = last.rpartition("/")[2]
        for (group, plural), resource in sorted(self.known.items()):
            if name in resource.subresources and group in self.rule.api_groups:
                return f"write {plural}/{name}" if plural == "pods" else ""
            prefixed = plural == last and name in (group, group.partition(".")[0] or "v1")
            if prefixed or name == f"{plural}.{group}":
                return f"write {plural}; the group belongs in apiGroups: [{_written(group)}]"
        here = [each for group, each in self.known if group in self.rule.api_groups]
        for (group, plural), resource in sorted(self.known.items()):
            if plural not in here and name.lower() in resource.aliases:
                return f"{plural} is in {_named(group)}"
        for plain in (name, name.lower(), f"{name.lower()}s", f"{name.lower()}es"):
            if plain in here:
                return f"write {plain}"
            elsewhere = [group for group, each in self.known if each == plain]
            if elsewhere:
                return f"{plain} is in {_named(elsewhere[0])}"
        return did_you_mean(name.lower(), here)

    def _finding(
        self,
        field: str,
        index: int,
        message: str,
        hint: str,
        *,
        rule: str = RULE,
        fix: Fix | None = None,
    ) -> FormProblem:
        return FormProblem((*self.path, field, index), message, hint, rule=rule, fix=fix)


def _named(group: str) -> str:
    """Name a group as people do, and as rules do."""
    name = f"the group {group}" if group else "the core group"
    return f"{name} (apiGroups: [{_written(group)}])"


def _written(group: str) -> str:
    return group or '""'
