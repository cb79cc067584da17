"""Recorded requests as requests to a real API server. No tests here."""

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from policyd.json_types import JSONObject

# The field of the user's extra by which marked policies know the requests that are for them.
MARK = "case"
SERVER_MADE = ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields")
LOCAL = ("apiVersion", "kind", "path")  # of the options of CONNECT, what is no parameter
METHODS = {"CREATE": "POST", "UPDATE": "PUT", "DELETE": "DELETE", "CONNECT": "POST"}
TEMPLATE: JSONObject = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "web", "image": "web"}]},
}
# What is made so that a subresource of it can be written: its kind, and the rest.
PARENTS: dict[str, tuple[str, JSONObject]] = {
    "pods": ("Pod", {"spec": TEMPLATE["spec"]}),
    "serviceaccounts": ("ServiceAccount", {}),
    "deployments": (
        "Deployment",
        {
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "x"}},
                "template": TEMPLATE,
            }
        },
    ),
}


@dataclass(frozen=True, slots=True)
class Question:
    """One request: what has to exist before it, and who sends what where."""

    row: str
    method: str
    collection: str
    path: str
    body: JSONObject | None
    query: Mapping[str, str]
    headers: tuple[tuple[str, str], ...]
    before: JSONObject | None
    policies: tuple[str, ...] = field(default=())


def question(row: str, review: Mapping[str, Any], policies: Iterable[str]) -> Question:
    """The request that a webhook was sent ``review`` for."""
    resource, name = review["requestResource"], review.get("name", "")
    sub, operation = review.get("requestSubResource", ""), review["operation"]
    collection = collection_of(resource, review.get("namespace"))
    options = review.get("options") or {}
    query = {"dryRun": "All"} if review.get("dryRun") else {}
    if "fieldManager" in options:
        query["fieldManager"] = options["fieldManager"]
    if operation == "CONNECT":  # options such as the container of an exec
        query = {key: value for key, value in review["object"].items() if key not in LOCAL}
    path = collection if operation == "CREATE" and not sub else f"{collection}/{name}"
    old = review["oldObject"]
    if operation == "DELETE" and not name:  # one object of a collection
        path = collection
        labels = old["metadata"].get("labels", {})
        query["labelSelector"] = ",".join(f"{key}={value}" for key, value in labels.items())
    return Question(
        row,
        METHODS[operation],
        collection,
        f"{path}/{sub}" if sub else path,
        sent(review, options),
        query,
        identity(review["userInfo"]),
        existing(review, resource, name, sub),
        tuple(policies),
    )


def sent(review: Mapping[str, Any], options: Mapping[str, Any]) -> JSONObject | None:
    """The body: the object, or the options of a DELETE."""
    if review["operation"] == "DELETE":
        # With a body the API server does not look at the query.
        body = {key: value for key, value in options.items() if key != "preconditions"}
        return {**body, "dryRun": ["All"]} if review.get("dryRun") else body
    if review["object"] is None or review["operation"] == "CONNECT":
        return None
    return bare(review["object"])


def existing(
    review: Mapping[str, Any], resource: Mapping[str, str], name: str, sub: str
) -> JSONObject | None:
    """What has to exist before the request, if it does not anyway."""
    old, namespace = review["oldObject"], review.get("namespace")
    if sub and resource["resource"] in PARENTS and (old is None or old["kind"] == "Scale"):
        kind, rest = PARENTS[resource["resource"]]
        metadata: JSONObject = {"name": name, "namespace": namespace}
        group, version = resource["group"], resource["version"]
        head = {"apiVersion": f"{group}/{version}" if group else version, "kind": kind}
        return {**head, "metadata": metadata, **rest}
    return None if old is None or resource["resource"] == "namespaces" else bare(old)


def collection_of(resource: Mapping[str, str], namespace: str | None) -> str:
    """The path of all objects of a resource."""
    group, version, plural = (resource.get(key, "") for key in ("group", "version", "resource"))
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    if namespace and plural != "namespaces":
        return f"{base}/namespaces/{namespace}/{plural}"
    return f"{base}/{plural}"


def bare(thing: JSONObject) -> JSONObject:
    """An object without what the API server fills in."""
    metadata = thing.get("metadata") or {}
    kept = {key: value for key, value in metadata.items() if key not in SERVER_MADE}
    return {**copy.deepcopy(thing), "metadata": kept}


def identity(user: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The headers by which an administrator acts as a user."""
    headers = [("Impersonate-User", user["username"])]
    # The API server adds this group by itself.
    groups = [each for each in user.get("groups", ()) if each != "system:authenticated"]
    headers += [("Impersonate-Group", each) for each in groups]
    if "uid" in user:
        headers.append(("Impersonate-Uid", user["uid"]))
    for key, values in (user.get("extra") or {}).items():
        headers += [(f"Impersonate-Extra-{quote(key, safe='')}", value) for value in values]
    return tuple(headers)


def is_binding(document: JSONObject) -> bool:
    """Whether it binds a policy."""
    return str(document["kind"]).endswith("Binding")


def marked(document: JSONObject) -> JSONObject:
    """A policy that acts only on requests with its mark: a condition, which comes after all matching."""
    made = copy.deepcopy(document)
    extra = "request.userInfo.extra"
    expression = (
        f"has({extra}) && '{MARK}' in {extra} && "
        f"'{document['metadata']['name']}' in {extra}['{MARK}']"
    )
    condition = {"name": "marked", "expression": expression}
    made["spec"]["matchConditions"] = [condition, *made["spec"].get("matchConditions", ())]
    return made


def marks(policies: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The headers of a request for these policies."""
    for each in policies:
        yield f"Impersonate-Extra-{MARK}", each
