"""The same policies inside the API server and in policyd, each for namespaces of its own. No tests here."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
MARKER = "zz-marker"


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
    ordered = sorted([*documents, *marker(kind)], key=_is_binding)
    with ExitStack() as stack:
        for each in ordered:
            client.made(each)
            stack.callback(client.delete, each)
        # The marker is the last of its kind: once it acts, so do the others.
        until(partial(marked, client, kind), f"{kind} in force")
        yield


def marker(kind: str) -> list[JSONObject]:
    """A policy that denies, or labels, the ConfigMaps of its own name."""
    expression = "[JSONPatch{op: 'add', path: '/data', value: {'marked': 'yes'}}]"
    acts: JSONObject = {"validations": [{"expression": "false"}]}
    bound: JSONObject = {"policyName": MARKER, "validationActions": ["Deny"]}
    if kind == "MutatingAdmissionPolicy":
        patch = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
        acts = {"mutations": [patch], "reinvocationPolicy": "Never", "failurePolicy": "Fail"}
        bound = {"policyName": MARKER}
    constraints = {
        "resourceRules": [rule("configmaps")],
        "objectSelector": {"matchLabels": {"marker": kind}},
    }
    metadata = {"name": MARKER}
    spec = {"matchConstraints": constraints, **acts}
    return [
        {"apiVersion": ADMISSION, "kind": kind, "metadata": metadata, "spec": spec},
        {"apiVersion": ADMISSION, "kind": f"{kind}Binding", "metadata": metadata, "spec": bound},
    ]


def marked(client: Client, kind: str) -> bool:
    """Whether the marker of a kind acts."""
    marking = config_map("marker", "default")
    marking["metadata"]["labels"] = {"marker": kind}
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
