"""Variables that several policies compute: each policy decides, and costs, what it does alone."""

import tracemalloc

import pytest

from policyd.admission import engine
from policyd.admission.review import Cause, decode
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import container, deployment, pod
from tests.builders.policies import policy
from tests.policy_sets import compiled

SIZE = 6_000
POD = pod(
    container("c", "nginx"),
    container("d", "redis"),
    labels={"app": "web"},
    annotations={"a": "x" * SIZE},
)
WEB = deployment(containers=[container("e", "nginx")])
NAMES = ("x", "object.spec.containers.map(c, c.name).join()")
JOINED = ("x", "object.spec.containers.map(c, c.name).join('+')")
MORE = ("y", "variables.x + '!'")
BEFORE = ("x", "oldObject == null ? 'new' : oldObject.metadata.name")
# Two of these need more memory than the expressions of one policy may.
LARGE = "object.metadata.annotations.a.replace('', object.metadata.annotations.a)"


def telling(
    name: str, *variables: tuple[str, str], tell: str = "string(variables.x)", **spec: object
) -> JSONObject:
    """A policy that denies everything; its message is the value of an expression."""
    return policy(
        name,
        variables=[{"name": each, "expression": expression} for each, expression in variables],
        validations=[{"expression": f"{tell} == '-'", "messageExpression": tell}],
        **spec,
    )


CASES: dict[str, tuple[list[JSONObject], JSONObject]] = {
    "the same": ([telling("a", NAMES), telling("b", NAMES), telling("c", NAMES)], POD),
    "by another name": (
        [telling("a", NAMES), telling("b", ("y", NAMES[1]), tell="variables.y")],
        POD,
    ),
    "with another variable": (
        [
            telling(name, each, MORE, tell="variables.y")
            for name, each in (("a", NAMES), ("b", JOINED))
        ],
        POD,
    ),
    "an error": ([telling(name, ("x", "object.nope")) for name in "ab"], POD),
    "params": (
        [telling(each, ("x", "params.most"), params={"most": each}) for each in "ab"],
        POD,
    ),
    "the request": ([telling(each, ("x", "request.kind.kind")) for each in "ab"], POD),
    "the old object": ([telling(each, BEFORE) for each in "ab"], POD),
    "a condition that uses the same": (
        [
            telling("a", NAMES, matchConditions=[{"name": "n", "expression": f"{NAMES[1]} != ''"}]),
            telling("b", NAMES),
        ],
        POD,
    ),
    "too much memory": (
        [
            telling("a", ("x", LARGE), tell="string(variables.x.size())"),
            telling("b", ("x", LARGE), tell="string(variables.x.size())"),
            telling("c", ("x", LARGE), tell=f"string((variables.x + {LARGE}).size())"),
            telling("d", ("x", LARGE), tell=f"string(({LARGE} + variables.x).size())"),
        ],
        POD,
    ),
    "the Pod of a template": (
        [telling(each, NAMES, podControllers=True) for each in "ab"],
        WEB,
    ),
}


def judged(documents: list[JSONObject], obj: JSONObject) -> dict[str, tuple[list[Cause], int]]:
    """The denials of each policy, and the units that they cost."""
    policies = compiled(*documents)
    response = engine.review(policies, decode(build_review(obj)), webhook="validate")
    return {
        counters.name: (
            [each for each in response.causes if f"'{counters.name}'" in each.message],
            counters.snapshot()["cost"],
        )
        for counters in policies.counters()
    }


@pytest.mark.parametrize("case", CASES)
def test_each_policy_is_as_it_is_alone(case: str) -> None:
    documents, obj = CASES[case]
    together = judged(documents, obj)
    alone: dict[str, tuple[list[Cause], int]] = {}
    for each in documents:
        alone |= judged([each], obj)
    assert together == alone
    assert all(causes for causes, _ in alone.values())


def test_another_request_has_other_values() -> None:
    policies = compiled(telling("a", NAMES), telling("b", NAMES))
    for name in ("one", "two"):
        review = build_review(pod(container(name, "nginx")))
        response = engine.review(policies, decode(review), webhook="validate")
        assert [each.message.split()[-1] for each in response.causes] == [name, name]


def test_large_values_are_not_kept() -> None:
    size = SIZE * 2 // 3
    documents = [
        telling(
            f"{name}{number}",
            ("x", LARGE.replace("annotations.a)", f"annotations.a + '{number}')")),
            tell="string(variables.x.size())",
        )
        for number in range(8)
        for name in "ab"
    ]
    policies = compiled(*documents)
    obj = pod(container("c", "nginx"), annotations={"a": "x" * size})
    request = decode(build_review(obj))
    tracemalloc.start()
    response = engine.review(policies, request, webhook="validate")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    told = {each.message.split()[-1] for each in response.causes}
    assert told == {str((size + 1) ** 2 + size)}
    assert len(response.causes) == len(documents)
    assert peak < 6 * size * size
