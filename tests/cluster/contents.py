"""A fake API server that has objects: discovery, lists in pages, namespaces. No tests here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from policyd.json_types import JSONObject
from tests.cluster.fake import REVIEWS, Call, Reply, refusal, status

READ = ["get", "list", "watch"]
# What it serves: group and version, then resource, kind and whether it is in a namespace.
ServedKinds = Mapping[tuple[str, str], tuple[tuple[str, str, bool], ...]]
SERVED: ServedKinds = {
    ("", "v1"): (
        ("namespaces", "Namespace", False),
        ("pods", "Pod", True),
        ("secrets", "Secret", True),
        ("configmaps", "ConfigMap", True),
        ("events", "Event", True),
    ),
    ("apps", "v1"): (("deployments", "Deployment", True), ("replicasets", "ReplicaSet", True)),
    ("autoscaling", "v1"): (("horizontalpodautoscalers", "HorizontalPodAutoscaler", True),),
    ("autoscaling", "v2"): (("horizontalpodautoscalers", "HorizontalPodAutoscaler", True),),
    ("events.k8s.io", "v1"): (("events", "Event", True),),
    ("example.com", "v1"): (("globes", "Globe", False),),
}
PREFERRED = {"autoscaling": "v2"}


def base(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


@dataclass
class Contents:
    """What is there: objects by the path of the list of all namespaces. ``page`` is the most that
    is sent at once; ``special`` answers first, where it has something to say; ``served`` are the
    kinds.
    """

    objects: dict[str, list[JSONObject]] = field(default_factory=dict)
    page: int = 1000
    special: Callable[[Call], Reply | None] = lambda call: None
    served: ServedKinds = field(default_factory=lambda: SERVED)

    def add(self, path: str, name: str, namespace: str = "", **fields: Any) -> JSONObject:
        """One object, as lists show it: without its type."""
        metadata: JSONObject = {"name": name, **({"namespace": namespace} if namespace else {})}
        metadata |= {"uid": f"uid-{name}", "managedFields": [{"manager": "somebody"}]}
        made = {**fields, "metadata": {**metadata, **fields.get("metadata", {})}}
        self.objects.setdefault(path, []).append(made)
        return made

    def answer(self, call: Call) -> Reply:
        path = urlsplit(call.path).path
        query = dict(parse_qsl(urlsplit(call.path).query))
        special = self.special(call)
        if special is not None:
            return special
        if call.method == "POST" and path == REVIEWS:
            return status(call.body["spec"]["user"] == "alice")
        if call.method != "GET":
            return refusal(405, f"{call.method} is not for readers")
        return self._discovery(path) or self._one(path) or self._list(path, query)

    def _discovery(self, path: str) -> Reply | None:
        if path == "/api":
            return Reply({"kind": "APIVersions", "versions": ["v1"]})
        if path == "/apis":
            groups = sorted({group for group, _ in self.served if group})
            listed = [self._group(each) for each in groups]
            return Reply({"kind": "APIGroupList", "groups": listed})
        for (group, version), resources in self.served.items():
            if path == base(group, version):
                found = [
                    {"name": name, "kind": kind, "namespaced": namespaced, "verbs": READ}
                    for name, kind, namespaced in resources
                ]
                found.append(
                    {"name": "pods/log", "kind": "Pod", "namespaced": True, "verbs": ["get"]}
                )
                found.append(
                    {"name": "bindings", "kind": "Binding", "namespaced": True, "verbs": ["create"]}
                )
                return Reply({"kind": "APIResourceList", "resources": found})
        return None

    def _one(self, path: str) -> Reply | None:
        folder, _, name = path.rpartition("/")
        prefix, inside, rest = folder.partition("/namespaces/")
        namespace, _, resource = rest.partition("/")
        if not resource and folder not in self._of_the_cluster():
            return None
        for each in self.objects.get(f"{prefix}/{resource}" if inside else folder, ()):
            metadata = each["metadata"]
            if metadata["name"] == name and metadata.get("namespace", "") == namespace:
                return Reply({**each, **self._typed(folder)})
        return refusal(404, f'"{name}" not found')

    def _of_the_cluster(self) -> set[str]:
        """The lists of resources that are in no namespace."""
        return {
            f"{base(*version)}/{name}"
            for version, kinds in self.served.items()
            for name, _, namespaced in kinds
            if not namespaced
        }

    def _list(self, path: str, query: JSONObject) -> Reply:
        prefix, inside, rest = path.partition("/namespaces/")
        namespace, _, resource = rest.partition("/")
        whole = f"{prefix}/{resource}" if inside else path
        found = [
            each
            for each in self.objects.get(whole, ())
            if not inside or each["metadata"].get("namespace") == namespace
        ]
        size = min(int(query.get("limit", self.page)), self.page)
        start = int(query.get("continue") or 0)
        part, rest_of = found[start : start + size], len(found) - start - size
        metadata: JSONObject = {"resourceVersion": "7"}
        if rest_of > 0:
            metadata |= {"continue": str(start + size), "remainingItemCount": rest_of}
        return Reply({"kind": "List", "metadata": metadata, "items": part})

    def _typed(self, listed: str) -> JSONObject:
        """The kind of the objects that are listed at a path, as an object alone shows it."""
        resource = listed.rpartition("/")[2]
        kinds = (each for served in self.served.values() for each in served)
        return {"kind": next(kind for name, kind, _ in kinds if name == resource)}

    def _group(self, name: str) -> JSONObject:
        versions = [
            {"version": version, "groupVersion": f"{group}/{version}"}
            for group, version in self.served
            if group == name
        ]
        preferred = PREFERRED.get(name, versions[0]["version"])
        chosen = next(each for each in versions if each["version"] == preferred)
        return {"name": name, "versions": versions, "preferredVersion": chosen}
