"""The same requests to the API server with its own policies, and through policyd's webhooks. No tests here.

Unlike in ``tests.e2e.in_tree``, one side is in force after the other, so that namespaces and documents are
the same on both.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.e2e.client import MERGE, Answer, Client, path_of
from tests.e2e.cluster import Cluster
from tests.e2e.differential.asking import Question, is_binding
from tests.e2e.differential.comparing import Seen, in_words_of_kubernetes
from tests.e2e.in_tree import Marker
from tests.e2e.kubectl import kubeconfig_document
from tests.e2e.webhook import registered, serving, write
from tests.server.process import until


def both_sides(
    api: Cluster,
    client: Client,
    questions: Sequence[Question],
    folder: Path,
    *,
    tree: Sequence[JSONObject],
    hook: Sequence[JSONObject],
    named: Mapping[str, str] | None = None,
) -> dict[str, tuple[Seen, Seen]]:
    """What each question gets by row: from the API server with the documents ``tree``, and through a
    policyd that serves ``hook``. ``named`` are the names of policies in ``tree``, each with that of
    the policy in ``hook`` that it stands for; without it they are the same.
    """
    with through_webhooks(api, client, hook, folder):
        by_hook = ask(api, client, questions)
    with in_tree(client, tree):
        by_tree = ask(api, client, questions)
    logs = audited(api, [*by_tree.values(), *by_hook.values()])

    def seen(answer: Answer, policies: Mapping[str, str]) -> Seen:
        return in_words_of_kubernetes(answer, logs[answer.audit_id], policies)

    found = {}
    for each in questions:
        own = {name: name for name in each.policies}
        others = own if named is None else of(each.policies, named)
        found[each.row] = (seen(by_tree[each.row], others), seen(by_hook[each.row], own))
    return found


def of(policies: Iterable[str], named: Mapping[str, str]) -> dict[str, str]:
    """The names that stand for one of the policies."""
    wanted = set(policies)
    return {name: policy for name, policy in named.items() if policy in wanted}


@contextmanager
def through_webhooks(
    api: Cluster, client: Client, documents: Sequence[JSONObject], folder: Path
) -> Iterator[None]:
    """A policyd that serves the documents, called for every request of the cluster until the end."""
    folder.mkdir()
    files = [str(api.folder / name) for name in ("ca.crt", "admin.crt", "admin.key")]
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(kubeconfig_document(api, *files)))
    sources = [write(folder / "policies", documents)]
    log = folder / "policyd.log"
    with serving(api, sources, log, kubeconfig=str(kubeconfig)) as server:
        with registered(api, server, "default", namespaceSelector={}):
            yield

        def uncalled() -> bool:
            before = answered(server.get("/metrics")[1])
            client.create(config_map("probe", "default"), dryRun="All")
            return answered(server.get("/metrics")[1]) == before

        until(uncalled, "no more calls")


def answered(exposition: str) -> list[str]:
    """The counts of answered requests."""
    lines = exposition.splitlines()
    return [each for each in lines if each.startswith("policyd_admission_requests_total{")]


@contextmanager
def in_tree(client: Client, documents: Sequence[JSONObject]) -> Iterator[None]:
    """The documents in the API server, from when it uses them until it has forgotten them all."""
    markers = [
        Marker(kind)
        for kind in sorted({each["kind"] for each in documents if not is_binding(each)})
    ]
    # The markers are made last and deleted last: when they act, or no longer, so do the others.
    ordered = [
        *sorted(documents, key=is_binding),
        *(each for marker in markers for each in marker.documents()),
    ]

    def forgotten(marker: Marker) -> bool:
        return not marker.acts(client)

    with ExitStack() as stack:
        for marker in markers:
            stack.callback(until, partial(forgotten, marker), f"{marker.kind} forgotten")
        for each in reversed(ordered):
            stack.callback(client.deleted, each)
        for each in ordered:
            client.made(each)
        for marker in markers:
            until(partial(marker.acts, client), f"{marker.kind} in force")
        yield


def ask(api: Cluster, client: Client, questions: Iterable[Question]) -> dict[str, Answer]:
    """The answers by row. ``client`` makes and deletes what has to exist before."""
    answers: dict[str, Answer] = {}
    for headers, group in groupby(questions, key=lambda each: each.headers):
        with closing(Client(api, headers)) as user:
            for each in group:
                answers[each.row] = asked(client, user, each)
    return answers


def asked(client: Client, user: Client, question: Question) -> Answer:
    """The answer to one request, with what it is about there before, and gone after it."""
    body = question.body
    if question.before is None:
        return user.send(question.method, question.path, body, **question.query)
    if question.before["kind"] == "Namespace":  # it is there, and cannot go without a controller
        labels = {"metadata": {"labels": question.before["metadata"].get("labels")}}
        answer = client.send("PATCH", path_of(question.before), labels, MERGE)
        assert answer.status == 200, answer.message
        return user.send(question.method, question.path, body, **question.query)
    made = client.send("POST", question.collection, question.before)
    assert made.status == 201, (question.row, made.message)
    metadata = made.body["metadata"]
    if body is not None and body["kind"] == question.before["kind"]:
        version = metadata["resourceVersion"]
        body = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
    try:
        return user.send(question.method, question.path, body, **question.query)
    finally:
        at = f"{question.collection}/{metadata['name']}"
        if "finalizers" in metadata:  # no controller removes them here
            client.send("PATCH", at, {"metadata": {"finalizers": None}}, MERGE)
        # Jobs and ReplicationControllers would wait for a controller that orphans their Pods.
        client.send("DELETE", at, gracePeriodSeconds="0", propagationPolicy="Background")


def audited(api: Cluster, answers: Sequence[Answer]) -> dict[str, dict[str, str]]:
    """The annotations of each request in the API server's audit log, by its id."""
    wanted = {each.audit_id for each in answers}
    found: dict[str, dict[str, str]] = {}

    def complete() -> bool:
        with (api.folder / "audit.log").open(encoding="utf-8") as log:
            for line in log:
                event: Mapping[str, Any] = json.loads(line) if line.endswith("\n") else {}
                if event.get("auditID") in wanted:
                    found[event["auditID"]] = event.get("annotations", {})
        return found.keys() == wanted

    until(complete, "the audit events")
    return found


def discovered(client: Client, documents: Sequence[JSONObject], probe: JSONObject) -> None:
    """Wait until the API server finds a kind of params: it looks for new kinds every 30 seconds, and
    until then its policies deny everything that they match, such as ``probe``.
    """

    def found() -> bool:
        answer = client.create(probe, dryRun="All")
        return answer.status == 201 or "failed to find resource" not in answer.message

    with in_tree(client, documents):
        with suppress(AssertionError):
            until(found, "the kind of params")
        until(found, "the kind of params, for twice as long")
