"""The documents of policies that the API server enforces: their kinds, paths and marks, and the
kinds that it serves according to discovery. No I/O.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from policyd.export.metadata import POLICY
from policyd.json_types import JSONObject
from policyd.ownership import LABELS, labels_in
from policyd.policy.model.kinds import ADMISSION_GROUP

# Policies before their bindings: a binding without its policy is an error for each request.
RESOURCES = {
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
# The versions of the group that policyd can write, the best one first.
VERSIONS = ("v1", "v1beta1")
# The name of the webhook configurations that the document belongs to: each policyd installation in
# a cluster deletes only its own documents.
REGISTRATION = "policyd.dev/webhooks"

# Kind and name identify a document: all are cluster-scoped.
Key = tuple[str, str]


def key_of(document: JSONObject) -> Key:
    """Return the kind and name."""
    return document["kind"], document["metadata"]["name"]


def is_binding(kind: str) -> bool:
    """Whether documents of the kind are bindings: without one a policy does nothing."""
    return kind.endswith("Binding")


def list_path(kind: str, api_version: str) -> str:
    """Return the path of all documents of a kind."""
    return f"apis/{api_version}/{RESOURCES[kind]}"


def path_of(document: JSONObject) -> str:
    """Return the path of one document."""
    kind, name = key_of(document)
    return f"{list_path(kind, document['apiVersion'])}/{name}"


def policy_of(document: JSONObject) -> Key:
    """Return the key of a binding's policy, or of the policy itself."""
    kind, name = key_of(document)
    if is_binding(kind):
        return kind.removesuffix("Binding"), document["spec"]["policyName"]
    return kind, name


def label_of(key: Key) -> str:
    """Return the name as in kubectl."""
    kind, name = key
    return f"{kind.lower()}.{ADMISSION_GROUP}/{name}"


def annotations_in(document: JSONObject) -> Mapping[str, str]:
    """Return the annotations of a document."""
    return (document.get("metadata") or {}).get("annotations") or {}


def belongs_to(document: JSONObject, registration: str) -> bool:
    """Whether the document was placed for the webhook configurations of this name."""
    return annotations_in(document).get(REGISTRATION) == registration


def placed_documents(
    documents: Iterable[JSONObject], policy: str, registration: str
) -> tuple[JSONObject, ...]:
    """Return the exported documents of a policy with the marks of placed ones."""
    marks = {POLICY: policy, REGISTRATION: registration}
    return tuple(_placed(each, marks) for each in documents)


def _placed(document: JSONObject, marks: Mapping[str, str]) -> JSONObject:
    result = deepcopy(document)
    metadata = result["metadata"]
    metadata["labels"] = {**labels_in(document), **LABELS}
    metadata["annotations"] = {**annotations_in(document), **marks}
    return result


GROUP_PATH = f"apis/{ADMISSION_GROUP}"


@dataclass(frozen=True, slots=True)
class ServedKinds:
    """The best apiVersion of each kind that is served."""

    versions: Mapping[str, str] = field(default_factory=dict)

    def serves(self, document: JSONObject) -> bool:
        """Whether a document can be written as it is."""
        return bool(self.versions.get(document["kind"]) == document["apiVersion"])


def version_paths(group: JSONObject) -> list[str]:
    """Return the paths of the versions to read, from the response at GROUP_PATH."""
    served = {each.get("version") for each in group.get("versions") or ()}
    return [f"{GROUP_PATH}/{version}" for version in VERSIONS if version in served]


def served_kinds(lists: Iterable[JSONObject]) -> ServedKinds:
    """Return the kinds in the responses at these paths, given the best version first."""
    found: dict[str, str] = {}
    for each in lists:
        served = {resource.get("name") for resource in each.get("resources") or ()}
        for kind, resource in RESOURCES.items():
            if resource in served:
                found.setdefault(kind, str(each["groupVersion"]))
    return ServedKinds(found)
