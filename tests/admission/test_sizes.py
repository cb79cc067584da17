"""Whatever a request holds, its answer has a maximum size, and so has what is made on the way."""

import json
import os
import re
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import orjson
import pytest

from policyd._core.json.sizes import MAX_PATCH_BYTES, operation_bytes, value_bytes
from policyd.admission.decision import MAX_ANNOTATIONS_CHARS, Finding, Verdict, respond
from policyd.admission.review import AdmissionResponse, Cause, decode, encode
from policyd.bounded_text import MAX_CAUSES_CHARS, MAX_MESSAGE_CHARS, bounded, encodable
from policyd.errors import ReviewError
from tests.admission.samples import (
    REQUEST,
    about_everything,
    compiled_policy,
    widget_review,
    written,
)

MEBIBYTE = "x" * 2**20
# Expressions of a JSONPatch, and what the object holds in spec.a.
BOMBS: dict[str, tuple[str, str]] = {
    "copies that double": (
        "[JSONPatch{op: 'add', path: '/spec/c', value: [object.spec.a]}] + lists.range(14)"
        ".map(i, JSONPatch{op: 'copy', from: '/spec/c', path: '/spec/c/-'})",
        "x" * 100_000,
    ),
    "one string in many places": (
        "[JSONPatch{op: 'add', path: '/spec/c', value: lists.range(3000).map(i, object.spec.a)}]",
        MEBIBYTE,
    ),
    "one string as many keys": (
        "lists.range(900).map(i, JSONPatch{op: 'add', path: '/spec/k' + string(i), value: "
        "object.spec.a})",
        "x" * 10_000,
    ),
    "lists that double": (
        "[JSONPatch{op: 'add', path: '/spec/c', value: variables.v29}]",
        "x",
    ),
}
DOUBLING = [{"name": "v0", "expression": "[object.spec.a]"}] + [
    {"name": f"v{i}", "expression": f"[variables.v{i - 1}, variables.v{i - 1}]"}
    for i in range(1, 30)
]
# In a process of its own, which may have 1 GiB.
REVIEW = """
import resource, sys
from pathlib import Path
from policyd import PolicySet
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
answer = PolicySet.load([sys.argv[1]]).review(Path(sys.argv[2]).read_bytes(), "mutate")
assert "patch" not in answer["response"]
print(answer["response"].get("status", {}).get("message", "allowed"))
"""


def holding(text: str) -> bytes:
    return widget_review(b"", {"metadata": {"annotations": {}}, "spec": {"a": text}})


@pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="the address space that AddressSanitizer needs is more than the limit",
)
@pytest.mark.parametrize("fail", [True, False])
@pytest.mark.parametrize(("expression", "text"), BOMBS.values(), ids=list(BOMBS))
def test_a_patch_has_a_maximum_size(tmp_path: Path, expression: str, text: str, fail: bool) -> None:
    change = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    failure = "Fail" if fail else "Ignore"
    written(
        tmp_path, about_everything(mutations=[change], variables=DOUBLING, failurePolicy=failure)
    )
    sent = tmp_path / "review"
    sent.write_bytes(holding(text))
    done = subprocess.run(
        [sys.executable, "-c", REVIEW, str(tmp_path / "policies.yaml"), str(sent)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    if fail:
        assert "a patch of more than 4 MiB" in done.stdout or "accumulated size" in done.stdout
    else:
        assert done.stdout == "allowed\n"


def adding(name: str, key: str, expression: str) -> dict[str, Any]:
    patch = f"[JSONPatch{{op: 'add', path: '/metadata/annotations/{key}', value: {expression}}}]"
    return about_everything(
        name, mutations=[{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}]
    )


def test_the_patches_of_many_policies_have_a_maximum_together(tmp_path: Path) -> None:
    several = [adding(f"p{n}", f"k{n}", "object.spec.a") for n in range(6)]
    answer: Any = written(tmp_path, *several).review(holding(MEBIBYTE), "mutate")["response"]
    # The first three are within it; the others are errors of their own.
    assert not answer["allowed"]
    start = "policy 'p3' denied request: the mutation makes a patch of more than 4 MiB"
    assert answer["status"]["message"].startswith(start)
    assert len(answer["status"]["details"]["causes"]) == 3


def test_what_later_policies_replace_does_not_count(tmp_path: Path) -> None:
    several = [adding(f"p{n}", "k", f"object.spec.a + '{n}'") for n in range(9)]
    answer: Any = written(tmp_path, *several).review(holding(MEBIBYTE), "mutate")["response"]
    (operation,) = orjson.loads(b64decode(answer["patch"]))
    assert operation["value"] == MEBIBYTE + "8"


@pytest.mark.parametrize("value", ["${object.data.a}", "x${object.data.a}"])
def test_expressions_of_an_overlay_have_a_maximum_together(tmp_path: Path, value: str) -> None:
    overlay = {"metadata": {"annotations": {f"k{n}": value for n in range(20)}}}
    one = written(
        tmp_path, about_everything(mutations=[{"patchType": "Overlay", "overlay": overlay}])
    )
    review = json.loads(holding(""))
    core = {"group": "", "version": "v1"}
    request = {
        "kind": {**core, "kind": "ConfigMap"},
        "resource": {**core, "resource": "configmaps"},
    }
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"a": MEBIBYTE}}
    review["request"] |= {**request, "object": obj}
    answer: Any = one.review(review, "mutate")["response"]
    assert "overlay: its expressions make a patch of more than 4 MiB" in answer["status"]["message"]


@pytest.mark.parametrize(
    "value",
    [None, True, 12, -1.5, "", 'a"b\\c\n\u0001', "é€😀", [], {}, [1, [2, {"a": ["x"]}]], "<&>" * 9],
)
def test_bytes_are_no_fewer_than_those_of_the_json(value: Any) -> None:
    operations = [{"op": "replace", "path": "/a", "value": value}, {"op": "remove", "path": "/b"}]
    written = len(orjson.dumps(operations))
    assert written <= operation_bytes(operations, MAX_PATCH_BYTES) <= written + 60
    if isinstance(value, str):
        assert value_bytes(value, 10**6) >= len(orjson.dumps(value))


def test_an_error_that_quotes_a_megabyte_is_cut(tmp_path: Path) -> None:
    quoting = "{'a': 1}[object.spec.a] == 1"
    both = written(
        tmp_path,
        about_everything("a", validations=[{"expression": quoting}] * 30),
        about_everything(
            "b", validations=[{"expression": quoting}], validationActions=["Warn", "Audit"]
        ),
        about_everything("c", matchConditions=[{"name": "m", "expression": quoting}]),
    )
    answer = both.review(holding(MEBIBYTE))
    assert len(orjson.dumps(answer)) < 400_000
    status: Any = answer["response"]["status"]
    assert len(status["message"]) < MAX_MESSAGE_CHARS + 200
    assert re.search(r"xxx… \(\d+ more characters\)", status["message"])
    causes = [cause["message"] for cause in status["details"]["causes"]]
    assert causes[-1].startswith("… and ") and sum(map(len, causes[1:])) < MAX_CAUSES_CHARS + 100


def test_messages_and_annotations_are_cut() -> None:
    long = bounded(MEBIBYTE)
    assert long.endswith(f"… ({2**20 - MAX_MESSAGE_CHARS} more characters)")
    verdict = Verdict([Finding(compiled_policy(), None, f"{n}{long}") for n in range(100)])
    for n in range(1000):
        verdict.annotate("p", f"k{n % 10}", f"{n}{'y' * 20_000}")
    answer = respond(REQUEST, verdict, "g")
    assert answer.message.endswith("\n… and 99 more")
    kept = len(answer.causes) - 1
    assert answer.causes[-1].text == f"… and {100 - kept} more"
    annotated = sum(map(len, answer.audit_annotations.values()))
    assert MAX_ANNOTATIONS_CHARS / 2 < annotated < MAX_ANNOTATIONS_CHARS + 2000
    assert "left out" in answer.audit_annotations["p.k9"]


def test_a_uid_has_a_maximum() -> None:
    sent = json.loads(holding(""))
    sent["request"]["uid"] = "u" * 1024
    assert decode(sent).uid == "u" * 1024
    sent["request"]["uid"] += "u"
    with pytest.raises(ReviewError, match="has more than 1024 characters"):
        decode(sent)


@pytest.mark.parametrize("text", ["a\ud800", "\udc00\ud800", "\U0001f600\udfff"])
def test_half_of_a_surrogate_pair_never_stops_an_answer(text: str) -> None:
    causes = (Cause(text), Cause(text, text))
    response = AdmissionResponse(text, False, 422, "Invalid", text, causes, (text,), {text: text})
    answer = orjson.loads(encode(response))["response"]
    shown = encodable(text)
    assert shown == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert (answer["uid"], answer["status"]["message"]) == (shown, shown)
    assert answer["auditAnnotations"] == {shown: shown}
