"""Which policies are reported as not reached, without an API server."""

import asyncio
import json
from io import BytesIO
from typing import cast

import pytest

from policyd.controllers.registration.reach_watch import GRACE_SECONDS, ReachWatch
from policyd.controllers.registration.watched_configurations import WatchedConfigurations
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
    assert {each["level"] for each in logged} <= {"error"}


class Losing:
    """A replica whose configuration somebody deletes."""

    def __init__(self, *wanted: JSONObject, leads: bool = True) -> None:
        self.now = 1000.0
        self.leads = leads
        self.lines = BytesIO()
        self.watched = Watched(*wanted)
        policies = compiled(PODS, MAPS)
        self.watch = ReachWatch(
            lambda: policies,
            cast(WatchedConfigurations, self.watched),
            Log(self.lines),
            registers=True,
            wanted=lambda: wanted if self.leads else None,
            clock=lambda: self.now,
        )
        self.look(*wanted)
        self.lines.truncate(0)

    def look(self, *found: JSONObject) -> str:
        """Look at what is stored; why the replica is not ready."""
        self.watched.found = {each["kind"]: each for each in found}
        asyncio.run(self.watch._look())
        return self.watch.unready


BOTH = render(compiled(PODS, MAPS), OPTIONS)


def test_the_replica_that_registers_is_not_ready_if_rules_are_missing_for_long() -> None:
    run = Losing(*BOTH)
    assert run.look() == "", "they may be there again soon"
    assert run.lines.getvalue().count(b'"level":"error"') == 2
    run.now += GRACE_SECONDS
    assert run.look() == "no registered webhook rule reaches the policies maps, pods"
    run.leads = False
    assert run.look() == "", "another replica registers"
    run.leads = True
    assert run.look(*BOTH) == ""
    assert run.look() == "", "another loss, another grace"


def test_what_no_webhook_could_reach_keeps_nobody_from_being_ready() -> None:
    """What is wanted does not reach it either: only the source of the policy can change that."""
    run = Losing(OF_PODS)
    run.now += GRACE_SECONDS
    assert run.look(OF_PODS) == ""
    assert run.watch.unreached == 1


def test_a_policy_that_is_lost_again_is_logged_again() -> None:
    run = Losing(*BOTH)
    for _ in range(2):
        run.look()
        run.look(*BOTH)
    assert run.lines.getvalue().count(b'"event":"unreached"') == 4
