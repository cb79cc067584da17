"""The checker: result types, messages with their places, and what Kubernetes' validators add."""

from dataclasses import replace

import pytest

from policyd.cel.check.checker import check
from policyd.cel.check.validators import validate
from policyd.cel.syntax.ast import Call, Ident, ListExpr
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.source import Source
from policyd.cel.types.declarations import Scope
from policyd.cel.types.structs import (
    ADMISSION,
    NAMESPACE,
    REQUEST,
    VARIABLES,
    Structs,
    variable_type,
)
from policyd.cel.types.types import (
    BOOL,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    optional_of,
)
from policyd.errors import CelTypeError
from policyd.versions import KubernetesVersion
from tests.cel.kubernetes import functions

FIELDS = {"x": INT, "names": list_of(STRING)}
SCOPE = Scope(
    {
        "object": DYN,
        "request": REQUEST,
        "namespaceObject": NAMESPACE,
        "variables": VARIABLES,
        "authorizer": Type("kubernetes.authorization.Authorizer"),
        "authorizer.requestResource": Type("kubernetes.authorization.ResourceCheck"),
    },
    functions(),
    Structs(ADMISSION, patches=True).with_fields(VARIABLES.name, FIELDS),
)


def no_failure(function: str, values: tuple[object, ...]) -> bool:
    return False


def errors(text: str, scope: Scope = SCOPE) -> str:
    with pytest.raises(CelTypeError) as caught:
        checked = check(text, parse(text), scope)
        issues = validate(checked, no_failure)
        if issues:
            raise Source(text).error(CelTypeError, issues)
    return caught.value.text


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 + 1", "int"),
        ("1 < 1.5", "bool"),
        ("dyn(1) == 1.0", "bool"),
        ("null < null", "bool"),
        ("object.a + 1", "int"),
        ("object.a + object.b", "dyn"),
        ("[1, 2].map(x, [x])", "list(list(int))"),
        ("[]", "list(dyn)"),
        ("{}", "map(dyn, dyn)"),
        ("true ? [1] : []", "list(int)"),
        ("{'a': 1}.transformMap(k, v, k)", "map(string, string)"),
        ("{'a': 1}.transformMapEntry(k, v, {v: k})", "map(int, string)"),
        ("[3, 1].sortBy(x, -x)", "list(int)"),
        ("optional.of(1).optMap(x, string(x))", "optional_type(string)"),
        ("object.?a.b", "optional_type(dyn)"),
        ("{'a': 1}.?a", "optional_type(int)"),
        ("[?optional.of(1), 2]", "list(int)"),
        ("request.userInfo.extra", "map(string, list(string))"),
        ("namespaceObject.metadata.creationTimestamp", "google.protobuf.Timestamp"),
        ("namespaceObject.metadata.namespace", "string"),
        ("has(request.name)", "bool"),
        ("variables.names.map(n, size(n))", "list(int)"),
        ("authorizer.requestResource.check('get').allowed()", "bool"),
        ("authorizer.path('/healthz').check('get')", "kubernetes.authorization.Decision"),
        ("sets.contains([1], [2])", "bool"),
        ("[JSONPatch{op: 'add', path: '/x', value: [1]}]", "list(JSONPatch)"),
        ("true ? [JSONPatch{op: 'add'}] : []", "list(JSONPatch)"),
        ("Object{spec: Object.spec{replicas: 1}}", "Object"),
        ("int", "type(int)"),
        ("list", "type(list(dyn))"),
        ("type([1]) == list", "bool"),
        ("null_type", "type(null_type)"),
        ("null", "null_type"),
        ("net.IP", "type(net.IP)"),
        (".object", "dyn"),
        ("'%s %d'.format([1, 2u])", "string"),
        ("[1, 1.0, 'x']", "list(dyn)"),
    ],
)
def test_result_type(text: str, result: str) -> None:
    assert str(check(text, parse(text), SCOPE).result_type) == result


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("a.b", ["1:1: undeclared reference to 'a' (in container '')"]),
        ("foo(1) + bar(2)", ["1:4: undeclared reference to 'foo' (in container '')", "1:13: undeclared reference to 'bar' (in container '')"]),
        ("math.abs(-1) == 1", ["1:1: undeclared reference to 'math' (in container '')", "1:9: undeclared reference to 'abs' (in container '')"]),
        ("1 == 1.0", ["1:3: found no matching overload for '_==_' applied to '(int, double)'"]),
        ("[1] == [1.0]", ["1:5: found no matching overload for '_==_' applied to '(list(int), list(double))'"]),
        ("1.0 in {1: 'x'}", ["1:5: found no matching overload for '@in' applied to '(double, map(int, string))'"]),
        ("'a'.contains('a', 'b')", ["1:13: found no matching overload for 'contains' applied to 'string.(string, string)'"]),
        ("timestamp(1.5)", ["1:10: found no matching overload for 'timestamp' applied to '(double)'"]),
        ("true ? 'a' : null", ["1:6: found no matching overload for '_?_:_' applied to '(bool, string, null)'"]),
        ("1 && 'a' || true", ["1:1: expected type 'bool' but found 'int'", "1:6: expected type 'bool' but found 'string'"]),
        ("[1].all(x, x)", ["1:12: expected type 'bool' but found 'int'"]),
        ("1.all(x, true)", ["1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"]),
        ("[?1]", ["1:3: expected type 'optional_type(int)' but found 'int'"]),
        ("{?'a': 1}", ["1:8: expected type 'optional_type(int)' but found 'int'"]),
        ("[].map(x, x)[0] == [].size", ["1:22: type 'list(_var9)' does not support field selection"]),
        ("request.uid", ["1:8: undefined field 'uid'"]),
        ("request['name']", ["1:8: found no matching overload for '_[_]' applied to '(kubernetes.AdmissionRequest, string)'"]),
        ("variables.y", ["1:10: undefined field 'y'"]),
        ("quantity('1').foo", ["1:14: unexpected failed resolution of 'kubernetes.Quantity'"]),
        ("ip('1.1.1.1').foo", ["1:14: type 'net.IP' does not support field selection"]),
        ("object{a: 1}", ["1:7: undeclared reference to 'object' (in container '')"]),
        ("[1].map(x, .x)", ["1:13: undeclared reference to '.x' (in container '')"]),
        ("Foo{a: 1}", ["1:4: undeclared reference to 'Foo' (in container '')"]),
        ("JSONPatch{bogus: 1}", ["1:16: expected type of field 'bogus' is '' but provided type is 'int'"]),
        ("JSONPatch{path: null}", ["1:15: expected type of field 'path' is 'string' but provided type is 'null'"]),
        ("object.?a.startsWith('1')", ["1:21: found no matching overload for 'startsWith' applied to 'optional_type(dyn).(string)'"]),
        ("{'a': 1}.transformMapEntry(k, v, [k])", ["1:27: found no matching overload for 'cel.@mapInsert' applied to '(map(dyn, dyn), list(string))'"]),
        ("[1].existsOne(x, x == 1)", ["1:14: undeclared reference to 'existsOne' (in container '')", "1:15: undeclared reference to 'x' (in container '')", "1:18: undeclared reference to 'x' (in container '')"]),
        ("[1, 'a', true]", ["1:5: expected type 'int' but found 'string'"]),
        ("{'a': 1, 2: 'x'}", ["1:10: expected type 'string' but found 'int'", "1:13: expected type 'int' but found 'string'"]),
        ("'%s'.format([[1, 'a']]) == [1, 'b'][1]", ["1:32: expected type 'int' but found 'string'"]),
        ("'%s %s'.format(['a'])", ["1:15: index 1 out of range"]),
        ("'%z'.format([1])", ["1:12: could not parse formatting clause: unrecognized formatting clause \"z\""]),
        ("'%s'.format([1, 2])", ["1:12: too many arguments supplied to string.format (expected 1, got 2)"]),
        ("'%d'.format(['x'])", ["1:14: error during formatting: decimal clause can only be used on integers, was given string"]),
        ("'%d'.format([{'a': 1}])", ["1:14: error during formatting: decimal clause can only be used on integers, was given map"]),
        ("'%s'.format([[quantity('1')]])", ["1:23: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given kubernetes.Quantity"]),
        ("'%'.format([])", ["1:11: unexpected end of string"]),
        ("'%.'.format([1])", ["1:12: could not parse formatting clause: error while parsing precision: could not find end of precision specifier"]),
        ("'%.f'.format([1.0])", ["1:13: could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing \"\": invalid syntax"]),
        ("'%é'.format([1])", ["1:12: could not parse formatting clause: unrecognized formatting clause \"Ã\""]),
    ],
)  # fmt: skip
def test_error(text: str, messages: list[str]) -> None:
    found = [line for line in errors(text).splitlines() if not line.startswith(" | ")]
    assert found == [f"ERROR: <input>:{message}" for message in messages]


def test_caret_is_wide_under_wide_characters() -> None:
    assert errors('"hé☃".reverse()') == (
        "ERROR: <input>:1:14: found no matching overload for 'reverse' applied to 'string.()'\n"
        ' | "hé☃".reverse()\n'
        " | ..．．.........^"
    )


def test_names_are_resolved_in_the_tree() -> None:
    checked = check("t", parse("sets.contains([authorizer.requestResource], [])"), SCOPE)
    assert checked.references[checked.expr.id].overload_ids == ("list_sets_contains_list",)
    call = checked.expr
    assert isinstance(call, Call) and call.target is None
    resolved = call.args[0]
    assert isinstance(resolved, ListExpr)
    (name,) = resolved.elements
    assert isinstance(name, Ident) and name.name == "authorizer.requestResource"


def test_unknown_argument_types_keep_every_overload_that_may_fit() -> None:
    checked = check("t", parse("size(object)"), SCOPE)
    ids = checked.references[checked.expr.id].overload_ids
    assert ids == ("size_bytes", "size_list", "size_map", "size_string")


@pytest.mark.parametrize(
    ("expression", "declared"),
    [
        (INT, INT),
        (TIMESTAMP, TIMESTAMP),
        (map_of(STRING, list_of(BOOL)), map_of(STRING, list_of(BOOL))),
        (list_of(optional_of(INT)), list_of(DYN)),
        (optional_of(INT), DYN),
        (Type("kubernetes.Quantity"), DYN),
    ],
)
def test_variables_forget_types_as_in_kubernetes(expression: Type, declared: Type) -> None:
    assert variable_type(expression) == declared


def test_names_meant_something_else_before_1_37() -> None:
    scope = replace(SCOPE, version=KubernetesVersion(1, 36))
    assert "'dyn' is not a type" in errors("object{a: 1}", scope)
    assert check("t", parse("[1].map(x, .x)"), scope).result_type == list_of(INT)
    # A global variable behind a macro's.
    text = "[1].map(object, .object)"
    assert check("t", parse(text), scope).result_type == list_of(INT)
    assert check("t", parse(text), SCOPE).result_type == list_of(DYN)


def test_types_that_double_are_refused() -> None:
    text = "[{1: 1}]" + ".map(x, {x: x})" * 60
    assert ": type of more than 1000 names" in errors(text)
