"""One rule of a ClusterPolicy or Policy: what it applies to, and what its body contributes."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from policyd.importers.expressions.readable import readable
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.kyverno import mutate, settings
from policyd.importers.kyverno.cel import validations as cel
from policyd.importers.kyverno.conditions import holds
from policyd.importers.kyverno.context import bound
from policyd.importers.kyverno.exceptions import exceptions
from policyd.importers.kyverno.matching import autogen, operations
from policyd.importers.kyverno.matching.kinds import MatchedResource
from policyd.importers.kyverno.matching.matching import MatchScope, matching
from policyd.importers.kyverno.matching.targets import absent_fields, namespace_of, targets
from policyd.importers.kyverno.pod_security import level_policies as pod_security
from policyd.importers.kyverno.settings import NamespacedAction
from policyd.importers.kyverno.validate import validate_rule as validate
from policyd.importers.model import ImportNotes, Refused, refusing
from policyd.importers.reads import PolicyReads
from policyd.json_types import JSON, JSONObject
from policyd.policy.kinds.definitions import definitions_among
from policyd.policy.kinds.mapping import BUILT_IN
from policyd.policy.source.loaded_documents import Document

_REFUSED = {
    "generate": "policyd does not create objects",
    "verifyImages": "policyd does not verify signatures of images",
    "imageExtractors": "policyd does not look up images",
}
_SUBRESOURCES = (
    "Kyverno takes it for a rule for Pods and extends it to their controllers; the import does "
    "not, since their requests are for no subresource of Pods"
)
_PODS = ("spec", "spec.containers")
_TEMPLATES = ("spec", "spec.template", "spec.template.spec", "spec.template.spec.containers")
# Fields that all objects of a kind have; of other kinds nothing is known.
_PRESENT = {
    "Pod": _PODS,
    "Deployment": _TEMPLATES,
    "StatefulSet": _TEMPLATES,
    "DaemonSet": _TEMPLATES,
    "ReplicaSet": _TEMPLATES,
    "Job": _TEMPLATES,
    "Service": ("spec",),
    "Ingress": ("spec",),
    "NetworkPolicy": ("spec",),
    "PodDisruptionBudget": ("spec",),
    "PersistentVolumeClaim": ("spec",),
    "CronJob": ("spec", "spec.jobTemplate", "spec.jobTemplate.spec"),
}
_VALIDATES = (
    "cel", "pattern", "anyPattern", "deny", "foreach", "podSecurity", "manifests", "assert",
)  # fmt: skip
_MUTATES = ("targets", "foreach", "patchStrategicMerge", "patchesJson6902")


@dataclass(frozen=True, slots=True)
class ConvertedRule:
    """The ``spec`` that a rule becomes; ``names`` are the names that tests use for the rule.
    ``suffix`` distinguishes the Policies that one rule becomes.
    """

    spec: JSONObject
    actions: Sequence[NamespacedAction]
    names: tuple[str, ...]
    notes: ImportNotes
    suffix: str = ""


class RuleConverter:
    """Converts the rules of one policy; ``common`` are the fields that all its Policies have."""

    def __init__(self, policy: JSONObject, common: JSONObject, others: Sequence[Document]) -> None:
        self._policy = policy
        self._spec: JSONObject = policy["spec"]
        self._common = common
        self._controllers = autogen.controllers(policy)
        self._others = others
        self._definitions = definitions_among(each.raw for each in others)
        self._mapper = BUILT_IN.with_definitions(self._definitions)

    def is_generated(self, rule: JSONObject) -> bool:
        """Return whether Kyverno replaces a rule by one that it generates itself."""
        rules = self._spec["rules"]
        extends = bool(self._controllers) and any(map(autogen.is_extended, rules))
        return extends and str(rule.get("name", "")).startswith(autogen.GENERATED)

    def convert(self, rule: JSONObject, path: str) -> list[ConvertedRule]:
        """Convert one rule to one Policy, or to one for each check of `podSecurity`.

        Raises Refused.
        """
        controllers = self._controllers if autogen.is_extended(rule) else ()
        if controllers and autogen.only_subresources(rule):
            found = self._converted(rule, path, ())
            for each in found:
                each.notes.remark(f"{path}.match", _SUBRESOURCES)
            return found
        if not (controllers and autogen.reads_controller(rule)):
            return self._converted(rule, path, controllers)
        result = []
        for suffix, copied in autogen.expanded(rule, self._controllers):
            for made in self._converted(copied, path, ()):
                names = dict.fromkeys((str(rule.get("name", "")), *made.names))
                result.append(replace(made, suffix=suffix, names=tuple(names)))
        return result

    def _converted(
        self, rule: JSONObject, path: str, controllers: tuple[str, ...]
    ) -> list[ConvertedRule]:
        for name, why in _REFUSED.items():
            if name in rule:
                raise Refused(f"{path}.{name}", why)
        kind = kind_of(rule)
        if rule.get("celPreconditions") and kind != "cel":
            raise Refused(f"{path}.celPreconditions", "Kyverno has them only beside `validate.cel`")
        ours = operations.split(rule.get("preconditions"))
        resources = targets(rule, path, self._definitions)
        scope = self._scope(rule, kind, ours, resources, controllers)
        notes = ImportNotes()
        matched, found = matching(rule, path, scope, notes)
        root = self._vocabulary(found, scope)
        written = rule.get("context") or None
        vocabulary, context = bound(written, root, f"{path}.context")
        condition = _preconditions(ours.rest, written, path, root)
        if kind == "podSecurity":
            bodies = pod_security.checks(rule["validate"], f"{path}.validate")
        else:
            bodies = {"": self._body(rule, path, vocabulary, notes)}
        names = self._names(rule, controllers)
        exempt = self._exceptions(names, found, root)
        within = namespace_of(found, namespaced=bool(scope.namespace))
        actions = settings.actions(self._spec, rule.get("validate") or {}, path, within)
        shared = (matched, self._common, exempt, condition, context)
        result = []
        for suffix, own in bodies.items():
            whole = _without_unused(_joined(*shared, own))
            reading = root.reads.added_to(whole)
            spec = readable(reading, authored=kind in ("cel", "podSecurity"))
            result.append(ConvertedRule(spec, actions, names, notes, suffix))
        return result

    def _body(
        self, rule: JSONObject, path: str, scope: Vocabulary, notes: ImportNotes
    ) -> JSONObject:
        with refusing(path, NotTranslatable):
            if kind_of(rule) == "cel":
                return cel.parts(rule, path, scope.reads, notes)
            if "validate" in rule:
                return {"validations": validate.validations(rule, path, scope, notes)}
            if "mutate" in rule:
                return mutate.parts(rule, path, scope, notes)
        raise Refused(path, "the rule neither validates nor mutates")

    def _scope(
        self,
        rule: JSONObject,
        kind: str,
        ours: operations.Operations,
        resources: Mapping[str, MatchedResource],
        controllers: tuple[str, ...],
    ) -> MatchScope:
        usual: tuple[str, ...] = ("CREATE", "UPDATE")
        if kind in ("deny", "foreach") and not operations.reads_object(
            [rule.get("validate"), rule.get("context"), ours.rest]
        ):
            usual = (*usual, "DELETE")
        usual += tuple(each for each in operations.OPERATIONS if each in ours.named - {*usual})
        metadata = self._policy.get("metadata") or {}
        namespace = (
            metadata.get("namespace") or "default" if self._policy["kind"] == "Policy" else ""
        )
        return MatchScope(
            usual, ours.allowed, resources, "validate" in rule, controllers, namespace
        )

    def _vocabulary(self, found: Sequence[MatchedResource], scope: MatchScope) -> Vocabulary:
        kinds = {each.kind for each in found}
        present = set.intersection(*(set(_PRESENT.get(each, ())) for each in kinds))
        absent = absent_fields(found, namespaced=bool(scope.namespace))
        matched = {
            (group, name): each.kind
            for each in found
            for group in each.groups
            for name in each.resources
        }
        reads = PolicyReads(self._mapper, self._others, matched, scope.namespace)
        return Vocabulary.request(present=tuple(sorted(present)), absent=absent, reads=reads)

    def _exceptions(
        self, names: Sequence[str], found: Sequence[MatchedResource], scope: Vocabulary
    ) -> JSONObject:
        """Return what PolicyExceptions exempt; they also name the rule as Kyverno extended it."""
        kinds = {each.selector.kind for each in found}
        rules: dict[str, set[str]] = {names[0]: kinds & {"Pod"} if len(names) > 1 else kinds}
        cron = autogen.generated_name(names[0], cron=True)
        for each in names[1:]:
            crons = each == cron
            rules[each] = {kind for kind in self._controllers if (kind == "CronJob") is crons}
        return exceptions(self._policy, rules, self._others, scope)

    def _names(self, rule: JSONObject, controllers: Collection[str]) -> tuple[str, ...]:
        name = rule.get("name", "")
        names = [name]
        if set(controllers) - {"CronJob"}:
            names.append(autogen.generated_name(name))
        if "CronJob" in controllers:
            names.append(autogen.generated_name(name, cron=True))
        return tuple(names)


def _preconditions(block: JSON, context: JSON, path: str, scope: Vocabulary) -> JSONObject:
    """Return a match condition; it has no variables, so their values are written into it."""
    if not block:
        return {}
    scope, _ = bound(context, scope, f"{path}.context", inline=True)
    expression = holds(block, scope, f"{path}.preconditions").text
    return {"matchConditions": [{"name": "preconditions", "expression": expression}]}


def _joined(*specs: JSONObject) -> JSONObject:
    """Merge fields of a ``spec``: lists of the same field in order, other fields must be equal."""
    found: JSONObject = {}
    for spec in specs:
        for name, value in spec.items():
            found[name] = [*found.get(name, ()), *value] if isinstance(value, list) else value
    return found


def _without_unused(spec: JSONObject) -> JSONObject:
    """Leave out the variables that no expression uses."""
    while variables := spec.get("variables"):
        text = json.dumps(spec)
        used = [each for each in variables if f"variables.{each['name']}" in text]
        if len(used) == len(variables):
            break
        spec = {**spec, "variables": used}
    return spec


def kind_of(rule: JSONObject) -> str:
    """Return the kind of a rule, as statistics count it."""
    validates = rule.get("validate")
    if isinstance(validates, dict):
        return next((each for each in _VALIDATES if each in validates), "validate")
    mutates = rule.get("mutate")
    if isinstance(mutates, dict):
        found = next((each for each in _MUTATES if mutates.get(each)), "mutate")
        return "mutate foreach" if found == "foreach" else found
    return next((each for each in ("generate", "verifyImages") if each in rule), "")
