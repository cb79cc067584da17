"""What the core takes: every policy has a figure, and those that take most have the largest."""

from functools import cache

import pytest

from policyd.benchmark.core import YARDSTICK, CoreMeasurement, census, measure, policy_figure
from policyd.benchmark.figures import FEWEST
from policyd.benchmark.rounds import RoundLimits, Work, measured
from policyd.benchmark.webhook_requests import Review, WebhookRequest, requests_of
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import config_map, container, pod
from tests.builders.policies import CONFIG_MAPS, demand, denying, labelling, policy
from tests.policy_sets import compiled

CHEAP = "object.metadata.name != 'x'"
# Some thousand steps.
DEAR = "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5].all(c, a + b + c != size(object.metadata.name) + 100)))"
SHORT = RoundLimits(FEWEST, 1)
POLICIES = (
    policy("cheap", validations=[demand(CHEAP, "x")]),
    policy("dear", validations=[demand(DEAR, "x")]),
    policy("idle", CONFIG_MAPS, validations=[demand(CHEAP, "x")]),
    policy("label", mutations=[labelling("a", "'b'")]),
    policy("dear-label", mutations=[labelling("c", f"{DEAR} ? 'd' : 'e'")]),
)


def quiet(doing: str, done: int, total: int) -> None:
    """No progress."""


def requests(*objects: JSONObject) -> list[WebhookRequest]:
    reviews = [Review(f"r:{number}", build_review(each)) for number, each in enumerate(objects)]
    return requests_of(compiled(*POLICIES), reviews)


def bodies(calls: list[WebhookRequest]) -> list[bytes]:
    return [each.body for each in calls]


@cache
def measurement() -> CoreMeasurement:
    found = requests(*(pod(container(), name=f"web-{number}") for number in range(3)))
    return measure(compiled(*POLICIES), found, SHORT, quiet)


def test_every_policy_that_matched_has_a_figure() -> None:
    names = {each for each in measurement().figures if "/policy/" in each}
    assert names == {
        policy_figure("validate", ("cheap", "Policy")),
        policy_figure("validate", ("dear", "Policy")),
        policy_figure("mutate", ("label", "Policy")),
        policy_figure("mutate", ("dear-label", "Policy")),
    }


@pytest.mark.parametrize(
    ("webhook", "dear", "cheap"), [("validate", "dear", "cheap"), ("mutate", "dear-label", "label")]
)
def test_a_policy_that_does_much_more_takes_much_longer(
    webhook: str, dear: str, cheap: str
) -> None:
    figures = measurement().figures
    more, less = (figures[f"{webhook}/policy/Policy/{each}"].median for each in (dear, cheap))
    assert more > 3 * less > 0


def test_every_figure_has_the_yardstick_of_its_rounds() -> None:
    figures = measurement().figures
    for name, each in figures.items():
        webhook, _, what = name.partition("/")
        assert len(each.rounds) == FEWEST
        wanted = () if what == YARDSTICK else figures[f"{webhook}/{YARDSTICK}"].rounds
        assert each.yardstick == wanted


def test_percentiles_are_of_requests() -> None:
    figures = measurement().figures
    assert figures["validate/p50"].median <= figures["validate/p99"].median


def test_a_census_counts_what_requests_do() -> None:
    broken = policy("broken", validations=[demand("object.spec.nothing > 1", "x")])
    lenient = policy("lenient", failurePolicy="Ignore", validations=broken["spec"]["validations"])
    policies = compiled(denying(match={"objectSelector": {"matchLabels": {"no": "yes"}}}), lenient)
    reviews = [
        Review("r:1", build_review(pod())),
        Review("r:2", build_review(pod(labels={"no": "yes"}))),
        Review("r:3", build_review(config_map())),
    ]
    found = census(policies, bodies(requests_of(policies, reviews)), "validate")
    assert (found.calls, found.matched, found.denied, found.errors) == (3, 2, 1, 2)
    assert found.matches == {("p", "Policy"): 1, ("lenient", "Policy"): 2}


def test_cost_units_are_those_of_the_expressions() -> None:
    twice = compiled(
        policy("one", validations=[demand(CHEAP, "x")]),
        policy("two", validations=[demand(CHEAP, "x"), demand(f"{CHEAP} ", "x")]),
    )
    made = [Review("r:1", build_review(pod()))] * 2
    units = census(twice, bodies(requests_of(twice, made)), "validate").units
    assert units["two", "Policy"] == 2 * units["one", "Policy"] > 0


def test_rounds_end_in_time_but_not_before_the_fewest() -> None:
    runs: list[int] = []

    def work() -> dict[str, float]:
        runs.append(1)
        return {"f": float(len(runs))}

    rounds = measured([work], RoundLimits(1000, 0), quiet)["f"]
    assert len(rounds) == FEWEST
    assert rounds[-1] == len(runs)


def test_rounds_take_turns() -> None:
    order: list[str] = []

    def noting(name: str) -> Work:
        def work() -> dict[str, float]:
            order.append(name)
            return {name: 1.0}

        return work

    measured([noting("a"), noting("b")], RoundLimits(FEWEST, 60), quiet)
    rounds = order[-2 * FEWEST :]
    assert rounds[:4] in (["a", "b", "b", "a"], ["b", "a", "a", "b"])
