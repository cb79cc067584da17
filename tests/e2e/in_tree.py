"""The same policies inside the API server and in policyd, each for namespaces of its own. No tests here."""

import copy
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import ADMISSION, rule
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import make_namespace
from tests.e2e.webhook import registered, serving, write
from tests.server.process import until

TREE, HOOK = "tree", "hook"
ALL = "all"


@contextmanager
def both(
    api: Cluster,
    client: Client,
    documents: Sequence[JSONObject],
    folder: Path,
    called: str = "",
    *,
    others: Sequence[JSONObject] = (),
    **settings: str,
) -> Iterator[Callable[[str, str], str]]:
    """Policies in force on both sides; gives the namespace of a side and a policy's name.

    In the namespace of one policy only that one applies, in that of ``ALL`` every one does. The
    documents differ in nothing but the side that their bindings select. ``called`` sets the
    namespaces apart from those of other tests; ``others`` are further documents of policyd;
    ``settings`` are flags of ``policyd serve``.
    """
    names = [each["metadata"]["name"] for each in documents if not _is_binding(each)]
    kinds = called + "-".join(sorted({each["kind"].lower()[:3] for each in documents}))

    def namespace(side: str, name: str) -> str:
        return f"{kinds}-{side}-{name}"

    with ExitStack() as stack:
        made = [
            make_namespace(client, namespace(side, name), side=side, kinds=kinds, policy=name)
            for side in (TREE, HOOK)
            for name in [*names, ALL]
        ]
        stack.enter_context(in_force(client, [_selecting(each, TREE) for each in documents]))
        sources = write(
            folder / kinds, [*made, *others, *(_selecting(each, HOOK) for each in documents)]
        )
        server = stack.enter_context(serving(api, [sources], folder / f"{kinds}.log", **settings))
        selected = {"matchLabels": {"side": HOOK, "kinds": kinds}}
        probed = namespace(HOOK, ALL)
        stack.enter_context(registered(api, server, probed, namespaceSelector=selected))
        yield namespace


def _is_binding(document: JSONObject) -> bool:
    return str(document["kind"]).endswith("Binding")


def _selecting(document: JSONObject, side: str) -> JSONObject:
    """A binding held to the namespaces of its side and policy; policies as they are."""
    if not _is_binding(document):
        return document
    narrowed = copy.deepcopy(document)
    policies = [document["spec"]["policyName"], ALL]
    narrowed["spec"].setdefault("matchResources", {})["namespaceSelector"] = {
        "matchLabels": {"side": side},
        "matchExpressions": [{"key": "policy", "operator": "In", "values": policies}],
    }
    return narrowed


@contextmanager
def in_force(client: Client, documents: Sequence[JSONObject]) -> Iterator[None]:
    """Documents applied to the API server, from when it uses them until they are deleted."""
    kind = next(each["kind"] for each in documents if not _is_binding(each))
    marker = Marker(kind)
    ordered = sorted([*documents, *marker.documents()], key=_is_binding)
    with ExitStack() as stack:
        for each in ordered:
            client.made(each)
            stack.callback(client.deleted, each)
        # The marker is the last of its kind: once it acts, so do the others.
        until(partial(marker.acts, client), f"{kind} in force")
        yield


@dataclass(frozen=True)
class Marker:
    """A policy that denies, or labels, the ConfigMaps of its own name. Each has a new name: one that was
    deleted may act a moment longer.
    """

    kind: str
    name: str = field(default_factory=lambda: f"zz-marker-{secrets.token_hex(4)}")

    def documents(self) -> list[JSONObject]:
        expression = "[JSONPatch{op: 'add', path: '/data', value: {'marked': 'yes'}}]"
        acts: JSONObject = {"validations": [{"expression": "false"}]}
        bound: JSONObject = {"policyName": self.name, "validationActions": ["Deny"]}
        if self.kind == "MutatingAdmissionPolicy":
            patch = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
            acts = {"mutations": [patch], "reinvocationPolicy": "Never", "failurePolicy": "Fail"}
            bound = {"policyName": self.name}
        constraints = {
            "resourceRules": [rule("configmaps")],
            "objectSelector": {"matchLabels": {"marker": self.name}},
        }
        spec = {"matchConstraints": constraints, **acts}
        metadata = {"name": self.name}
        return [
            {"apiVersion": ADMISSION, "kind": kind, "metadata": metadata, "spec": each}
            for kind, each in ((self.kind, spec), (f"{self.kind}Binding", bound))
        ]

    def acts(self, client: Client) -> bool:
        marking = config_map("marker", "default")
        marking["metadata"]["labels"] = {"marker": self.name}
        answer = client.create(marking, dryRun="All")
        return answer.status == 422 or "marked" in answer.body.get("data", {})


def stored(thing: Any) -> Any:
    """An object without what no two creations have in common."""
    metadata = {
        key: value
        for key, value in thing["metadata"].items()
        if key not in ("uid", "creationTimestamp", "resourceVersion", "namespace")
    }
    managed = [
        {key: value for key, value in each.items() if key != "time"}
        for each in metadata.pop("managedFields", [])
    ]
    return {**thing, "metadata": {**metadata, "managedFields": managed}}
