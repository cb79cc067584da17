"""Which policies are reported as not reached, without an API server."""

import asyncio
import json
from io import BytesIO
from typing import cast

import pytest

from policyd.controllers.registration.reaching import ReachWatch
from policyd.controllers.registration.watched import WatchedConfigurations
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.ownership import LABELS
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress
from tests.builders.policies import CONFIG_MAPS, policy, rule
from tests.policy_sets import compiled

OPTIONS = RenderOptions(service=ServiceAddress("policyd", "policyd"), namespace="policyd")
PODS, MAPS = policy("pods", rule("pods")), policy("maps", CONFIG_MAPS)
KIND = "ValidatingWebhookConfiguration"
EMPTY: JSONObject = {"kind": KIND, "metadata": {"name": "policyd", "labels": LABELS}}
[OF_PODS] = render(compiled(PODS), OPTIONS)


class Watched:
    """What WatchedConfigurations would have seen."""

    name = "policyd"
    synced = True

    def __init__(self, *found: JSONObject) -> None:
        self.found = {each["kind"]: each for each in found}


@pytest.mark.parametrize(
    ("found", "unreached", "warned"),
    [
        pytest.param([OF_PODS], 1, ["maps"], id="one is not reached"),
        pytest.param([], 2, [], id="nothing is registered yet"),
        pytest.param([EMPTY], 2, [], id="nothing is registered yet in what manifests made"),
    ],
)
def test_what_is_counted_and_logged(
    found: list[JSONObject], unreached: int, warned: list[str]
) -> None:
    lines = BytesIO()
    policies = compiled(PODS, MAPS)
    watch = ReachWatch(
        lambda: policies,
        cast(WatchedConfigurations, Watched(*found)),
        Log(lines),
        registers=True,
    )
    for _ in range(2):
        asyncio.run(watch._look())
    assert watch.unreached == unreached
    logged = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [each["policy"] for each in logged] == warned, "each once"
