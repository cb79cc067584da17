"""Which denials are reported, about which object, and in which words."""

from typing import Any

import pytest

from policyd.admission.confidential import WITHHELD
from policyd.admission.recorder import PolicyEvent
from policyd.admission.review import AdmissionRequest
from policyd.controllers.events.denials import (
    MOST_NOTE_BYTES,
    Regarding,
    ReportedDenial,
    reported,
)
from tests.controllers.events.denied import REPLICA_SET, denial, of, of_controller


def found(request: AdmissionRequest, event: PolicyEvent | None = None) -> ReportedDenial:
    denied = reported(request, event or denial())
    assert denied is not None
    return denied


POD = Regarding("v1", "Pod", "shop", "web", "")
RS = Regarding("apps/v1", "ReplicaSet", "shop", "web-7d9f", "u-rs")
STATEFUL_SET = {**REPLICA_SET, "kind": "StatefulSet", "name": "db", "uid": "u-sts"}
NODE = {**REPLICA_SET, "apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u-n1"}
CUSTOM = {**REPLICA_SET, "apiVersion": "example.com/v1", "kind": "Shop", "name": "s", "uid": "u-s"}


def owned(by: Any, **fields: Any) -> AdmissionRequest:
    return of(metadata={"ownerReferences": [by]}, **fields)


@pytest.mark.parametrize(
    ("request_", "regarding", "namespace"),
    [
        pytest.param(of(), POD, "shop", id="created by a user"),
        pytest.param(
            of(metadata={"uid": "u-pod"}), POD, "shop", id="the uid of what is never stored"
        ),
        pytest.param(of_controller(), RS, "shop", id="created by a controller"),
        pytest.param(of_controller(""), RS, "shop", id="before it has a name"),
        pytest.param(
            owned(STATEFUL_SET, name="db-0"),
            Regarding("apps/v1", "StatefulSet", "shop", "db", "u-sts"),
            "shop",
            id="by a controller that gives names itself",
        ),
        pytest.param(
            owned(CUSTOM),
            Regarding("example.com/v1", "Shop", "shop", "s", "u-s"),
            "shop",
            id="by an operator",
        ),
        pytest.param(owned(NODE), POD, "shop", id="static Pod of a Node"),
        pytest.param(owned({**REPLICA_SET, "controller": False}), POD, "shop", id="no controller"),
        pytest.param(owned({**REPLICA_SET, "uid": 7}), POD, "shop", id="malformed reference"),
        pytest.param(
            of_controller(operation="UPDATE"),
            Regarding("v1", "Pod", "shop", "web-7d9f-x2vqk", "of-this-attempt"),
            "shop",
            id="update of what exists",
        ),
        pytest.param(
            of(operation="DELETE", object=None, oldObject={"metadata": {"uid": "u-pod"}}),
            POD._replace(uid="u-pod"),
            "shop",
            id="deletion",
        ),
        pytest.param(
            of(kind="PodExecOptions", operation="CONNECT", subResource="exec", object={}),
            POD,
            "shop",
            id="exec is about the Pod",
        ),
        pytest.param(
            of("apps/v1/deployments", "Scale", subResource="scale", operation="UPDATE"),
            Regarding("apps/v1", "Deployment", "shop", "web", ""),
            "shop",
            id="scale is about the Deployment",
        ),
        pytest.param(
            of("example.com/v1/shops", "Shop"),
            Regarding("example.com/v1", "Shop", "shop", "web", ""),
            "shop",
            id="custom resource",
        ),
        pytest.param(
            of("/v1/nodes", "Node", namespace="", name="n1"),
            Regarding("v1", "Node", "", "n1", ""),
            "default",
            id="cluster-scoped",
        ),
        pytest.param(
            of("/v1/namespaces", "Namespace", namespace="shop", name="shop"),
            Regarding("v1", "Namespace", "", "shop", ""),
            "default",
            id="a Namespace, whose request has its own name as namespace",
        ),
    ],
)
def test_events_are_about_an_object_that_exists_or_the_one_that_was_denied(
    request_: AdmissionRequest, regarding: Regarding, namespace: str
) -> None:
    denied = found(request_)
    assert denied.regarding == regarding
    assert denied.namespace == namespace


@pytest.mark.parametrize(
    ("request_", "event"),
    [
        pytest.param(of(), denial(effect="admitted"), id="another policy's warning"),
        pytest.param(of(), denial(what="would_deny", effect="admitted"), id="not enforced"),
        pytest.param(of(dryRun=True), denial(), id="dry run"),
        pytest.param(of("/v1/events", "Event"), denial(), id="an Event"),
        pytest.param(of("events.k8s.io/v1/events", "Event"), denial(), id="an Event of its API"),
    ],
)
def test_nothing_is_reported(request_: AdmissionRequest, event: PolicyEvent) -> None:
    assert reported(request_, event) is None


def test_events_of_another_group_are_ordinary_objects() -> None:
    assert found(of("example.com/v1/events", "Event")).regarding.kind == "Event"


@pytest.mark.parametrize(
    ("request_", "event", "note", "reason"),
    [
        (
            of(),
            denial(),
            "CREATE of Pod web denied by policy limits: no limits",
            "PolicyViolation",
        ),
        (
            of(),
            denial("no such key: a", what="error"),
            "CREATE of Pod web denied because of an error of policy limits: no such key: a",
            "PolicyError",
        ),
        (
            of(operation="UPDATE", subResource="resize"),
            denial(),
            "UPDATE of Pod/resize web denied by policy limits: no limits",
            "PolicyViolation",
        ),
        (
            of("/v1/secrets", "Secret"),
            denial("the value is hunter2"),
            f"CREATE of Secret web denied by policy limits: {WITHHELD}",
            "PolicyViolation",
        ),
    ],
)
def test_the_note_names_request_policy_and_message(
    request_: AdmissionRequest, event: PolicyEvent, note: str, reason: str
) -> None:
    denied = found(request_, event)
    assert (denied.note, denied.reason) == (note, reason)


def test_attempts_with_generated_names_are_equal() -> None:
    names = ("web-7d9f-x2vqk", "web-7d9f-bcdfg", "")
    denials = {
        found(
            of_controller(name),
            denial(f"Pod {name} has no limits" if name else "Pod web-7d9f-* has no limits"),
        )
        for name in names
    }
    (one,) = denials
    assert one.note == (
        "CREATE of Pod web-7d9f-* denied by policy limits: Pod web-7d9f-* has no limits"
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("web-7d9f-x2vqk", "web-7d9f-*"),
        ("web-7d9f-0", "web-7d9f-0"),  # a StatefulSet's
        ("web-7d9f-aeiou", "web-7d9f-aeiou"),  # vowels are never generated
        ("other-x2vqk", "other-x2vqk"),
        ("x2vqk", "x2vqk"),
    ],
)
def test_only_generated_names_are_replaced(name: str, shown: str) -> None:
    assert f"Pod {shown} denied" in found(of_controller(name)).note


def test_a_long_prefix_is_cut_by_the_api_server() -> None:
    prefix = "a" * 70
    metadata = {"generateName": prefix, "ownerReferences": [REPLICA_SET]}
    request = of(name="a" * 58 + "x2vqk", metadata=metadata)
    assert f"{prefix}*" in found(request).note


@pytest.mark.parametrize("message", ["x" * 5000, "ä" * 5000, "🙂" * 5000, "\ud800" * 5000])
def test_notes_are_bounded_in_bytes(message: str) -> None:
    note = found(of(), denial(message)).note
    assert MOST_NOTE_BYTES - 8 <= len(note.encode()) <= MOST_NOTE_BYTES
    assert note.endswith("…")


def test_references_are_bounded() -> None:
    request = of(name="n" * 10_000, namespace="m" * 10_000)
    assert max(map(len, found(request).regarding)) == 253


def test_half_a_surrogate_can_be_sent() -> None:
    denied = found(of(name="\ud800"), denial("\ud800"))
    assert "\ufffd" in denied.note
    assert denied.regarding.name == "\ufffd"
