"""Refused mutations of a real kube-apiserver, word for word, of two recordings in ``data``.

``refusals``: expressions of mutations of a Pod and a custom resource. ``texts``: each with the object
that was refused: custom resources at odds with their own schema, the order of decode errors, keys and
lists as Go prints them, times. The text is what the API server says after "denied request: " (403) or
"Internal error occurred: " (500).
"""

from pathlib import Path
from typing import Any

import pytest

from policyd.cel.env import Environment
from policyd.errors import EvaluationError, MutationError, StatusError
from policyd.mutation import Schemas
from tests.mutation.builders import mutated
from tests.shared import rows

ENVIRONMENT = Environment.admission(params=False, authorizer=False, patch_types=True)


@pytest.mark.parametrize("name", ["refusals", "texts"])
def test_refusals_word_for_word(name: str) -> None:
    head, *listed = rows(Path(__file__).parent / "data" / f"{name}.jsonl.gz")
    schemas = Schemas.builtin().with_crds(head["crds"])
    failed = []
    for row in listed:
        obj = row["object"] if "object" in row else head["objects"][row["kind"]]
        got = refusal(schemas, row, obj)
        if got != (row["code"], row["message"]):
            failed.append((row["expression"], got, row["message"]))
    print(f"{name}: {len(listed) - len(failed)} passed of {len(listed)}")
    assert failed == []


def refusal(schemas: Schemas, row: dict[str, Any], obj: dict[str, Any]) -> tuple[int, str]:
    group, _, version = obj["apiVersion"].rpartition("/")
    target = schemas.target((group, version, obj["kind"]))
    try:
        value = ENVIRONMENT.compile(row["expression"]).evaluate({"object": obj})
        mutated(row["patchType"], value, obj, target, (obj,))
    except (MutationError, EvaluationError) as error:
        return 403, str(error)
    except StatusError as error:
        return error.code, str(error)
    return 200, ""
