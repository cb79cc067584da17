"""Plan what a run creates: namespaces, policies limited to them, markers. Creates nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policyd.export.model import ExportedPart, ExportedPolicy
from policyd.json_types import JSONObject
from policyd.policy.model.suite import Webhook
from tools.crossover.limiting import limited, namespace_selector
from tools.crossover.model import Arrangement

LABEL = "policyd.dev/crossover"  # of everything that a run creates; its value is the run
MARKER = "policyd.dev/crossover-marker"
GROUP = "admissionregistration.k8s.io"
PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "Namespace": "namespaces",
}
_LONGEST_NAME = 253
WEBHOOKS: tuple[Webhook, ...] = ("validate", "mutate")
# Fails for the marker object, which has no data: it is evaluated after everything else matched.
_PATCH = "[JSONPatch{op: 'remove', path: '/data'}]"
_FAILS = {"name": "marker", "expression": "object.data.nothing == ''"}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of a policy that is not measured, and why."""

    policy: str
    webhook: Webhook
    why: str


@dataclass(frozen=True, slots=True)
class CrossoverPlan:
    """What a run creates, in this order, webhook configurations apart."""

    run: str
    arrangements: tuple[Arrangement, ...]
    namespaces: tuple[JSONObject, ...]
    documents: tuple[JSONObject, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def name(self) -> str:
        """Return the name of its webhook configurations, and the beginning of all other names."""
        return name_of(self.run)

    def of(self, webhook: Webhook) -> Arrangement | None:
        """Return the arrangement in which policyd is called at this webhook."""
        found = [a for a in self.arrangements if (a.engine, a.webhook) == ("webhook", webhook)]
        return found[0] if found else None


def name_of(run: str) -> str:
    """Return the beginning of the names of everything that a run creates."""
    return f"crossover-{run}"


def planned(
    exports: Sequence[ExportedPolicy], run: str, *, served: frozenset[str], webhook: bool
) -> CrossoverPlan:
    """Plan a run. ``served`` are the kinds of policies that the cluster serves, as
    ``apiVersion/kind``; with ``webhook`` policyd is called for the same policies.
    """
    arrangements = [Arrangement("none", None, f"{name_of(run)}-none")]
    documents: list[JSONObject] = []
    left_out: list[LeftOut] = []
    for each in WEBHOOKS:
        in_tree = f"{name_of(run)}-{each}-in-tree"
        chosen: dict[str, tuple[JSONObject, ...]] = {}
        for policy in exports:
            for part in (part for part in policy.parts if part.webhook == each):
                why = _why_not(part, in_tree, served)
                if why:
                    left_out.append(LeftOut(policy.name, each, why))
                else:
                    chosen[policy.name] = part.documents
        if not chosen:
            continue
        arrangements.append(Arrangement("in-tree", each, in_tree, tuple(chosen)))
        documents += placed_documents([d for part in chosen.values() for d in part], run, in_tree)
        if webhook:
            called = f"{name_of(run)}-{each}-webhook"
            arrangements.append(Arrangement("webhook", each, called, tuple(chosen)))
    namespaces = [namespace_object(each.namespace, run) for each in arrangements]
    # Bindings last: what is created last, the markers', is the last that comes into force.
    documents.sort(key=lambda each: each["kind"].endswith("Binding"))
    return CrossoverPlan(
        run, tuple(arrangements), tuple(namespaces), tuple(documents), tuple(left_out)
    )


def namespace_object(name: str, run: str) -> JSONObject:
    """Return a namespace of a run."""
    return _labelled("v1", "Namespace", name, run)


def placed_documents(
    documents: Sequence[JSONObject], run: str, namespace: str
) -> Iterator[JSONObject]:
    """Yield policies and bindings under names of their own, limited to a namespace, and markers.

    Labels and annotations stay behind: nothing must take these for the policies themselves.
    """
    names = {
        each["metadata"]["name"]: _named(run, number, each["metadata"]["name"])
        for number, each in enumerate(documents)
        if not each["kind"].endswith("Binding")
    }
    for number, each in enumerate(documents):
        held = limited(each, [namespace])
        assert held is not None
        spec, name = dict(held["spec"]), names.get(each["metadata"]["name"], "")
        if each["kind"].endswith("Binding"):
            spec["policyName"] = names[spec["policyName"]]
            name = _named(run, number, each["metadata"]["name"])
        yield {**_labelled(each["apiVersion"], each["kind"], name, run), "spec": spec}
    yield from _markers(documents[0], run, namespace)


def path_of(document: JSONObject) -> str:
    """Return the path of the list for an object that a run creates."""
    version = document["apiVersion"]
    base = f"apis/{version}" if "/" in version else f"api/{version}"
    return f"{base}/{PLURALS[document['kind']]}"


def marker_object() -> JSONObject:
    """Return the ConfigMap that is refused where all policies of a namespace are in force."""
    metadata = {"name": "crossover-marker", "labels": {MARKER: "true"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def marker_match(namespace: str) -> JSONObject:
    """Return what matches the marker object: fields of policies and of webhooks."""
    return {
        "namespaceSelector": namespace_selector([namespace]),
        "objectSelector": {"matchLabels": {MARKER: "true"}},
    }


MARKER_RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
    "scope": "Namespaced",
}
MARKER_CONDITIONS = (_FAILS,)


def _why_not(part: ExportedPart, namespace: str, served: frozenset[str]) -> str:
    """Return why a part cannot be measured; empty if it can."""
    if part.reasons:
        return "; ".join(f"{each.path}: {each.message}" for each in part.reasons)
    for document in part.documents:
        kind = f"{document['apiVersion']}/{document['kind']}"
        if kind not in served:
            return f"the cluster does not serve {kind}"
        if limited(document, [namespace]) is None:
            return "it matches cluster-scoped objects only, and a run is limited to namespaces"
        reference = document["spec"].get("paramRef")
        if reference and not reference.get("namespace"):
            return "its paramRef names no namespace, and the namespaces of a run have no parameters"
    return ""


def _markers(like: JSONObject, run: str, namespace: str) -> Iterator[JSONObject]:
    """Yield a policy of the same kind that fails for the marker object, and its binding."""
    kind, name = like["kind"], _named(run, "marker", like["kind"].lower())
    spec: JSONObject = {
        "failurePolicy": "Fail",
        "matchConstraints": {**marker_match(namespace), "resourceRules": [MARKER_RULE]},
        "matchConditions": list(MARKER_CONDITIONS),
    }
    bound: JSONObject = {"policyName": name}
    if kind == "MutatingAdmissionPolicy":
        patch = {"patchType": "JSONPatch", "jsonPatch": {"expression": _PATCH}}
        spec |= {"mutations": [patch], "reinvocationPolicy": "Never"}
    else:
        spec["validations"] = [{"expression": "false"}]
        bound["validationActions"] = ["Deny"]
    yield {**_labelled(like["apiVersion"], kind, name, run), "spec": spec}
    yield {**_labelled(like["apiVersion"], f"{kind}Binding", name, run), "spec": bound}


def _named(run: str, number: int | str, name: str) -> str:
    return f"{name_of(run)}-{number}-{name}"[:_LONGEST_NAME].rstrip("-.")


def _labelled(api_version: str, kind: str, name: str, run: str) -> JSONObject:
    metadata = {"name": name, "labels": {LABEL: run}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}
