"""When the registration is written and when it must not be, without an API server."""

import asyncio
import copy
from collections.abc import Callable
from io import BytesIO
from typing import Any, cast

import pytest

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.controllers.reconciling import (
    LONGEST_ERROR_SECONDS,
    LONGEST_GONE_SECONDS,
    SPREAD,
)
from policyd.controllers.registration import registrar
from policyd.controllers.registration.configurations import NARROWING_SECONDS, sends_less
from policyd.controllers.registration.registrar import Registration, RegistrationInputs
from policyd.controllers.registration.watched_configurations import WatchedConfigurations
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.observability.metrics.recorder import WRITES
from policyd.webhooks.configuration_paths import RESOURCES, path_of
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress
from policyd.webhooks.validation.decoding import with_defaults
from tests.builders.policies import CONFIG_MAPS, VALIDATION, labelling, policy, rule
from tests.controllers.stored_objects import StoredObjects
from tests.policy_sets import compiled

OPTIONS = RenderOptions(service=ServiceAddress("policyd", "policyd"), namespace="policyd")
VALIDATING, MUTATING = "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"
CHECK = policy("check", CONFIG_MAPS, validations=[VALIDATION])
STAMP = policy("stamp", CONFIG_MAPS, mutations=[labelling("a", "'b'")])
PODS = policy("pods", rule("pods"), validations=[VALIDATION])


class Watched:
    """What WatchedConfigurations would have seen."""

    webhook_name, problem = "policyd", ""
    synced = True

    def __init__(self, stored: StoredObjects) -> None:
        self._stored = stored
        self.late: Callable[[], dict[str, JSONObject]] | None = None

    @property
    def found(self) -> dict[str, JSONObject]:
        return self.now() if self.late is None else self.late()

    def now(self) -> dict[str, JSONObject]:
        paths = {kind: path_of(kind, "policyd") for kind in RESOURCES}
        objects = self._stored.objects
        return {kind: _as_stored(objects[at]) for kind, at in paths.items() if at in objects}


def _as_stored(found: JSONObject) -> JSONObject:
    return {**with_defaults(found), "metadata": found["metadata"]}


class Server:
    """A registration with everything around it."""

    def __init__(self, *policies: JSONObject, options: RenderOptions = OPTIONS) -> None:
        self.stored = StoredObjects()
        self.watched = Watched(self.stored)
        self.holds = True
        self.inputs: RegistrationInputs | str = RegistrationInputs(compiled(*policies), b"")
        self.writes = dict.fromkeys(WRITES, 0)
        self.now = 1000.0
        self.lines = BytesIO()
        self.registration = Registration(
            cast(ObjectClient, self.stored),
            options,
            cast(WatchedConfigurations, self.watched),
            Log(self.lines),
            holds=lambda: self.holds,
            inputs=lambda: self.inputs,
            writes=self.writes,
            clock=lambda: self.now,
        )

    def use(self, *policies: JSONObject) -> None:
        self.inputs = RegistrationInputs(compiled(*policies), b"")

    def once(self) -> float:
        """One pass; seconds until the next."""
        # Each log line is written at once: the stream takes lines as the log's own does.
        return asyncio.run(self.registration.look())

    def kinds(self) -> list[str]:
        return sorted(each["kind"] for each in self.stored.objects.values())


SLICES = "apis/discovery.k8s.io/v1/namespaces/policyd/endpointslices"


def _endpoints(server: Server, *ready: bool) -> None:
    """Let the Service have these endpoints."""
    endpoints = [{"conditions": {"ready": each}} for each in ready]
    server.stored.objects[SLICES] = {"items": [{"endpoints": endpoints}]}


def test_no_webhook_calls_a_service_before_it_leads_to_a_replica() -> None:
    server = Server(CHECK)
    _endpoints(server)
    server.once()
    _endpoints(server, False, False)
    server.once()
    assert not server.watched.now()
    _endpoints(server, False, True)
    assert server.once() == registrar.RETRY_SECONDS
    assert not server.watched.now(), "the nodes do not know the endpoint yet"
    server.now += registrar.KNOWN_SECONDS
    server.once()
    assert list(server.watched.now()) == [VALIDATING]
    _endpoints(server, False)
    server.use(CHECK, STAMP)
    server.once()
    assert sorted(server.watched.now()) == [MUTATING, VALIDATING], "it is called already"


def test_the_owner_is_known_while_webhooks_wait() -> None:
    server = Server(CHECK)
    _endpoints(server)
    server.stored.objects["api/v1/namespaces/policyd"] = {"metadata": {"uid": "u1"}}
    server.once()
    assert not server.watched.now()
    assert asyncio.run(server.registration.owner()) == {"metadata": {"uid": "u1"}}


def test_a_service_that_leads_nowhere_is_a_problem_after_a_minute() -> None:
    server = Server(CHECK)
    _endpoints(server)
    server.once()
    assert not server.registration.problem
    server.now += registrar.UNKNOWN_SECONDS
    server.once()
    assert "the Service policyd/policyd has no ready endpoint" in server.registration.problem
    _endpoints(server, True)
    server.once()
    server.now += registrar.KNOWN_SECONDS
    server.once()
    assert not server.registration.problem
    assert server.watched.now()


@pytest.mark.parametrize("status", [0, 403])
def test_without_knowledge_of_endpoints_webhooks_are_registered(status: int) -> None:
    server = Server(CHECK)
    server.stored.objects[SLICES] = {"items": []}
    if status:
        server.stored.refuse[f"GET {SLICES}"] = ObjectError("no", status, "Forbidden")
    server.once()
    assert server.watched.now()


def test_webhooks_wait_while_the_api_server_does_not_answer_about_endpoints() -> None:
    server = Server(CHECK)
    server.stored.refuse[f"GET {SLICES}"] = ObjectError("no", 503, "Service Unavailable")
    server.once()
    assert not server.watched.now()


def test_configurations_are_deleted_with_the_namespace_of_the_service() -> None:
    server = Server(CHECK)
    namespace = {"kind": "Namespace", "metadata": {"name": "policyd", "uid": "u1"}}
    server.stored.objects["api/v1/namespaces/policyd"] = namespace
    server.once()
    [found] = server.watched.now().values()
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": "policyd", "uid": "u1"}
    assert found["metadata"]["ownerReferences"] == [owner]
    del server.stored.objects[path_of(VALIDATING, "policyd")]["metadata"]["ownerReferences"]
    server.once()
    [found] = server.watched.now().values()
    assert found["metadata"]["ownerReferences"] == [owner], "somebody removed it"


def test_it_writes_once_and_then_nothing() -> None:
    server = Server(CHECK, STAMP)
    server.once()
    assert server.kinds() == [MUTATING, VALIDATING]
    sent = list(server.stored.sent)
    server.once()
    assert server.stored.sent == sent
    assert server.writes == {"success": 2, "error": 0, "conflict": 0}
    mutating = [MUTATING.lower() in each for each in sent if each.startswith("APPLY")]
    assert mutating == [True, False], "mutations are there before validations rely on them"


def test_only_the_holder_writes_and_only_when_it_is_ready() -> None:
    server = Server(CHECK)
    server.holds = False
    server.once()
    server.holds, server.inputs = True, "the server is not listening"
    server.once()
    assert server.stored.sent == []
    assert not server.registration.active


def test_what_is_not_needed_any_more_goes_later() -> None:
    server = Server(CHECK, STAMP)
    server.once()
    server.use(CHECK)
    pause = server.once()
    assert server.kinds() == [MUTATING, VALIDATING]
    assert pause == NARROWING_SECONDS
    server.now += NARROWING_SECONDS - 1
    server.use(CHECK)
    server.once()
    assert server.kinds() == [MUTATING, VALIDATING]
    server.now += 1
    server.once()
    assert server.kinds() == [VALIDATING]


def test_another_holder_narrows_only_after_some_time() -> None:
    server = Server(CHECK, STAMP)
    server.once()
    server.now += 100
    server.use(CHECK)
    server.holds = False
    server.once()
    server.holds = True
    server.once()
    assert server.kinds() == [MUTATING, VALIDATING]


def test_it_never_covers_what_policyd_needs_itself() -> None:
    """Without the namespace in the options, its webhooks would cover it: that is not written."""
    server = Server(PODS)
    server.once()
    assert server.kinds() == [VALIDATING]
    other = Server(PODS)

    def careless(policies: Any, options: Any) -> list[JSONObject]:
        found = render(policies, options)
        for each in found:
            for hook in each["webhooks"]:
                hook["namespaceSelector"] = {}
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registrar, "render", careless)
        other.once()
    assert [each for each in other.stored.sent if not each.startswith("GET")] == []
    assert other.writes["error"] == 1
    assert "validate-fail.policyd.dev would be called for the Pods" in other.registration.problem


def test_errors_are_logged_once_and_tried_again_ever_later() -> None:
    server = Server(CHECK)
    refused = {"message": 'x "policyd" is forbidden: User "u" cannot patch resource "x"'}
    server.stored.refuse["APPLY"] = ObjectError("APPLY x", 403, "Forbidden", refused)
    for _ in range(4):
        server.once()
        server.now += LONGEST_ERROR_SECONDS
    assert server.writes == {"success": 0, "error": 4, "conflict": 0}
    lines = server.lines.getvalue().splitlines()
    assert len(lines) == 1
    assert b'a permission is missing: User \\"u\\" cannot patch resource' in lines[0]
    server.stored.refuse.clear()
    server.once()
    assert server.registration.problem == ""
    assert server.kinds() == [VALIDATING]


def test_a_conflict_is_no_error() -> None:
    server = Server(CHECK)
    server.stored.refuse["APPLY"] = ObjectError("APPLY x", 409, "Conflict")
    assert server.once() <= 1
    assert server.writes["error"] == 0


def test_one_configuration_that_cannot_be_written_keeps_no_other_back() -> None:
    server = Server(CHECK, STAMP)
    path = path_of(MUTATING, "policyd")
    server.stored.refuse[f"APPLY {path}"] = ObjectError("APPLY x", 403, "Forbidden")
    server.once()
    assert server.kinds() == [VALIDATING]
    assert server.registration.problem.startswith(f"cannot write the {MUTATING} policyd: ")


FOREIGN_RULE = {"apiGroups": ["x.dev"], "apiVersions": ["v1"], "resources": ["foos"]}
DISABLED: list[tuple[str, Callable[[JSONObject], object]]] = [
    ("gone", lambda found: found.update(webhooks=[])),
    (
        "rules",
        lambda found: found["webhooks"][0].update(rules=[{**FOREIGN_RULE, "operations": ["*"]}]),
    ),
    ("address", lambda found: found["webhooks"][0].update(clientConfig={"url": "https://x.dev/"})),
]


@pytest.mark.parametrize(
    "disable", [each for _, each in DISABLED], ids=[each for each, _ in DISABLED]
)
def test_policies_that_somebody_disables_are_soon_enforced_again(
    disable: Callable[[JSONObject], object],
) -> None:
    """Helm and GitOps tools reset what manifests made, which has no webhooks; others change
    them.
    """
    server = Server(CHECK)
    server.once()
    policies = cast(RegistrationInputs, server.inputs).policies
    writes = server.writes["success"]
    [wanted] = copy.deepcopy([*server.stored.objects.values()])
    for _ in range(200):
        for each in server.stored.objects.values():
            each["webhooks"] = copy.deepcopy(each["webhooks"])
            disable(each)
        pause = server.once()
        [found] = server.stored.objects.values()
        assert not sends_less(found, wanted) or pause <= LONGEST_GONE_SECONDS * SPREAD[1]
        server.now += 1
    assert 200 / LONGEST_GONE_SECONDS / 2 < server.writes["success"] - writes < 100
    assert "it is written less and less often" in server.registration.problem
    for _ in range(2):  # no second repair at one moment
        for each in server.stored.objects.values():
            each["webhooks"] = copy.deepcopy(each["webhooks"])
            disable(each)
        server.once()
    assert server.registration.settled(policies, frozenset()) < 0, "rules are missing"


def test_a_configuration_that_becomes_anothers_is_left_alone() -> None:
    server = Server(CHECK)
    server.once()
    [found] = server.stored.objects.values()
    found["metadata"]["labels"] = {}
    found["webhooks"] = []
    sent = list(server.stored.sent)
    server.once()
    assert server.stored.sent == sent
    assert "has no label app.kubernetes.io/name: policyd" in server.registration.problem
