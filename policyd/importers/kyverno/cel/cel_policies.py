"""ValidatingPolicy and MutatingPolicy of policies.kyverno.io, and their Namespaced kinds.

They are ValidatingAdmissionPolicies and MutatingAdmissionPolicies with some fields and functions
more. Fields: Kyverno api/policies.kyverno.io/v1/validating_policy.go and mutating_policy.go; the
fields of v1alpha1 and v1beta1 are the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from policyd.export.expressions.literals import string_literal
from policyd.importers.expressions.readable import readable
from policyd.importers.fields import items, object_at, objects, require_fields
from policyd.importers.kyverno import settings as kyverno
from policyd.importers.kyverno.cel.exceptions import exceptions_for
from policyd.importers.kyverno.cel.patches import joined_patches
from policyd.importers.kyverno.cel.rewriting import Rewriting, params_in
from policyd.importers.kyverno.cel.validations import (
    audit_annotations,
    bound_variables,
    conditions,
    guarded,
    validations,
)
from policyd.importers.kyverno.shape import cel_policy
from policyd.importers.model import Imported, ImportedDocument, ImportNotes, Refused
from policyd.importers.policies import ACTIONS, in_effect, policy, whole
from policyd.importers.reads import PolicyReads, mapper_of
from policyd.json_types import JSONObject, strings_in
from policyd.policy.source.loaded_documents import Document

_COMMON = (
    "matchConstraints",
    "matchConditions",
    "variables",
    "failurePolicy",
    "webhookConfiguration",
    "evaluation",
    "autogen",
)
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "ValidatingPolicy": (*_COMMON, "validations", "auditAnnotations", "validationActions"),
    "MutatingPolicy": (*_COMMON, "mutations", "reinvocationPolicy", "targetMatchConstraints"),
}
_PATCHES = ("applyConfiguration", "jsonPatch")
_NAMESPACED = "Namespaced"
# The controllers whose rules Kyverno generates from one for Pods (pkg/cel/autogen/config.go).
_KINDS: Mapping[str, str] = {
    "daemonsets": "DaemonSet",
    "deployments": "Deployment",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
    "jobs": "Job",
    "cronjobs": "CronJob",
}
_EVALUATION = ("mode", "admission", "background", "mutateExisting")


def convert(document: Document, others: Sequence[Document]) -> list[Imported]:
    """Return what became of one policy; ``others`` are all documents of the sources."""
    kind = document.kind.removeprefix(_NAMESPACED)
    return [whole(document, kind, lambda n: _Conversion(document, kind, others, n).converted())]


class _Conversion:
    def __init__(
        self, document: Document, kind: str, others: Sequence[Document], notes: ImportNotes
    ) -> None:
        self._document = replace(document, raw=cel_policy(document.raw))
        self._others = others
        self._kind = kind
        self._namespaced = document.kind.startswith(_NAMESPACED)
        self._spec: JSONObject = self._document.raw["spec"]
        self._notes = notes

    def converted(self) -> list[ImportedDocument]:
        """Return the Policy; raises Refused."""
        spec = self._spec
        require_fields(spec, _FIELDS[self._kind], "spec")
        _check_evaluation(spec, self._notes)
        if spec.get("targetMatchConstraints"):
            text = "it changes other objects than that of the request"
            raise Refused("spec.targetMatchConstraints", text)
        metadata, description = kyverno.metadata(self._document.raw)
        found: JSONObject = {"description": " ".join(description.split())}
        found["matchConstraints"] = self._constraints()
        controllers = _pod_controllers(spec, self._notes)
        found["podControllers"] = bool(controllers)
        param = self._param()
        within = (self._document.namespace or "default") if self._namespaced else ""
        reads = PolicyReads(mapper_of(self._others), self._others, within=within)
        rewriting = Rewriting(
            pods=bool(controllers) or _pods_only_resources(spec),
            allowed={"allowedValues": "[]", "allowedImages": "[]"},
            param=param,
            reads=reads,
        )
        exempt, rewriting = exceptions_for(self._document, self._others, rewriting, self._notes)
        variables, rewriting = bound_variables(spec, "spec", rewriting)
        own = conditions(spec, "matchConditions", "spec", rewriting)
        found["matchConditions"] = [*self._conditions(controllers), *exempt.conditions, *own.early]
        found |= param
        found["variables"] = [*exempt.variables, *variables]
        found["failurePolicy"] = spec.get("failurePolicy")
        webhook = object_at(spec, "webhookConfiguration", "spec", ("timeoutSeconds",))
        found["timeoutSeconds"] = webhook.get("timeoutSeconds")
        found |= self._body(rewriting)
        checks = found.get("validations") or []
        more = bool(found.get("auditAnnotations"))
        checks, variables = guarded(checks, found["variables"], own, more=more)
        found |= {"validations": checks, "variables": variables}
        found["exceptions"] = exempt.exceptions
        kept = reads.added_to({field: value for field, value in found.items() if value})
        written = readable(kept, authored=True)
        return [policy(self._document.name, metadata, written)]

    def _body(self, rewriting: Rewriting) -> JSONObject:
        spec = self._spec
        if self._kind == "MutatingPolicy":
            mutations = [
                self._mutation(each, path, rewriting)
                for each, path in items(spec, "mutations", "spec", ("patchType", *_PATCHES))
            ]
            mutations = joined_patches(mutations, rewriting.variables)
            return {"mutations": mutations, "reinvocationPolicy": spec.get("reinvocationPolicy")}
        return {
            "validationActions": _actions(spec, self._notes),
            "validations": validations(spec, "validations", "spec", rewriting, self._notes),
            "auditAnnotations": audit_annotations(spec, "spec", rewriting),
        }

    def _mutation(self, given: JSONObject, path: str, rewriting: Rewriting) -> JSONObject:
        found: JSONObject = {"patchType": given.get("patchType")}
        for form in _PATCHES:
            if given.get(form) is not None:
                held = object_at(given, form, path, ("expression",))
                said = rewriting.field(held, "expression", f"{path}.{form}")
                found[form] = {"expression": said}
        return found

    def _constraints(self) -> JSONObject:
        given = object_at(self._spec, "matchConstraints", "spec")
        found = {key: value for key, value in given.items() if value not in (None, {}, [])}
        if self._namespaced:  # a Namespace is not in the namespace of its name
            rules = objects(found.get("resourceRules"), "spec.matchConstraints.resourceRules")
            found["resourceRules"] = [{**each, "scope": "Namespaced"} for each in rules]
        return found

    def _conditions(self, controllers: tuple[str, ...]) -> Iterator[JSONObject]:
        """Yield the conditions that leave out other controllers and, since a Namespaced kind is
        about the objects of its own namespace, other namespaces.
        """
        if 0 < len(controllers) < len(_KINDS):
            listed = ", ".join(f"'{kind}'" for kind in ("Pod", *controllers))
            yield {"name": "controllers", "expression": f"request.kind.kind in [{listed}]"}
        if self._namespaced:
            namespace = self._document.namespace or "default"
            test = f"request.namespace == {string_literal(namespace)}"
            yield {"name": "own-namespace", "expression": test}

    def _param(self) -> JSONObject:
        """Return paramKind and paramRef, if all that expressions get is one object: if it is not
        there, that is an error, and expressions that compare it with null need a read.
        """
        found = params_in(self._spec)
        asked = any("null" in text for text in strings_in(self._spec))
        return found[0] if len(found) == 1 and not asked else {}


def _pod_controllers(spec: JSONObject, notes: ImportNotes) -> tuple[str, ...]:
    """Return the kinds of controllers that ``spec.autogen`` names; without it, policies for Pods
    are for all of them, whose deletion is not checked.
    """
    known = ("podControllers", "validatingAdmissionPolicy", "mutatingAdmissionPolicy")
    autogen = object_at(spec, "autogen", "spec", known)
    own = object_at(autogen, "podControllers", "spec.autogen", ("controllers",))
    given = own.get("controllers")
    if not _only_pods(spec) or given == []:
        return ()
    kinds = tuple(_KINDS[name] for name in _KINDS if given is None or name in given)
    [rule] = spec["matchConstraints"]["resourceRules"]
    if kinds and {"DELETE", "CONNECT", "*"} & {*rule.get("operations", ())}:
        text = "for controllers it applies on CREATE and UPDATE only"
        notes.remark("spec.matchConstraints.resourceRules[0].operations", text)
    return kinds


def _only_pods(spec: JSONObject) -> bool:
    """Whether Kyverno generates rules for controllers: one rule for ``pods``, and no selector of
    objects (pkg/cel/autogen/support.go).
    """
    match = spec.get("matchConstraints") or {}
    selector = match.get("objectSelector") or {}
    if selector.get("matchLabels") or selector.get("matchExpressions"):
        return False
    rules = match.get("resourceRules") or []
    if match.get("excludeResourceRules") or len(rules) != 1 or rules[0].get("resourceNames"):
        return False
    [rule] = rules
    found = (rule.get("apiGroups"), rule.get("apiVersions"), rule.get("resources"))
    return found == ([""], ["v1"], ["pods"])


def _pods_only_resources(spec: JSONObject) -> bool:
    """Whether every rule names Pods: their sub-resources may be named too."""
    rules = (spec.get("matchConstraints") or {}).get("resourceRules") or []
    named = {each for rule in rules for each in rule.get("resources", ())}
    groups = {each for rule in rules for each in rule.get("apiGroups", ())}
    return groups == {""} and named <= {"pods", "pods/ephemeralcontainers"}


def _check_evaluation(spec: JSONObject, notes: ImportNotes) -> None:
    """Raise Refused for policies that ``spec.evaluation`` does not evaluate at admission."""
    given = object_at(spec, "evaluation", "spec", _EVALUATION)
    here = "spec.evaluation"
    mode = given.get("mode") or "Kubernetes"
    if mode != "Kubernetes":
        text = f"policies of mode {mode} are about other data than requests of an API server"
        raise Refused(f"{here}.mode", text)
    if _enabled(given, "mutateExisting", here) is True:
        text = "it changes objects that exist already; a webhook changes the object of a request"
        raise Refused(f"{here}.mutateExisting", text)
    if _enabled(given, "admission", here) is False:
        text = "it is not evaluated at admission, but only in scans"
        raise Refused(f"{here}.admission", text)
    if _enabled(given, "background", here) is False:
        notes.remark(f"{here}.background", kyverno.SCANNED, scans=True)


def _actions(spec: JSONObject, notes: ImportNotes) -> list[str]:
    """Return ``validationActions``; Deny if there are none, as in Kyverno."""
    given = spec.get("validationActions") or ["Deny"]
    for unknown in set(given) - set(ACTIONS):
        raise Refused("spec.validationActions", f"the action {unknown} is not known here")
    return in_effect(given, "spec.validationActions", notes)


def _enabled(given: JSONObject, field: str, path: str) -> object:
    return object_at(given, field, path, ("enabled",)).get("enabled")
