"""Managed certificates of one replica: what it writes, serves and reports, without an API server."""

import asyncio
import base64
import json
import time
from io import BytesIO
from typing import Any, cast

import pytest

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.controllers.certificates import managed
from policyd.controllers.certificates.bundles import WebhookAddress
from policyd.controllers.certificates.managed import (
    CertificateOptions,
    ManagedCertificates,
    names_of,
)
from policyd.controllers.certificates.material import read
from policyd.controllers.registration.watched_configurations import WatchedConfigurations
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.observability.metrics.recorder import WRITES
from policyd.tls.certificates import HeldPair
from policyd.tls.issuing import self_signed
from policyd.tls.verifying import refusal
from policyd.webhooks.configuration_paths import RESOURCES, path_of
from tests.controllers.stored_objects import StoredObjects

ADDRESS = WebhookAddress("ns", "policyd")
OPTIONS = CertificateOptions("ns", "policyd-tls", names_of(ADDRESS, ""), 3600.0, ADDRESS)
PATH = "api/v1/namespaces/ns/secrets/policyd-tls"


class SeenAtOnce:
    """A Reflector that shows what is stored at each moment."""

    synced, problem = True, ""

    def __init__(self, stored: StoredObjects, *_: object, **__: object) -> None:
        self._stored = stored

    def passed(self, version: str) -> bool:
        return True

    @property
    def objects(self) -> dict[tuple[str, str], JSONObject]:
        found = self._stored.objects.get(PATH)
        return {} if found is None else {("ns", "policyd-tls"): found}


class SeenLate(SeenAtOnce):
    """One that shows nothing that was stored."""

    newest = 0

    def passed(self, version: str) -> bool:
        return self.newest >= int(version)

    @property
    def objects(self) -> dict[tuple[str, str], JSONObject]:
        return {}


class Configurations:
    """The webhook configurations that are stored; none at first."""

    webhook_name, synced, problem = "policyd", True, ""

    def __init__(self, stored: StoredObjects) -> None:
        self._stored = stored

    @property
    def found(self) -> dict[str, JSONObject]:
        objects = self._stored.objects
        paths = {kind: path_of(kind, self.webhook_name) for kind in RESOURCES}
        return {kind: objects[path] for kind, path in paths.items() if path in objects}


class Replica:
    """One replica with everything around it."""

    def __init__(self, stored: StoredObjects) -> None:
        self.stored, self.holds, self.served = stored, True, 0
        self.rotations = {"success": 0, "error": 0}
        self.writes = dict.fromkeys(WRITES, 0)
        self.lines = BytesIO()
        self.certificates = ManagedCertificates(
            cast(ObjectClient, stored),
            OPTIONS,
            cast(WatchedConfigurations, Configurations(stored)),
            Log(self.lines),
            pair=HeldPair("the Secret"),
            clock=time.time,
            holds=lambda: self.holds,
            publishes=lambda: False,
            serve=self._serve,
            noticed=lambda: None,
            rotations=self.rotations,
            writes=self.writes,
        )

    def _serve(self) -> None:
        self.served += 1

    def once(self) -> float:
        return asyncio.run(self.certificates.look())


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> StoredObjects:
    monkeypatch.setattr(managed, "Reflector", SeenAtOnce)
    return StoredObjects()


def test_the_holder_issues_and_the_others_serve(stored: StoredObjects) -> None:
    writer, other = Replica(stored), Replica(stored)
    other.holds = False
    other.once()
    assert stored.sent == []
    assert other.certificates.unready.startswith("no certificate in the Secret ns/policyd-tls: ")
    writer.once()
    other.once()
    assert (writer.served, other.served) == (1, 1)
    assert writer.certificates.unready == ""
    pair = other.certificates.pair.pair
    assert pair is not None
    assert pair == writer.certificates.pair.pair
    assert refusal(writer.certificates.bundle, pair, OPTIONS.names) == ""
    assert writer.rotations == {"success": 1, "error": 0}
    pause = writer.once()
    assert pause == managed.LONGEST_PAUSE
    assert stored.sent == ["POST api/v1/namespaces/ns/secrets"]


def foreign(**data: bytes) -> JSONObject:
    encoded: Any = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return {"metadata": {"name": "policyd-tls", "resourceVersion": "1"}, "data": encoded}


def test_a_secret_of_somebody_else_is_never_written(stored: StoredObjects) -> None:
    pair = self_signed(OPTIONS.names)
    content = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": pair.certificate}
    stored.objects[PATH] = foreign(**content)
    replica = Replica(stored)
    for _ in range(3):
        replica.once()
    assert stored.sent == []
    assert replica.certificates.pair.pair == pair, "it can be served"
    assert "was not written by policyd: delete it" in replica.certificates.problem
    assert replica.rotations["error"] == 1
    stored.objects[PATH] = foreign()
    replica.once()
    assert read(stored.objects[PATH]).leaf is not None


def test_a_missing_right_is_named_and_what_is_served_stays(stored: StoredObjects) -> None:
    replica = Replica(stored)
    refused = {"message": 'secrets is forbidden: User "u" cannot create resource "secrets"'}
    stored.refuse["POST"] = ObjectError("POST x", 403, "Forbidden", refused)
    for _ in range(3):
        assert replica.once() == managed.RETRY_SECONDS
    assert replica.rotations == {"success": 0, "error": 1}
    assert 'a permission is missing: User "u" cannot create' in replica.certificates.unready
    assert len(replica.lines.getvalue().splitlines()) == 1
    stored.refuse.clear()
    replica.once()
    assert replica.certificates.problem == ""
    served = replica.certificates.pair.pair
    del stored.objects[PATH]
    stored.refuse["POST"] = ObjectError("POST x", 409, "AlreadyExists")
    replica.once()
    assert replica.certificates.pair.pair == served
    assert replica.rotations["error"] == 1, "another replica was faster: no error"
    stored.refuse.clear()
    replica.once()
    assert read(stored.objects[PATH]).leaf == served


def test_who_lost_the_lease_meanwhile_writes_nothing(stored: StoredObjects) -> None:
    """While the certificate was issued."""
    replica = Replica(stored)
    answers = iter([True, False])
    replica.certificates.holds = lambda: next(answers)
    replica.once()
    assert stored.sent == []


def test_a_secret_that_is_deleted_before_the_watch_shows_it_is_written_again(
    stored: StoredObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch shows nothing before and nothing after, but it has seen both events."""
    monkeypatch.setattr(managed, "Reflector", SeenLate)
    replica = Replica(stored)
    replica.once()
    served = replica.certificates.pair.pair
    replica.once()
    assert stored.sent == ["POST api/v1/namespaces/ns/secrets"], "the watch is late"
    del stored.objects[PATH]
    monkeypatch.setattr(SeenLate, "newest", 99)
    replica.once()
    assert read(stored.objects[PATH]).leaf == served
    assert replica.certificates.pair.pair == served


def test_what_is_written_counts_only_for_some_time(
    stored: StoredObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(managed, "Reflector", SeenLate)
    replica = Replica(stored)
    replica.once()
    del stored.objects[PATH]
    now = time.monotonic() + managed.UNSEEN_SECONDS
    monkeypatch.setattr(managed, "monotonic", lambda: now)
    replica.once()
    assert read(stored.objects[PATH]).leaf is not None


def test_a_bundle_that_somebody_resets_is_written_at_a_bounded_rate(stored: StoredObjects) -> None:
    kind = "ValidatingWebhookConfiguration"
    path, now = path_of(kind, "policyd"), [1000.0]
    service = {"namespace": "ns", "name": "policyd"}
    at: JSONObject = {"f:clientConfig": {"f:caBundle": {}}}
    injected: JSONObject = {
        "manager": "cainjector",
        "time": "2027-01-01T00:00:00Z",
        "fieldsV1": {"f:webhooks": {'k:{"name":"a"}': at}},
    }

    def reset() -> None:
        config: JSONObject = {"service": dict(service), "caBundle": "b3RoZXI="}
        body: JSONObject = {
            "kind": kind,
            "metadata": {"name": "policyd", "managedFields": [injected]},
            "webhooks": [{"name": "a", "clientConfig": config}],
        }
        stored._store(path, body)

    reset()
    other = stored.objects[path]["webhooks"][0]["clientConfig"]["caBundle"]
    replica = Replica(stored)
    replica.certificates._reconciler.clock = lambda: now[0]
    for _ in range(100):
        replica.once()
        if stored.objects[path]["webhooks"][0]["clientConfig"]["caBundle"] != other:
            reset()
        now[0] += 1
    puts = [each for each in stored.sent if each == f"PUT {path}"]
    assert 20 < len(puts) < 50, "without it nobody can call policyd"
    assert replica.writes == {"success": len(puts), "error": 0, "conflict": len(puts) - 1}
    conflicts = [
        each
        for each in map(json.loads, replica.lines.getvalue().splitlines())
        if each.get("repairs")
    ]
    assert len(conflicts) == len(puts) - 1
    assert conflicts[0]["manager"] == "cainjector"
    assert conflicts[0]["message"] == (
        f"the {kind} policyd was changed by cainjector (webhooks[a].clientConfig.caBundle);"
        " it was written again"
    )
    assert "is changed by cainjector" in replica.certificates.problem


def test_names() -> None:
    assert OPTIONS.names == ("policyd.ns.svc", "policyd.ns.svc.cluster.local", "policyd.ns")
    assert names_of(ADDRESS, "host.example") == ("host.example",)
