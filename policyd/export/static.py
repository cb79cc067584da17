"""Make exported documents fit for manifest-based admission control (KEP-5793), in which the API
server reads them from files on its disk instead of its store. Writes no file.

The rules are the ones of Kubernetes 1.37, in k8s.io/apiserver ``pkg/admission/plugin``:

- ``manifest/validation.go``: names are unique and end in ``.static.k8s.io``.
- ``policy/manifest/loader/loader.go``: no paramKind, no paramRef; a binding refers to a policy of
  the same directory, and a directory holds policies of one admission plugin.
- ``policy/config/apis/policyconfig/v1/types.go``: only ``admissionregistration.k8s.io/v1``.
- ``policy/generic/plugin.go``: Dispatch. Unlike policies in the store, policies in files are also
  evaluated for requests about admission policies and their bindings.

kubernetes ``pkg/admission/plugin/policy/manifest/loader`` decodes strictly and validates as for a
request. One invalid file keeps the API server from starting, so everything is checked here.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from policyd.errors import ConfigError
from policyd.export.model import ExportedPart, ExportedPolicy, Reason
from policyd.json_types import JSON, JSONObject
from policyd.policy.model.kinds import ADMISSION_GROUP
from policyd.policy.model.match import covers
from policyd.policy.model.names import STATIC_SUFFIX
from policyd.policy.model.suite import Webhook
from policyd.versions import KubernetesVersion

# The directory of each admission plugin: it may hold no others' documents.
DIRECTORIES: Mapping[Webhook, str] = {"validate": "validating", "mutate": "mutating"}
SINCE = KubernetesVersion(1, 36)

_API_VERSION = f"{ADMISSION_GROUP}/v1"
_MAX_NAME = 253  # of a DNS subdomain, which the names of policies and bindings are
# Requests about these reach a static policy but no other policy, and no webhook.
_ADMISSION = tuple(
    f"{mood}admission{kind}"
    for mood in ("validating", "mutating")
    for kind in ("policies", "policybindings")
)


def static(
    policies: Sequence[ExportedPolicy], version: KubernetesVersion
) -> tuple[ExportedPolicy, ...]:
    """Return the policies with documents for files on the control plane, or why not.

    Raises ConfigError for a version of Kubernetes that reads no such files.
    """
    if version < SINCE:
        raise ConfigError(
            f"Kubernetes {version} has no manifest-based admission control: it came with {SINCE}"
        )
    taken = Counter(
        (document["kind"], static_name(_name(document)))
        for policy in policies
        for document in policy.documents
    )
    twice = {name for name, count in taken.items() if count > 1}
    return tuple(
        replace(policy, parts=tuple(_part(part, twice) for part in policy.parts))
        for policy in policies
    )


def static_name(name: str) -> str:
    """Return the name of a policy or binding in a file."""
    return name if name.endswith(STATIC_SUFFIX) else f"{name}{STATIC_SUFFIX}"


def _part(part: ExportedPart, twice: set[tuple[str, str]]) -> ExportedPart:
    reasons = [each for document in part.documents for each in _reasons(document, twice)]
    if reasons:
        return part.refused(dict.fromkeys(reasons))
    remarks = [*part.remarks]
    documents = []
    for document in part.documents:
        made = _renamed(document)
        if not _is_binding(document):
            seen, hidden = _of_admission(document)
            made = _excluding(made, hidden)
            remarks += [_reaches(seen)] if seen else []
        documents.append(made)
    return replace(part, documents=tuple(documents), remarks=tuple(remarks))


def _reasons(document: JSONObject, twice: set[tuple[str, str]]) -> Iterator[Reason]:
    """Yield what the API server would not load from a file."""
    spec, metadata, name = document["spec"], document["metadata"], _name(document)
    shown = f"{document['kind']} {name}"
    if document["apiVersion"] != _API_VERSION:
        found = document["apiVersion"]
        yield Reason("apiVersion", f"a static manifest is of {_API_VERSION}, not of {found}")
    made = static_name(name)
    if (document["kind"], made) in twice:
        yield Reason("metadata.name", f"another {document['kind']} becomes {made}, too")
    if len(made) > _MAX_NAME:
        message = f"{made} has {len(made)} characters, more than {_MAX_NAME}"
        yield Reason(
            "metadata.name", f"the name of a static manifest ends in {STATIC_SUFFIX}: {message}"
        )
    if spec.get("paramKind") is not None:
        message = "a static manifest has no parameters, because it must not depend on objects"
        yield Reason("spec.paramKind", message)
    if spec.get("paramRef") is not None:
        yield Reason("spec.paramRef", f"a static manifest has no parameters ({shown})")
    if metadata.get("namespace"):
        message = "the API server does not start with a namespace in a static manifest"
        yield Reason("metadata.namespace", f"{message} ({shown})")


def _renamed(document: JSONObject) -> JSONObject:
    """Return the document with the names of static manifests."""
    metadata = {**document["metadata"], "name": static_name(_name(document))}
    spec = document["spec"]
    if _is_binding(document):
        spec = {**spec, "policyName": static_name(spec["policyName"])}
    return {**document, "metadata": metadata, "spec": spec}


def _of_admission(document: JSONObject) -> tuple[list[str], list[str]]:
    """Return the resources of admission policies that the rules of a policy name, and those that
    they only reach by wildcards.
    """
    named: set[str] = set()
    reached: set[str] = set()
    match = document["spec"].get("matchConstraints") or {}
    for rule in match.get("resourceRules") or ():
        if not covers(rule["apiGroups"], ADMISSION_GROUP):
            continue
        for pattern in rule["resources"]:
            resource = pattern.partition("/")[0]
            if resource == "*":
                reached |= {*_ADMISSION}
            elif resource in _ADMISSION:
                named.add(resource)
    order = [each for each in _ADMISSION if each in named]
    return order, [each for each in _ADMISSION if each in reached - named]


def _excluding(document: JSONObject, resources: Sequence[str]) -> JSONObject:
    """Return the policy without requests about these resources, for which it is evaluated nowhere
    else.
    """
    if not resources:
        return document
    rule: dict[str, JSON] = {
        "apiGroups": [ADMISSION_GROUP],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": [pattern for each in resources for pattern in (each, f"{each}/*")],
    }
    match = document["spec"]["matchConstraints"]
    excluded = [*(match.get("excludeResourceRules") or ()), rule]
    constraints = {**match, "excludeResourceRules": excluded}
    return {**document, "spec": {**document["spec"], "matchConstraints": constraints}}


def _reaches(resources: Sequence[str]) -> Reason:
    listed = ", ".join(resources)
    message = f"a static policy is the only one that is evaluated for requests about {listed}"
    return Reason("spec.matchConstraints.resourceRules", message)


def _is_binding(document: JSONObject) -> bool:
    return str(document["kind"]).endswith("Binding")


def _name(document: JSONObject) -> str:
    return str(document["metadata"]["name"])
