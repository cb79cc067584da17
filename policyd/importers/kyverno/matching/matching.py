"""`match`, `exclude` and the operations of a rule, as matchConstraints and matchConditions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from policyd.export.expressions.cel import FALSE, TRUE, Cel, relation
from policyd.importers.jmespath.cel import every, negated, quoted, some
from policyd.importers.jmespath.globs import among
from policyd.importers.kyverno.matching import autogen
from policyd.importers.kyverno.matching.filters import (
    Filter,
    holds_without_labels,
    label_selector,
    opposite,
    read,
)
from policyd.importers.kyverno.matching.kinds import MatchedResource, resource_rules
from policyd.importers.kyverno.matching.targets import (
    descriptions,
    kind_test,
    matched_by,
    namespace_of,
    note_guesses,
)
from policyd.importers.model import ImportNotes, Refused
from policyd.importers.policies import resource_rule
from policyd.json_types import JSON, JSONObject


@dataclass(frozen=True, slots=True)
class MatchScope:
    """The facts besides a rule that decide which requests it applies to.

    ``usual`` are the operations of a filter that names none, ``allowed`` those that the
    preconditions leave. ``connects``: it applies to CONNECT where its kinds can be connected to.
    ``controllers`` are the kinds that the rule is extended to, ``namespace`` the namespace of a
    namespaced policy. ``targets`` are the resources of all kinds that the rule names.
    """

    usual: tuple[str, ...]
    allowed: frozenset[str]
    targets: Mapping[str, MatchedResource]
    connects: bool = True
    controllers: tuple[str, ...] = ()
    namespace: str = ""


# Namespace objects, which no selector of namespaces fits in Kyverno.
_NAMESPACES = resource_rule([""], ["v1"], ["*"], ["namespaces"])


def matching(
    rule: JSONObject, path: str, scope: MatchScope, notes: ImportNotes
) -> tuple[JSONObject, tuple[MatchedResource, ...]]:
    """Return matchConstraints, podControllers and matchConditions of a rule, and what it matches.

    Raises Refused for what a request does not show.
    """
    return _Builder(rule, path, scope, notes).build()


class _Builder:
    def __init__(self, rule: JSONObject, path: str, scope: MatchScope, notes: ImportNotes) -> None:
        self._scope = scope
        self._notes = notes
        self._found = matched_by(rule, scope.targets)
        self._namespaced = all(each.namespaced for each in self._found)
        self._namespace = namespace_of(self._found, namespaced=bool(scope.namespace))
        deletes = _deletes(rule, scope)
        entry = partial(read, notes=notes, namespace=self._namespace, deletes=deletes)
        self._every, self._filters = _filters(rule.get("match"), f"{path}.match", entry)
        excluded = _filters(rule.get("exclude"), f"{path}.exclude", entry)
        self._all_excluded, self._excluded = excluded
        self._path = path
        self._kinds: list[tuple[Filter, tuple[MatchedResource, ...]]] = []
        self._namespace_labels: list[JSONObject] = []
        self._excludes: list[JSONObject] = []
        self._conditions: list[JSONObject] = []
        self._within_namespaces = bool(scope.namespace)

    def build(self) -> tuple[JSONObject, tuple[MatchedResource, ...]]:
        self._targets()
        excluded = (each for each in self._excluded if each.only_kinds and not each.kinds)
        dropped = {name for each in excluded for name in each.operations}
        allowed = self._scope.allowed - (set() if self._all_excluded else dropped)
        rules = resource_rules(
            (each, tuple(name for name in self._operations(given, each) if name in allowed))
            for given, found in self._kinds
            for each in found
        )
        if not rules:
            raise Refused(self._path, "the rule applies to no operation that reaches a webhook")
        constraints: JSONObject = {"resourceRules": rules}
        self._matched(constraints)
        self._exclude(constraints)
        if self._within_namespaces and not self._namespaced:
            constraints["resourceRules"] = [{**each, "scope": "Namespaced"} for each in rules]
        spec: JSONObject = {"matchConstraints": constraints}
        if self._scope.controllers:
            spec["podControllers"] = True
        if self._conditions:
            spec["matchConditions"] = self._conditions
        others = [each for each in self._scope.targets.values() if each not in self._found]
        note_guesses(self._found, f"{self._path}.match", self._notes)
        note_guesses(others, f"{self._path}.exclude", self._notes)
        return spec, self._matched_targets()

    def _matched_targets(self) -> tuple[MatchedResource, ...]:
        return tuple(each for _, found in self._kinds for each in found)

    def _targets(self) -> None:
        self._kinds = [(each, self._targets_of(each)) for each in self._filters]
        named = [(each, found) for each, found in self._kinds if found]
        if not named or (not self._every and len(named) < len(self._kinds)):
            raise Refused(f"{self._path}.match", "an entry names no kinds")
        if self._every:
            if len({each.kinds for each, _ in named}) > 1:
                raise Refused(f"{self._path}.match.all", "its entries name different kinds")
            self._kinds = named[:1]

    def _targets_of(self, given: Filter) -> tuple[MatchedResource, ...]:
        return tuple(self._scope.targets[kind] for kind in given.kinds)

    def _operations(self, given: Filter, of: MatchedResource) -> tuple[str, ...]:
        usual = self._scope.usual if of.writes else ()
        if of.connects and self._scope.connects and "CONNECT" not in usual:
            usual = (*usual, "CONNECT")
        listed = given.operations or usual
        if self._every:
            for each in self._filters:
                listed = tuple(name for name in listed if name in (each.operations or listed))
        return listed

    # Requirements of `match` besides kinds and operations.

    def _matched(self, constraints: JSONObject) -> None:
        if self._scope.namespace:
            name = quoted(self._scope.namespace)
            self._condition("namespace", relation(self._namespace, "==", name))
        if 0 < len(self._scope.controllers) < len(autogen.CONTROLLERS):
            kinds = ["Pod", *self._scope.controllers]
            self._condition("controllers", among("request.kind.kind", kinds))
        targets = self._matched_targets()
        if not all(each.exact for each in targets):
            self._condition("kinds", self._kind_test(targets))
        if self._every or len(self._filters) == 1:
            self._single(constraints)
        elif not all(each.only_kinds for each in self._filters):
            tests = [self._alternative(each, found) for each, found in self._kinds]
            self._condition("matched", some(*tests))

    def _single(self, constraints: JSONObject) -> None:
        first = self._filters[0]
        selector = first.labels if len(self._filters) == 1 else None
        if selector:
            constraints["objectSelector"] = label_selector(selector)
        for each in self._filters:
            self._select_namespaces(each)
        tests = [each.test(without_labels=selector is not None) for each in self._filters]
        self._condition("matched", every(*tests))

    def _alternative(self, each: Filter, found: tuple[MatchedResource, ...]) -> Cel:
        if each.namespace_labels:
            raise Refused(
                f"{each.path}.resources.namespaceSelector",
                "a selector of namespaces can only hold for all entries of `any`",
            )
        same = len({frozenset(each.kinds) for each in self._filters}) == 1
        kinds = TRUE if same else self._kind_test(found)
        operations = TRUE
        if len({each.operations for each in self._filters}) > 1 and each.operations:
            operations = among("request.operation", each.operations)
        return every(kinds, operations, each.test())

    def _kind_test(self, found: Sequence[MatchedResource]) -> Cel:
        return kind_test(found, self._found, self._scope.controllers)

    # Labels of the namespace: to Kubernetes, every cluster-scoped object fits any selector, and a
    # Namespace is selected by its own labels; to Kyverno, cluster-scoped objects have none.

    def _select_namespaces(self, given: Filter) -> None:
        self._namespace_labels += given.namespace_labels
        if not all(map(holds_without_labels, given.namespace_labels)):
            self._within_namespaces = True
        elif given.namespace_labels and self._may_be_namespaces():
            self._excludes.append(_NAMESPACES)

    def _exclude_namespaces(self, requirement: JSONObject, path: str) -> None:
        self._namespace_labels.append(opposite(requirement))
        if self._may_be_namespaces():
            message = "a Namespace is excluded by its own labels; Kyverno does not exclude any"
            self._notes.remark(f"{path}.resources.namespaceSelector", message)
        elif holds_without_labels(requirement):
            self._within_namespaces = True

    def _may_be_namespaces(self) -> bool:
        names = {name for each in self._found for name in each.resources}
        return not names.isdisjoint(("*", "*/*", "namespaces")) and not self._within_namespaces

    # Exemptions by `exclude`.

    def _exclude(self, constraints: JSONObject) -> None:
        if self._all_excluded and len(self._excluded) > 1:
            tests = [every(self._among_them(each), each.test()) for each in self._excluded]
            if any(each.namespace_labels for each in self._excluded):
                raise Refused(f"{self._path}.exclude.all", "excludes by labels of the namespace")
            self._condition("not-excluded", negated(every(*tests)))
        else:
            for each in self._excluded:
                self._exclude_one(each)
        if self._excludes:
            constraints["excludeResourceRules"] = self._excludes
        if self._namespace_labels:
            constraints["namespaceSelector"] = label_selector(tuple(self._namespace_labels))

    def _exclude_one(self, each: Filter) -> None:
        if each.only_kinds:
            if each.kinds:
                found = self._targets_of(each)
                operations = each.operations or ("*",)
                if not all(kind.exact for kind in found):
                    self._condition("not-excluded", negated(self._kind_test(found)))
                else:
                    self._excludes += resource_rules((kind, operations) for kind in found)
            return
        among_them = self._among_them(each)
        if each.namespace_labels:
            labels = each.namespace_labels
            if len(labels) > 1 or among_them != TRUE or each.test() != TRUE:
                raise Refused(
                    f"{each.path}.resources.namespaceSelector",
                    "excludes by labels of the namespace and something else",
                )
            self._exclude_namespaces(labels[0], each.path)
            return
        self._condition("not-excluded", each.spared(among_them))

    def _among_them(self, each: Filter) -> Cel:
        """Test kind and operation of an entry of `exclude`, unless all that is matched has them."""
        tests = []
        matched = {kind for one in self._filters for kind in one.kinds}
        if each.kinds and not matched <= set(each.kinds):
            tests.append(self._kind_test(self._targets_of(each)))
        if each.operations:
            tests.append(among("request.operation", each.operations))
        return every(*tests)

    def _condition(self, name: str, test: Cel) -> None:
        if test == TRUE:
            return
        if test == FALSE:
            raise Refused(self._path, "the rule excludes all that it matches")
        taken = sum(each["name"].startswith(name) for each in self._conditions)
        unique = f"{name}-{taken + 1}" if taken else name
        self._conditions.append({"name": unique, "expression": test.text})


def _deletes(rule: JSONObject, scope: MatchScope) -> bool:
    named = [each.get("operations") or scope.usual for each, _ in descriptions(rule, "match")]
    return any("DELETE" in each for each in named) and "DELETE" in scope.allowed


def _filters(
    block: JSON, path: str, entry: Callable[[JSONObject, str], Filter]
) -> tuple[bool, list[Filter]]:
    """Return whether all entries of a block have to fit, and the entries."""
    if not block:
        return False, []
    for name in ("any", "all"):
        entries = block.get(name)
        if entries:
            return name == "all", [
                entry(each, f"{path}.{name}[{index}]") for index, each in enumerate(entries)
            ]
    own = {name: value for name, value in block.items() if name not in ("any", "all")}
    return False, [entry(own, path)] if own else []
