"""Requests on which a comparison once found policyd at odds with kube-apiserver 1.36: policies,
review and every outcome that was seen there, from its own policies.
"""

import base64
import json
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

from policyd.api.policy_set import PolicySet
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from tests.conformance.apiserver_rows import as_kubernetes

Row = dict[str, Any]

ROWS: list[Row] = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "compared.jsonl").read_text().splitlines()
]


def outcome(row: Row) -> Row:
    """What became of the request, as the rows say it."""
    text = "\n---\n".join(map(json.dumps, row["policies"]))
    policies = PolicySet(compiler.compile_strict(loader.load_text(text)))
    request = row["request"]
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    response = policies.review(review, webhook=row["webhook"])["response"]
    if not response["allowed"]:
        status = response["status"]
        message, _ = as_kubernetes(status)
        return {"code": status["code"], "reason": status["reason"], "message": message}
    operations = base64.b64decode(response["patch"]) if "patch" in response else b"[]"
    after = jsonpatch.apply_patch(request["object"], operations.decode())
    after["metadata"].pop("managedFields", None)
    return {"object": after}


def expected(row: Row) -> list[Row]:
    outcomes = []
    for each in row["outcomes"]:
        text = each.get("message", "")
        _, forbidden, rest = text.partition(" is forbidden: ")
        outcomes.append({**each, "message": rest if forbidden else text} if text else each)
    return outcomes


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_the_outcome_is_one_that_the_api_server_gave(row: Row) -> None:
    assert outcome(row) in expected(row)
