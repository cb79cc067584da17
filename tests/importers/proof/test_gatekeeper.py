"""The cases of Gatekeeper's suite.yaml: what is read, what agrees, and what is named where it does not."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from policyd.importers.all import ConverterTable
from policyd.importers.model import Imported, ImportedDocument
from policyd.importers.proof.rows import Proof
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.loaded_documents import Document
from tests.builders.policies import demand, document, policy
from tests.importers.sources import proved, small_pod, write

CRD = {"spec": {"names": {"kind": "K8sThing"}}}
TEMPLATE = document("templates.gatekeeper.sh/v1", "ConstraintTemplate", "k8sthing", {"crd": CRD})
CONSTRAINT = document("constraints.gatekeeper.sh/v1beta1", "K8sThing", "thing", {})


SUITE = {"apiVersion": "test.gatekeeper.sh/v1alpha1", "kind": "Suite"}


def convert(template: Document, others: Sequence[Document]) -> list[Imported]:
    """Two violations for the Pod bad, one for an UPDATE of any, none for others."""
    validations = [
        demand("object.metadata.name != 'bad'", "first: a bad name"),
        demand("object.metadata.name != 'bad'", "second: a bad name"),
        demand("request.operation != 'UPDATE'", "no update"),
    ]
    raw = policy("thing", validations=validations)
    (constraint,) = (each for each in others if each.kind == "K8sThing")
    return [Imported(constraint, (ImportedDocument(raw),), rules={"": ("thing",)})]


TABLE: ConverterTable = {("templates.gatekeeper.sh", "ConstraintTemplate"): convert}


def run(folder: Path, assertions: JSON, object_: str = "bad.yaml", **case: JSON) -> list[Proof]:
    review = {
        "apiVersion": "admission.k8s.io/v1beta1",
        "kind": "AdmissionReview",
        "request": {"operation": "UPDATE", "object": small_pod("good")},
    }
    one = {"name": "c", "object": object_, "assertions": assertions, **case}
    tests = [{"name": "t", "template": "t.yaml", "constraint": "c.yaml", "cases": [one]}]
    write(
        folder,
        {
            "t.yaml": TEMPLATE,
            "c.yaml": CONSTRAINT,
            "bad.yaml": small_pod("bad"),
            "good.yaml": small_pod("good"),
            "both.yaml": [small_pod("good"), small_pod("bad")],
            "review.yaml": review,
            "suite.yaml": SUITE | {"tests": tests},
        },
    )
    return proved(folder, TABLE)


@pytest.mark.parametrize(
    ("file", "assertions", "agrees"),
    [
        ("good.yaml", [{"violations": "no"}], True),
        ("good.yaml", [{"violations": False}], True),
        ("good.yaml", [{"violations": 0}], True),
        ("good.yaml", [{"violations": "yes"}], False),
        ("good.yaml", [{}], False),
        ("bad.yaml", [{}], True),
        ("bad.yaml", [{"violations": True}], True),
        ("bad.yaml", [{"violations": 2}], True),
        ("bad.yaml", [{"violations": 1}], False),
        ("bad.yaml", [{"violations": 1, "message": "^first"}], True),
        ("bad.yaml", [{"violations": 2, "message": "a (bad|good) name"}], True),
        ("bad.yaml", [{"message": "third"}], False),
        ("bad.yaml", [{"violations": 0, "message": "third"}], True),
        ("bad.yaml", [{"violations": 2}, {"violations": "no"}], False),
        ("review.yaml", [{"violations": 1, "message": "no update"}], True),
    ],
)
def test_assertions_count_violations(
    tmp_path: Path, file: str, assertions: list[JSONObject], agrees: bool
) -> None:
    (proof,) = run(tmp_path, assertions, file)
    assert (proof.state == "agrees") == agrees
    assert bool(proof.reason) is not agrees


@pytest.mark.parametrize(
    ("assertions", "file", "more", "reason"),
    [
        ([{"violations": "maybe"}], "bad.yaml", {}, "expected yes, no or a number"),
        ([{"odd": 1}], "bad.yaml", {}, "odd: the field odd is not known here"),
        ([{}], "bad.yaml", {"odd": 1}, "odd: the field odd is not known here"),
        ([], "bad.yaml", {}, "a case needs an object and assertions"),
        ([{}], "both.yaml", {}, "both.yaml: expected one object, got 2"),
        ([{}], "gone.yaml", {}, "gone.yaml: no such file or directory"),
        ([{"message": "("}], "bad.yaml", {}, "message '('"),
        ([{}], "bad.yaml", {"skip": True}, "skipped"),
    ],
)
def test_what_cannot_be_run_is_named(
    tmp_path: Path, assertions: list[JSONObject], file: str, more: JSONObject, reason: str
) -> None:
    (proof,) = run(tmp_path, assertions, file, **more)
    assert proof.state == "not run"
    assert reason in proof.reason
