"""Manifests of every kind get the defaults that real API servers gave them, as webhooks saw them.

``python -m tests.e2e.record_defaults`` recorded the rows.
"""

from functools import cache

import pytest

from policyd.defaulting.defaults import Defaults
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.versions import RECORDED, KubernetesVersion
from tests.builders.samples import (
    DEFINITIONS,
    MANIFESTS,
    comparable,
    every_kind,
    rows_of,
)
from tests.shared import rows


@cache
def recorded(version: str) -> dict[tuple[str, str], list[JSONObject]]:
    found: dict[tuple[str, str], list[JSONObject]] = {}
    for row in rows(rows_of(version)):
        manifest = row["manifest"]
        found.setdefault((manifest["apiVersion"], manifest["kind"]), []).append(row)
    return found


CASES = [(version, kind) for version in RECORDED for kind in recorded(str(version))]


@pytest.mark.parametrize(
    ("version", "kind"), CASES, ids=[f"{version} {'/'.join(kind)}" for version, kind in CASES]
)
def test_defaults_are_those_of_the_api_server(
    version: KubernetesVersion, kind: tuple[str, str]
) -> None:
    defaults = Defaults(Schemas.builtin(version).with_crds(DEFINITIONS))
    for row in recorded(str(version))[kind]:
        found = defaults.applied(row["manifest"])
        assert comparable(found) == comparable(row["object"]), row["manifest"]
        assert comparable(defaults.applied(found)) == comparable(found), "applied twice"


@pytest.mark.parametrize("version", RECORDED, ids=str)
def test_every_kind_of_the_schemas_was_recorded(version: KubernetesVersion) -> None:
    kinds = {(each.api_version, each.kind) for each in every_kind(version)}
    kinds |= {(each["apiVersion"], each["kind"]) for each in MANIFESTS}
    if version >= KubernetesVersion(1, 37):  # which sends no reviews of users to webhooks
        kinds = {each for each in kinds if not each[1].endswith("Review")}
    assert kinds <= set(recorded(str(version)))
