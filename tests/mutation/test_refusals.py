"""Refused mutations of a real kube-apiserver, word for word: ``data/refusals.jsonl.gz``.

Each row is an expression of one mutation of a Pod or a custom resource, and the API server's text
after "denied request: " (403) or "Internal error occurred: " (500).
"""

from pathlib import Path
from typing import Any

from policyd.cel.env import Environment
from policyd.errors import EvaluationError, MutationError, StatusError
from policyd.mutation import Schemas
from tests.mutation.builders import mutated
from tests.shared import rows

HEAD, *ROWS = rows(Path(__file__).parent / "data" / "refusals.jsonl.gz")
TARGETS = {"Pod": ("", "v1", "Pod"), "Widget": ("golden.example.com", "v1", "Widget")}


def test_refusals_word_for_word() -> None:
    environment = Environment.admission(params=False, authorizer=False, patch_types=True)
    schemas = Schemas.builtin().with_crds(HEAD["crds"])
    failed = []
    for row in ROWS:
        got = refusal(environment, schemas, row)
        if got != (row["code"], row["message"]):
            failed.append((row["expression"], got, row["message"]))
    print(f"{len(ROWS) - len(failed)} passed of {len(ROWS)}")
    assert failed == []


def refusal(environment: Environment, schemas: Schemas, row: dict[str, Any]) -> tuple[int, str]:
    obj = HEAD["objects"][row["kind"]]
    try:
        value = environment.compile(row["expression"]).evaluate({"object": obj})
        mutated(row["patchType"], value, obj, schemas.target(TARGETS[row["kind"]]), (obj,))
    except (MutationError, EvaluationError) as error:
        return 403, str(error)
    except StatusError as error:
        return error.code, str(error)
    return 200, ""
