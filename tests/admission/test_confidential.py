"""What the log and captures must not hold: Secrets' values, tokens, and texts that quote them."""

import io
import json
import logging
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from policyd.admission import engine
from policyd.admission.confidential import REDACTED, WITHHELD, is_confidential, without_text
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.admission.subject import Subjects
from policyd.api.policy_set import PolicySet
from policyd.json_types import JSONObject
from policyd.observability.logs import Bridge, Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.offline.replaying import read_line
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from policyd.server.capture import line

VALUE = "HUNTER2"
ENCODED = b64encode(VALUE.encode()).decode()
POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: quotes}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"]}]
  validations:
  - expression: "false"
    messageExpression: "'the object is ' + (object == null ? '' : string(object.?data.?p.orValue(object.?spec.?token.orValue('HUNTER2'))))"
  - expression: "quantity(object.?data.?p.orValue('HUNTER2')).isInteger()"
  auditAnnotations:
  - {key: quoted, valueExpression: "'of HUNTER2 ' + string(object.?data.?p.orValue(''))"}
"""


def secret(field: str = "data", value: str = ENCODED) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "x",
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": f'{{"data":{{"p":"{ENCODED}"}}}}',
                "copy": f"it is {VALUE}",
                "team": "shop",
            },
        },
        field: {"p": value},
        "type": "Opaque",
    }


TOKEN = {
    "apiVersion": "authentication.k8s.io/v1",
    "kind": "TokenReview",
    "metadata": {"name": ""},
    "spec": {"token": VALUE, "audiences": ["a"]},
}


def request(kind: tuple[str, str], plural: str, obj: Any, **more: Any) -> AdmissionRequest:
    raw = {
        "uid": "u",
        "kind": {"group": kind[0], "version": "v1", "kind": kind[1]},
        "resource": {"group": kind[0], "version": "v1", "resource": plural},
        "operation": "CREATE",
        "namespace": "shop",
        "name": "x",
        "userInfo": {"username": "ann"},
        "object": obj,
        **more,
    }
    return AdmissionRequest(raw)


AUTHENTICATION = "authentication.k8s.io"
CONFIDENTIAL = {
    "data": request(("", "Secret"), "secrets", secret()),
    "stringData": request(("", "Secret"), "secrets", secret("stringData", VALUE)),
    "a field that Secrets do not have": request(("", "Secret"), "secrets", secret("datta")),
    "data that is no map": request(("", "Secret"), "secrets", {**secret(), "data": VALUE}),
    "an update": request(("", "Secret"), "secrets", secret(), oldObject=secret(), operation="UPDATE"),
    "a deletion": request(("", "Secret"), "secrets", None, oldObject=secret(), operation="DELETE"),
    "a list": request(("", "SecretList"), "secrets", {"kind": "List", "items": [secret()]}),
    "a list of a kind": request(
        ("", "SecretList"), "secrets", {"kind": "SecretList", "items": [{"data": {"p": ENCODED}}]}
    ),
    "another resource": request(("", "ConfigMap"), "configmaps", secret()),
    "a Secret of another kind": request(("", "Secret"), "secrets", {"kind": "Pod", "data": VALUE}),
    "a token": request((AUTHENTICATION, "TokenReview"), "tokenreviews", TOKEN),
    "a token that is asked for": request(
        (AUTHENTICATION, "TokenRequest"),
        "serviceaccounts",
        {"kind": "TokenRequest", "spec": {"audiences": ["a"]}, "status": {"token": VALUE}},
        resource={"group": "", "version": "v1", "resource": "serviceaccounts"},
        subResource="token",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def policies() -> Any:
    return compiler.compile_strict(loader.load_text(POLICY))


@pytest.mark.parametrize("name", CONFIDENTIAL)
def test_neither_the_log_nor_a_capture_holds_a_value(policies: Any, name: str) -> None:
    asked = CONFIDENTIAL[name]
    assert is_confidential(asked)
    stream = io.BytesIO()
    recorder = PrometheusRecorder(Log(stream))
    answer = engine.review(policies, asked, webhook="validate", recorder=recorder)
    judged = asked.resource[2] != "tokenreviews"  # no policy sees those
    assert not judged or VALUE in str(answer) or ENCODED in str(answer)  # the requester knows it
    text = line("validate", asked, answer, datetime.now(UTC)).decode()
    logged = stream.getvalue().decode()
    for value in (VALUE, ENCODED):
        assert value not in text
        assert value not in logged
    written = json.loads(text)
    assert written["captured"]["redacted"] is True
    if not judged:
        return
    assert WITHHELD in logged
    denied = "policy 'quotes' denied request: "
    assert written["response"]["status"]["message"].startswith(denied + REDACTED)
    assert written["response"]["auditAnnotations"]["generation"] == policies.generation


def test_what_is_no_secret_stays() -> None:
    written = json.loads(line("validate", CONFIDENTIAL["data"], ALLOWED, datetime.now(UTC)))
    kept = written["request"]["object"]
    assert kept["metadata"]["annotations"]["team"] == "shop"
    assert (kept["data"], kept["type"]) == ({"p": "UkVEQUNURUQ="}, "Opaque")
    written = json.loads(line("validate", CONFIDENTIAL["a token"], ALLOWED, datetime.now(UTC)))
    assert written["request"]["object"]["spec"] == {"token": REDACTED, "audiences": ["a"]}
    assert written["request"]["userInfo"] == {"username": "ann"}


ALLOWED = AdmissionResponse("u", True)


def test_a_patch_and_warnings_are_not_written() -> None:
    answer = AdmissionResponse(
        "u",
        True,
        warnings=(f"Validation failed for policy 'p': {VALUE}", VALUE),
        audit_annotations={"generation": "g", "exception.p": "e", "rollout.p": "r", "p.key": VALUE},
        patch=f'[{{"op": "add", "path": "/a", "value": "{VALUE}"}}]'.encode(),
    )
    written = json.loads(line("mutate", CONFIDENTIAL["data"], answer, datetime.now(UTC)))
    assert written["response"] == {
        "uid": "u",
        "allowed": True,
        "warnings": [f"Validation failed for policy 'p': {REDACTED}", REDACTED],
        "auditAnnotations": {
            "generation": "g",
            "exception.p": "e",
            "rollout.p": "r",
            "p.key": REDACTED,
        },
    }


def test_other_requests_are_logged_in_the_words_of_policies(policies: Any) -> None:
    stream = io.BytesIO()
    pod = request(("", "Pod"), "pods", {"kind": "Pod", "data": {"p": "open"}})
    recorder = PrometheusRecorder(Log(stream))
    engine.review(policies, pod, webhook="validate", recorder=recorder)
    assert b"the object is open" in stream.getvalue()


def test_a_defect_tells_where_it_is_but_not_what_it_saw(
    policies: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError(VALUE)

    monkeypatch.setattr(Subjects, "subject", broken)
    stream = io.BytesIO()
    logger = logging.getLogger("policyd.engine")
    handler = Bridge(Log(stream))
    logger.addHandler(handler)
    try:
        answer = engine.review(policies, CONFIDENTIAL["data"], webhook="validate")
    finally:
        logger.removeHandler(handler)
    assert not answer.allowed
    logged = stream.getvalue().decode()
    assert VALUE not in logged
    assert f"KeyError: {WITHHELD}" in logged
    assert "test_confidential.py" in logged


def test_replay_compares_what_is_left_of_a_redacted_answer(tmp_path: Path, policies: Any) -> None:
    asked = CONFIDENTIAL["data"]
    answer = engine.review(policies, asked, webhook="validate")
    recorded = read_line(line("validate", asked, answer, datetime.now(UTC)))
    assert recorded.answered().reasons == {f"policy 'quotes' denied request: {REDACTED}"}
    assert PolicySet(policies).generation == policies.generation


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("policy 'p' denied request: secret", f"policy 'p' denied request: {REDACTED}"),
        (
            "policy \"m\" denied request: secret\npolicy 'p' denied request: secret",
            f'policy "m" denied request: {REDACTED}',
        ),
        (
            "Internal error occurred: unknown field \"secret\" (mutation of policy 'p')",
            f"{REDACTED} (mutation of policy 'p')",
        ),
        (
            "unknown field 'secret' (mutation of policy 'm' with binding 'b')",
            f"{REDACTED} (mutation of policy 'm' with binding 'b')",
        ),
        ("secret", REDACTED),
    ],
)
def test_a_text_keeps_the_policy_only(text: str, kept: str) -> None:
    assert without_text(text) == kept
