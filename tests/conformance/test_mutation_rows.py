"""The API server's own tests of its two mutation kinds: expression and object in, object or error out."""

import json
import re
from typing import Any

import pytest

from policyd.cel.env import Environment
from policyd.cel.types.types import Type, list_of
from policyd.errors import CelCompileError, MutationError, StatusError
from policyd.mutation import Schemas
from tests import shared
from tests.mutation.builders import mutated as applied

FILES = {"JSONPatch": "map-jsonpatch", "ApplyConfiguration": "map-applyconfiguration"}
SCHEMAS = Schemas.builtin()
DEPLOYMENT = ("apps", "v1", "Deployment")
# Constants of Go that stand in the rows for what they mean.
CONSTANTS = {"corev1.ResourceCPU": "cpu", "corev1.ResourceMemory": "memory"}
WRAPPED = re.compile(r'corev1\.ResourceName\("(.*)"\)')


@pytest.mark.parametrize("kind", FILES)
def test_rows_of_the_api_server(kind: str) -> None:
    rows = shared.conformance(f"k8s-admission/{FILES[kind]}.jsonl")
    failed = {row["name"]: problem for row in rows if (problem := difference(kind, row))}
    print(f"{FILES[kind]}: {len(rows) - len(failed)} passed of {len(rows)}")
    assert failed == {}


def difference(kind: str, row: dict[str, Any]) -> str:
    """What differs from the row's expectation, or ""."""
    expect = row["expect"]
    try:
        got = mutated(kind, row)
    except (MutationError, StatusError, CelCompileError) as error:
        text = getattr(error, "text", str(error))
        return "" if expect.get("error_contains", "\0") in text else text
    if "error_contains" in expect:
        return f"no error, but {json.dumps(got)}"
    want = meant(expect["object_sparse"])
    return "" if sparse(got) == sparse(want) else json.dumps(sparse(got))


def mutated(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    environment = Environment.admission(params=False, authorizer=False, patch_types=True)
    obj, old = meant(row["object"]), meant(row.get("oldObject"))
    value = environment.compile(row["expression"], expect=expected(kind)).evaluate(
        {"object": obj, "oldObject": old}
    )
    return applied(kind, value, obj, SCHEMAS.target(DEPLOYMENT), (obj, old))


def expected(kind: str) -> tuple[Any, ...]:
    return (list_of(Type("JSONPatch")) if kind == "JSONPatch" else Type("Object"),)


def meant(value: Any) -> Any:
    """The row's object with Go's constants replaced."""
    if isinstance(value, dict):
        return {name_of(key): meant(item) for key, item in value.items()}
    return [meant(item) for item in value] if isinstance(value, list) else value


def name_of(key: str) -> str:
    found = WRAPPED.fullmatch(key)
    return found[1] if found else CONSTANTS.get(key, key)


def sparse(value: Any) -> Any:
    """Without nulls and empty containers: Go's structs cannot tell those from absent ones."""
    if isinstance(value, list):
        return [sparse(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {key: sparse(item) for key, item in value.items()}
    return {key: item for key, item in members.items() if item not in (None, {}, [])}
