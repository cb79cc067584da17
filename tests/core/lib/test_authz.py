"""The authz library: what is asked in which words, errors, costs, and who is asked."""

from typing import Any

import pytest

from policyd._core.lib import authz
from policyd._core.lib.authorization import AccessDecision, Attributes
from policyd._core.values.errors import CelError
from policyd.cel.env import Environment
from policyd.errors import Unanswered
from tests.authorizers import REQUEST, variables

KUBERNETES = Environment.kubernetes()
BOB: dict[str, Any] = {
    "user": "bob",
    "groups": ("writers",),
    "extra": (("dept", ("x",)), ("scopes", ("b", "a"))),
}
ROBOT: dict[str, Any] = {
    "user": "system:serviceaccount:shop:robot",
    "groups": ("system:serviceaccounts", "system:serviceaccounts:shop"),
}
PODS = "authorizer.group('').resource('pods')"


class Listening:
    """Notes what it is asked; allows everything."""

    def __init__(self, answer: AccessDecision | None = AccessDecision(True)) -> None:  # noqa: B008 (frozen)
        self.asked: list[Attributes] = []
        self.answer = answer

    def check(self, attributes: Attributes) -> AccessDecision | None:
        self.asked.append(attributes)
        return self.answer


def run(expression: str, given: dict[str, Any]) -> tuple[Any, int]:
    return KUBERNETES.compile(expression).evaluate_with_cost(given)


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        (
            "authorizer.path('/healthz').check('get')",
            Attributes(verb="get", path="/healthz", **BOB),
        ),
        (f"{PODS}.check('list')", Attributes(verb="list", resource="pods", **BOB)),
        (
            "authorizer.group('apps').resource('deployments').subresource('scale')"
            ".namespace('shop').name('web').check('update')",
            Attributes(
                verb="update",
                group="apps",
                resource="deployments",
                subresource="scale",
                namespace="shop",
                name="web",
                **BOB,
            ),
        ),
        (
            "authorizer.requestResource.check('*')",
            Attributes(
                verb="*",
                group="apps",
                resource="deployments",
                subresource="scale",
                namespace="shop",
                name="web",
                **BOB,
            ),
        ),
        (
            "authorizer.requestResource.subresource('').name('other').check('get')",
            Attributes(
                verb="get",
                group="apps",
                resource="deployments",
                namespace="shop",
                name="other",
                **BOB,
            ),
        ),
        (
            f"{PODS}.fieldSelector('spec.nodeName=a').labelSelector('a=(b').check('list')",
            Attributes(
                verb="list",
                resource="pods",
                field_selector="spec.nodeName=a",
                label_selector="a=(b",
                **BOB,
            ),
        ),
        (
            "authorizer.serviceAccount('shop', 'robot').group('').resource('pods').check('get')",
            Attributes(verb="get", resource="pods", **ROBOT),
        ),
    ],
)
def test_what_is_asked(expression: str, want: Attributes) -> None:
    listening = Listening()
    value, _ = run(f"{expression}.allowed()", authz.variables(listening, REQUEST))
    assert value is True
    assert listening.asked == [want]


def test_saying_more_leaves_the_question_as_it_was() -> None:
    listening = Listening()
    both = f"{PODS}.check('get').allowed() && {PODS}.name('x').check('get').allowed()"
    expression = both.replace("authorizer.group('').resource('pods')", "[p][0]")
    given = {"p": authz.variables(listening, REQUEST)["authorizer.requestResource"]}
    program = KUBERNETES.extend({"p": KUBERNETES.variables["authorizer.requestResource"]})
    assert program.compile(expression).evaluate(given) is True
    assert [each.name for each in listening.asked] == ["web", "x"]


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("authorizer.path('').check('get').allowed()", "path must not be empty"),
        ("authorizer.path('\\u2003 \\n').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource(' ').check('get').allowed()", "resource must not be empty"),
        ("authorizer.serviceAccount('shop', 'Bad_Name') == 1", "Invalid service account name"),
        ("authorizer.serviceAccount('bad_ns', 'robot') == 1", "Invalid service account namespace"),
        ("authorizer.serviceAccount('a.b', 'robot') == 1", "Invalid service account namespace"),
        ("authorizer.serviceAccount('', '') == 1", "Invalid service account name"),
        ("authorizer == authorizer", "no such overload"),
        ("dyn(authorizer).name('x') == 1", "no such overload: name("),
        ("authorizer.path(dyn(1)) == 1", "no such overload: path("),
        (f"{PODS}.check(dyn(1)) == 1", "no such overload: check("),
        ("dyn('x').allowed()", "no such overload: allowed(string)"),
    ],
)
def test_errors(expression: str, error: str) -> None:
    value, _ = KUBERNETES.compile(expression.replace(" == 1", " == dyn(1)")).evaluate_with_cost(
        variables()
    )
    assert isinstance(value, CelError)
    assert value.message.startswith(error)


@pytest.mark.parametrize(
    ("expression", "value", "cost"),
    [
        # recorded by k8s.io/apiserver pkg/cel/library/cost_test.go
        ("authorizer.path('/healthz').check('get').allowed()", True, 350_003),
        (f"{PODS}.check('list').reason()", "", 350_004),
        (f"{PODS}.check('delete').errored()", False, 350_004),
        (
            "authorizer.group('').resource('nodes').check('get').error()",
            "the webhook did not answer",
            350_004,
        ),
        ("authorizer.group('').resource('nodes').check('get').errored()", True, 350_004),
        (f"type({PODS}.fieldSelector('abcde')) == type(1)", False, 3 + 10 + 150 + 1 + 2),
        (f"{PODS}.labelSelector('').check('list').allowed()", True, 350_004 + 10),
    ],
)
def test_values_and_costs(expression: str, value: Any, cost: int) -> None:
    assert run(expression, variables()) == (value, cost)


def test_types_print_as_in_kubernetes() -> None:
    for text, name in (
        ("authorizer", "Authorizer"),
        ("authorizer.requestResource", "ResourceCheck"),
        ("authorizer.path('/x')", "PathCheck"),
        ("authorizer.group('')", "GroupCheck"),
        (f"{PODS}.check('get')", "Decision"),
    ):
        value, _ = run(f"'%s'.format([type({text})])", variables())
        assert value == f"kubernetes.authorization.{name}"


def test_with_nobody_to_ask_a_check_is_an_error_that_can_be_absorbed() -> None:
    nobody = authz.variables(None, REQUEST)
    check = f"{PODS}.subresource('exec').namespace('shop').check('create').allowed()"
    value, _ = run(check, nobody)
    assert isinstance(value, CelError)
    assert value.message == (
        "authorizer: there is no cluster to ask whether 'bob' may create pods/exec in namespace shop"
    )
    assert run(f"{check} || true", nobody)[0] is True


def test_an_answer_that_is_not_known_yet_ends_the_evaluation() -> None:
    with pytest.raises(Unanswered) as raised:
        run(f"{PODS}.check('get').allowed() || true", authz.variables(Listening(None), REQUEST))
    assert raised.value.question == Attributes(verb="get", resource="pods", **BOB)
