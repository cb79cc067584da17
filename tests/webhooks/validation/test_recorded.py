"""Webhook configurations have the problems and defaults of real API servers.

``python -m tests.e2e.record_webhooks`` recorded the rows.
"""

from functools import cache

import pytest

from policyd.json_types import JSONObject
from policyd.versions import NEWEST, RECORDED, KubernetesVersion
from tests.builders.webhook_configurations import CASES, rows_of
from tests.builders.webhook_rows import answered
from tests.sampling import sampled
from tests.shared import rows


@cache
def recorded(version: KubernetesVersion) -> dict[str, JSONObject]:
    """The answers of a version; an older one has rows for what differs."""
    found = {row["name"]: row for row in rows(rows_of(str(NEWEST)))}
    if version != NEWEST:
        found |= {row["name"]: row for row in rows(rows_of(str(version)))}
    return found


@pytest.mark.parametrize("version", RECORDED, ids=str)
def test_configurations_are_answered_as_by_the_api_server(version: KubernetesVersion) -> None:
    """All of them by the newest version, a sample by those before it."""
    names = CASES if version == NEWEST else sampled(CASES)
    found = {name: answered(CASES[name], version) for name in names}
    expected = {name: recorded(version)[name] for name in names}
    assert {name for name in names if found[name] != expected[name]} == set()
    assert found == expected


@pytest.mark.parametrize("version", RECORDED, ids=str)
def test_every_case_was_recorded(version: KubernetesVersion) -> None:
    assert recorded(version).keys() == CASES.keys()
