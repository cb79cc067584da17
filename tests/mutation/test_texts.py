"""Refusals of a real kube-apiserver, word for word, each with the object that was refused:
``data/texts.jsonl.gz``. Custom resources at odds with their own schema, the order of decode errors,
keys and lists as Go prints them, times.
"""

from pathlib import Path
from typing import Any

import pytest

from policyd.cel.env import Environment
from policyd.errors import EvaluationError, MutationError, StatusError
from policyd.mutation import Schemas
from tests.mutation.builders import mutated
from tests.shared import rows

HEAD, *ROWS = rows(Path(__file__).parent / "data" / "texts.jsonl.gz")
SCHEMAS = Schemas.builtin().with_crds(HEAD["crds"])
ENVIRONMENT = Environment.admission(params=False, authorizer=False, patch_types=True)


def refusal(row: dict[str, Any]) -> tuple[int, str]:
    obj = row["object"]
    group, _, version = obj["apiVersion"].rpartition("/")
    target = SCHEMAS.target((group, version, obj["kind"]))
    try:
        value = ENVIRONMENT.compile(row["expression"]).evaluate({"object": obj})
        mutated(row["patchType"], value, obj, target, (obj,))
    except (MutationError, EvaluationError) as error:
        return 403, str(error)
    except StatusError as error:
        return error.code, str(error)
    return 200, ""


@pytest.mark.parametrize("row", ROWS, ids=[f"{i:02d}" for i in range(len(ROWS))])
def test_refused_word_for_word(row: dict[str, Any]) -> None:
    assert refusal(row) == (row["code"], row["message"])
