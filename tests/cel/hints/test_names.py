"""Names that nothing declares: what to write instead."""

import pytest

from policyd.cel.env import Environment
from policyd.cel.types.types import DYN, STRING, list_of
from policyd.errors import CelTypeError, Problem
from policyd.versions import KubernetesVersion
from tests.cel.variables import with_variables

PLAIN = Environment.admission()
POLICY = with_variables(PLAIN, {"containers": list_of(DYN), "name": STRING})
OLD = Environment.admission(version=KubernetesVersion(1, 30))


def problems(expression: str, environment: Environment = POLICY) -> tuple[Problem, ...]:
    with pytest.raises(CelTypeError) as raised:
        environment.check(expression)
    return raised.value.problems


HINTS = [
    # Functions
    ("object.name.startswith('a')", "write object.name.startsWith('a')"),
    ("startsWith('a')", "write x.startsWith('a')"),
    ("object.name.glob('a*')", "write object.name.startsWith('a')"),
    ("fnmatch(object.name, '*.a')", "write object.name.endsWith('.a')"),
    ("startsWith(object.name, 'a')", "write object.name.startsWith('a')"),
    ("len(object.list)", "write size(object.list)"),
    ("object.name.toLower()", "write object.name.lowerAscii()"),
    ("object.name.to_upper()", "write object.name.upperAscii()"),
    ("variables.containers.contains('a')", "write 'a' in variables.containers"),
    ("variables.containers.length", "write size(variables.containers)"),
    ("variables.containers.size > 1", "write size(variables.containers)"),
    ("variables.containers.count()", "write size(variables.containers)"),
    ("variables.containers.count(c, c.tty)", "write size(variables.containers.filter(c, c.tty))"),
    ("object.list.any(c, c.a == 1)", "write object.list.exists(c, c.a == 1)"),
    ("url(object.a).host() == 'b'", "write url(object.a).getHost()"),
    ("any(object.list, c, c.a == 1)", "write object.list.exists(c, c.a == 1)"),
    ("containers.all(c, c.a)", "write variables.containers"),
    ("initContainers.all(c, c.a)", "write object.spec.initContainers"),
    ("object.list.forEach(c, c.a)", "write object.list.all(c, c.a)"),
    ("object.list.every(c, c.a)", "write object.list.all(c, c.a)"),
    ("object.name.match('a')", "write object.name.matches('a')"),
    ("object.name.regex('a')", "write object.name.matches('a')"),
    ("regex.match('a', object.name)", "write object.name.matches('a')"),
    ("strings.toLower(object.name)", "write object.name.lowerAscii()"),
    ("sets.contain([1], [1])", "did you mean sets.contains?"),
    ("fmt('%s', 'a')", "write '…'.format([…])"),
    ("object.list.all(c.a == 1)", "the variable first: object.list.all(c, c.a == 1)"),
    ("all(object.list, c, c.a)", "write object.list.all(c, c.a)"),
    ("exists(object.a)", "write has(object.a) for a field"),
    ("not(object.a == 1)", "write !(object.a == 1)"),
    ("isEmpty(object.list)", "write size(object.list) == 0"),
    ("keys(object.a)", "write object.a.map(k, k)"),
    ("join(['a'], ',')", "write ['a'].join(',')"),
    ("','.join(['a'])", "write ['a'].join(',')"),
    ("toString(object.a)", "write string(object.a)"),
    ("default(object.a, 1)", "write a.?b.orValue(1)"),
    ("(object.a + object.b).lower()", "write (object.a + object.b).lowerAscii()"),
    ("now()", "has no clock"),
    ("regex_match('^a', object.name)", "write object.name.matches('^a')"),
    ("resource.Quantity(object.a).isInteger()", "write quantity(object.a)"),
    ("net.cidr(object.a).isMask()", "write cidr(object.a)"),
    ("quantity(object.a).asFloat()", "write quantity(object.a).asApproximateFloat()"),
    ("object.?a.exists()", "write object.?a.hasValue()"),
    ("'a' in request.user.groups", "write request.userInfo.groups"),
    ("request.user.username == 'a'", "write request.userInfo.username"),
    # Variables
    ("variables.ctr.size()", "declared: containers, name"),
    ("variables.container.size()", "did you mean variables.containers?"),
    ("variable.containers.size()", "write variables.containers"),
    ("containers.size()", "write variables.containers"),
    ("this.spec", "write object"),
    ("self.spec", "write object"),
    ("resource.spec", "write object"),
    ("newObject.spec", "write object"),
    ("input.review.object.spec", "write object in place of input.review.object"),
    ("input.request.userInfo", "write request.userInfo in place of input.request.userInfo"),
    ("input.review.name", "write request.name in place of input.review.name"),
    ("input.parameters.x", "write params in place of input.parameters"),
    (
        "cel.bind(a, object.spec, a.b == 1)",
        "write object.spec for a, or declare it under variables",
    ),
    ("zz.image", "; for items of a list write object.spec.containers.map(zz, zz.image)"),
    ("old.spec", "write oldObject"),
    ("oldobject.spec", "did you mean oldObject?"),
    ("spec.replicas", "write object.spec"),
    ("params.max", "declare spec.paramKind"),
    ("user == 'x'", "write request.userInfo"),
    ("request.operation == CREATE", "write 'CREATE' in quotes"),
    ("object.a == None", "write null"),
    ("object.a == nil", "write null"),
    ("object.a == undefined", "write null"),
    ("object.a == True", "write true"),
    ("{name2: 1}", "write the key in quotes: {'name2': …}"),
    ("object.a.app-name", "write object.a['app-name']"),
    ("object.list.map(c, c.a) == c", "c is the variable of a macro"),
    # Fields
    ("request.object.spec", "write object"),
    ("request.oldObject.spec", "write oldObject"),
    ("request.user", "write request.userInfo.username"),
    ("request.namespac", "did you mean namespace?"),
    ("request.subresource", "write request.subResource"),
    ("request.labels", "write object.metadata.?labels"),
    ("namespaceObject.labels", "did you mean namespaceObject.metadata.labels?"),
    # Types
    ("Object{}", "only mutations know it"),
    ("[JSONPatch{op: 'add'}]", "only mutations know it"),
]


@pytest.mark.parametrize(("expression", "hint"), HINTS)
def test_what_to_write_instead(expression: str, hint: str) -> None:
    found = problems(expression)
    assert hint in found[0].hint
    assert not found[0].summary


def test_names_inside_of_an_unknown_macro_are_not_reported_again() -> None:
    (only,) = problems("object.list.any(c, c.a == 1 && c.b == 2)")
    assert only.column == 16


NEWER = [
    ("semver('1.2.3')", "semver() needs Kubernetes 1.33; expressions are checked for 1.30"),
    ("[1].sort()", "sort() needs Kubernetes 1.34"),
    ("object.a.all(k, v, true)", "all() needs Kubernetes 1.32"),
    ("object.a.sortBy(x, x.b)", "sortBy() needs Kubernetes 1.34"),
    ("format.named('uri')", "named() needs Kubernetes 1.31"),
]


@pytest.mark.parametrize(("expression", "hint"), NEWER)
def test_a_function_of_a_newer_version_names_it(expression: str, hint: str) -> None:
    (only,) = problems(expression, OLD)
    assert only.hint.startswith(hint)


def test_without_variables_the_hint_says_where_they_are_declared() -> None:
    (only,) = problems("variables.a == 1", PLAIN)
    assert only.hint == "declare spec.variables; matchConditions cannot use them"


def test_the_variable_of_an_unknown_macro_is_no_other_problem() -> None:
    for expression in ("any(object.list, c, c.a == 1)", "object.list.any(c, c.a == 1)"):
        assert len(problems(expression)) == 1
