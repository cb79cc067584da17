"""Environments: result types, the words of Kubernetes, and what each kind of expression may use."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from policyd.cel.env import Environment
from policyd.cel.types.types import BOOL, DYN, INT, LIST_OF_JSONPATCH, NULL, OBJECT, STRING, Type
from policyd.errors import CelCompileError, CelSyntaxError, CelTypeError
from tests.cel.variables import composed, with_variables


def refused(environment: Environment, text: str, *expect: Type) -> str:
    with pytest.raises(CelCompileError) as caught:
        environment.check(text, expect=expect)
    return caught.value.text.splitlines()[0]


@pytest.mark.parametrize(
    ("text", "expect", "message"),
    [
        ("object.a", (BOOL,), "must evaluate to bool but got dyn"),
        ("object.a", (STRING, NULL), "must evaluate to one of [string null_type] but got dyn"),
        ("null_type", (BOOL,), "must evaluate to bool but got type(null_type)"),
        ("[]", (LIST_OF_JSONPATCH,), "must evaluate to list(JSONPatch) but got list(dyn)"),
        ("Object.spec{}", (OBJECT,), "must evaluate to Object but got Object.spec"),
    ],
)
def test_result_must_be_as_expected(text: str, expect: tuple[Type, ...], message: str) -> None:
    assert refused(Environment.admission(patch_types=True), text, *expect) == message


def test_any_result_will_do_where_none_is_expected() -> None:
    assert Environment.admission().check("object.a").result_type == DYN


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        (Environment.admission(), "params.a"),
        (Environment.admission(), "authorizer"),
        (Environment.admission(), "variables.x"),
        (Environment.admission(), "Object{}"),
        (Environment.admission(), "JSONPatch{}"),
    ],
)
def test_names_are_declared_only_where_kubernetes_has_them(
    environment: Environment, text: str
) -> None:
    assert "undeclared reference to '" in refused(environment, text)
    more = Environment.admission(params=True, authorizer=True, patch_types=True)
    with_variables(more, {"x": INT}).check(text)


def test_variables_that_are_not_declared_yet_are_undefined_fields() -> None:
    text = refused(with_variables(Environment.admission(), {}), "variables.x")
    assert text == "compilation failed: ERROR: <input>:1:10: undefined field 'x'"


def test_programs_of_variables_are_used() -> None:
    environment = Environment.admission()
    first = environment.compile("object.a + 1")
    second = composed(environment, "variables.x * 2", {"x": first})
    assert second.evaluate({"object": {"a": 20}}) == 42


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('duration("1d")', "1:10: invalid duration argument"),
        ('timestamp("2024-02-30T00:00:00Z")', "1:11: invalid timestamp argument"),
        ('"abc".matches("(")', "1:15: invalid matches argument"),
        ('matches("(", "a")', "1:9: invalid matches argument"),
    ],
)
def test_literals_are_validated(text: str, place: str) -> None:
    found = refused(Environment.admission(), text)
    assert found == f"compilation failed: ERROR: <input>:{place}"


def test_problems_have_line_column_and_excerpt() -> None:
    with pytest.raises(CelTypeError) as caught:
        Environment.admission().check("true &&\n  nope")
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (2, 3)
    assert problem.excerpt == " |   nope\n | ..^"
    with pytest.raises(CelSyntaxError):
        Environment.admission().check("1 +")


def test_deep_and_long_expressions_compile_and_run() -> None:
    environment = Environment.kubernetes()
    assert environment.compile("(" * 249 + "1" + ")" * 249).evaluate({}) == 1
    assert environment.compile("1" + " + 1" * 250).evaluate({}) == 251
    assert environment.compile(" && ".join(["true"] * 5_000)).evaluate({}) is True
    nested = "[1].map(x, " * 240 + "1" + ")" * 240
    result = environment.compile(nested).evaluate({})
    for _ in range(240):
        (result,) = result
    assert result == 1


def test_threads_share_the_room_for_deep_expressions() -> None:
    before = sys.getrecursionlimit()
    text = "(" * 249 + "1" + ")" * 249
    with ThreadPoolExecutor(4) as pool:
        results = list(
            pool.map(lambda _: str(Environment.admission().check(text).result_type), range(40))
        )
    assert results == ["int"] * 40
    assert sys.getrecursionlimit() == before


def test_the_environment_is_found_where_users_look_for_it() -> None:
    from policyd.cel import Environment as Public

    assert Public.kubernetes().compile("object.a + 1").evaluate({"object": {"a": 2}}) == 3
