"""Values of the wrong type: what to write instead."""

import pytest

from policyd.cel.env import Environment
from policyd.cel.types.types import BOOL, LIST_OF_JSONPATCH, OBJECT, STRING, Type
from policyd.errors import CelTypeError
from policyd.policy.compile.reads.compiled_reads import INDEX, OBJECTS

VALIDATION = Environment.admission()
READING = VALIDATION.extend(
    {"reads.quotas": OBJECTS, "reads.keyed": INDEX, "variables.quota": STRING}
)
MUTATION = Environment.admission(patch_types=True)


def hint(expression: str, environment: Environment = VALIDATION, *expect: Type) -> str:
    with pytest.raises(CelTypeError) as raised:
        environment.check(expression, expect=expect)
    return raised.value.problems[0].hint


OPERANDS = [
    ("object.list.map(c, c.a) - ['a']", "write object.list.map(c, c.a).filter(x, !(x in ['a']))"),
    ("object.list.map(c, c.a) - 'a'", "write object.list.map(c, c.a).filter(x, x != 'a')"),
    ("object.list.all(x, ([1] - [x]) == [])", "write [1].filter(y, !(y in [x]))"),
    ("object.list - ['a']", "write object.list.filter(x, !(x in ['a']))"),
    (
        "object.labels - {'a': 'b'}",
        "write object.labels.filter(x, !(x in {'a': 'b'})) for the keys",
    ),
    ("object.name - 'a'", "write object.name.replace('a', '')"),
    ("[1] > [2]", "write size([1]) > size([2])"),
    ("quantity(object.a) > quantity('1Gi')", "quantity(object.a).isGreaterThan(quantity('1Gi'))"),
    ("quantity(object.a) <= '1Gi'", "!quantity(object.a).isGreaterThan(quantity('1Gi'))"),
    ("quantity('1') / quantity('2')", "quantity('1').asApproximateFloat() / quantity('2')"),
    ("quantity('1') * object.ratio", "quantity('1').asApproximateFloat() * double(object.ratio)"),
    ("quantity('1') / 2", "quantity('1').asApproximateFloat() / 2.0"),
    ("quantity('1') % 2", "quantity('1').asInteger() % 2"),
    ("quantity('1').compareTo(5)", "quantity('1').compareTo(quantity('5'))"),
    ("quantity(object.a) > 5.5", "quantity(object.a).asApproximateFloat() > 5.5"),
    ("quantity('1') + quantity('2')", "quantity('1').add(quantity('2'))"),
    ("quantity('1') == '2'", "quantity('1') == quantity('2')"),
    ("quantity(1)", "quantity('1')"),
    ("quantity(object.a) > 5", "write quantity(object.a).isGreaterThan(quantity('5'))"),
    (
        "quantity(object.a) - quantity('1') > 5",
        "write quantity(object.a).sub(quantity('1')).isGreaterThan(quantity('5'))",
    ),
    (
        "5 <= quantity(object.a) + 2",
        "write !quantity('5').isGreaterThan(quantity(object.a).add(quantity('2')))",
    ),
    (
        "!(quantity(object.a) + object.b < 5)",
        "write !quantity(object.a).add(quantity(object.b)).isLessThan(quantity('5'))",
    ),
    (
        "quantity(object.a) + 2 == object.b",
        "write quantity(object.a).add(quantity('2')) == quantity(object.b)",
    ),
    ("quantity(object.a) + 2 > 1.5", "write quantity(object.a).asApproximateFloat() + 2.0 > 1.5"),
    ("-quantity(object.a) == quantity('1')", "write quantity('0').sub(quantity(object.a))"),
    ("int(quantity(object.a)) > 5", "write quantity(object.a).asInteger()"),
    ("double(quantity(object.a)) > 5.0", "write quantity(object.a).asApproximateFloat()"),
    ("string(quantity(object.a)) == '1'", "use the string that it is made of"),
    (
        "[quantity(object.a)].sum() > 5",
        "write [quantity(object.a)].map(q, q.asApproximateFloat()).sum()",
    ),
    (
        "quantity(object.a) in ['1', '2']",
        "write ['1', '2'].exists(x, quantity(object.a) == quantity(x))",
    ),
    (
        "quantity(object.a) in [1, 2]",
        "write [1, 2].exists(x, quantity(object.a) == quantity(string(x)))",
    ),
    ("object.a ? true : null", "write true or false in place of null"),
    ("semver('1.0.0') < semver('2.0.0')", "semver('1.0.0').isLessThan(semver('2.0.0'))"),
    ("size(object.a) > '3'", "size(object.a) > 3, without quotes"),
    ("size(object.a) + 'x'", "string(size(object.a)) + 'x'"),
    ("size(object.a) == '1Gi'", "quantity('1Gi') for a quantity"),
    ("size(object.a) / 1.5", "double(size(object.a)) / 1.5"),
    ("1 == 1.0", "1.0 == 1.0"),
    ("request.dryRun == 'true'", "request.dryRun == true, without quotes"),
    ("true ? 'a' : null", "true ? dyn('a') : null"),
    ("true ? 'a' : 1", "string(1), or dyn(1)"),
    ("request.name ? 1 : 2", "request.name != ''"),
    ("timestamp(object.a) - '24h'", "timestamp(object.a) - duration('24h')"),
    (
        "timestamp(object.a) - '2027-01-01T00:00:00Z'",
        "timestamp(object.a) - timestamp('2027-01-01T00:00:00Z')",
    ),
    ("timestamp(object.a) > '2027-01-01T00:00:00Z'", "timestamp(object.a) > timestamp('2027"),
    ("duration(object.a) > '1h'", "duration(object.a) > duration('1h')"),
    ("timestamp(object.a) + 60", "timestamp(object.a) + duration('60s')"),
    ("'a' in 'abc'", "'abc'.contains('a')"),
    ("string(request.userInfo.groups)", "write request.userInfo.groups.join(', ')"),
    ("type(object.a) == 'int'", "write type(object.a) == int, without quotes"),
    ("string.startsWith(object.a, 'b')", "write object.a.startsWith('b')"),
    ("request.namespace.labels == {}", "write namespaceObject.metadata"),
    ("object.a in 'b, c'", "write object.a in ['b', 'c']"),
    ("object.a.split(',', 'b')", "string.split(string, int) -> list(string)"),
    ("duration(size(object.a)) > duration('1s')", "write duration(string(size(object.a)) + 's')"),
    ("object.?a.orValue()", "orValue takes 1 argument, not 0"),
    ("object.list.filter(c, c.a) == 0", "write size(object.list.filter(c, c.a)) == 0"),
    ("object.a.startsWith(['b', 'c'])", "write ['b', 'c'].exists(x, object.a.startsWith(x))"),
    ("object.?a.or(false)", "write object.?a.orValue(false)"),
    ("cidr('10.0.0.0/8').contains(cidr(object.a))", "containsCIDR(cidr(object.a))"),
    ("cidr('10.0.0.0/8').contains(ip(object.a))", "containsIP(ip(object.a))"),
    ("object.a in cidr('10.0.0.0/8')", "containsIP(object.a) for an address, cidr("),
    ("ip(object.a) in cidr('10.0.0.0/8')", "write cidr('10.0.0.0/8').containsIP(ip(object.a))"),
    ("[1] + ['a']", "write [1] + dyn(['a'])"),
    ("namespaceObject.metadata.labels.app.kubernetes.io", "labels['app.kubernetes…']"),
    ("namespaceObject.metadata.?labels.app.io", "metadata.?labels['app.io…']"),
    ("'a' == request.userInfo.groups", "'a' in request.userInfo.groups"),
    ("request.userInfo.groups > 1", "size(request.userInfo.groups) > 1"),
    ("request.userInfo.groups.name", "request.userInfo.groups.map(x, x.name)"),
    ("1 < size(object.a) < 5", "1 < size(object.a) && size(object.a) < 5"),
    ("!request.name", "request.name == ''"),
    ("!size(object.a)", "size(object.a) == 0"),
    ("!object.?a", "!object.?a.orValue(false)"),
    ("object.?a == 1 && object.?b == 2", "object.?a.orValue(…) == 1"),
    ("size(object.a) && true", "size(object.a) > 0"),
    ("object.?a || true", "object.?a.orValue(false)"),
    ("object.?a.all(x, true)", "a.?b.orValue([]).all(…)"),
    ("'%s' % 'a'", "'%s'.format(['a'])"),
    ("'%s'.format('a')", "'%s'.format(['a'])"),
    ("request.kind == 'Pod'", "request.kind.kind == 'Pod'"),
    ("[1, 'a']", "dyn('a')"),
    ("int(true)", "true ? 1 : 0"),
    ("cidr('10.0.0.0/8').containsIP(1)", "containsIP('1')"),
    ("duration('1d')", "'24h'"),
    ("timestamp('2027-01-01')", "RFC 3339"),
    ("object.a.matches('*.example.com')", "for a glob write object.a.endsWith('.example.com')"),
    ("object.a.matches('a.b/**')", "for a glob write object.a.startsWith('a.b/')"),
    ("object.a.matches('*a*')", "for a glob write object.a.contains('a')"),
    ("object.a.matches('?*')", "for a glob write object.a.matches('^..*$')"),
    ("object.a.matches('*')", "for a glob write true"),
    ("'a'.matches('(?=a)')", "RE2 does not look ahead"),
    (r"'a'.matches('(a)\\1')", "RE2 has no back-references"),
    ("'a'.matches('^(a|b')", "missing closing ): `^(a|b`"),
    ("object.kind in 'Pod'", "object.kind == 'Pod', or object.kind in ['Pod'] for one of several"),
    ("object.a ? 'x' : null", "write '' in place of null for no text, object.a ? dyn('x') : null"),
    ("object.a.startsWith('b') || 'c'", "write object.a.startsWith('c')"),
    ("object.a == 'b' || 'c' || object.d", "write object.a == 'c'"),
    ("1 || optional.none()", "write a comparison: 1 > 0"),
    ("object.a && (object.b ? 'c' : 'd')", "comparison: (object.b ? 'c' : 'd') != '', or == '…'"),
    ("!(object.b ? 'c' : 'd')", "write (object.b ? 'c' : 'd') == ''"),
    ("object.a && 'c'", "write a comparison: 'c' != '', or == '…'"),
    ("size(object.a) in ['1', '2']", "write string(size(object.a)) in ['1', '2']"),
    ("request.name in [1, 2]", "write int(request.name) in [1, 2]"),
    ("{'a': 'b'} + {'c': 'd'}", "CEL does not add maps; an Object{…} names only what changes"),
    ("request.userInfo.optMap(u, u.username).hasValue()", "write request.?userInfo, an optional"),
    ("hasValue()", "write x.hasValue()"),
    ("true ? ['a'] : null", "write [] in place of null"),
    ("true ? null : {'a': 1}", "write {} in place of null"),
    (
        "object.a == 1 ? 'no' : true",
        "a condition is true or false, and its text belongs in messageExpression",
    ),
    ("size('a', 'b')", "size takes 1 argument, not 2"),
    ("'a'.split()", "split takes 1 or 2 arguments, not 0"),
]


@pytest.mark.parametrize(("expression", "want"), OPERANDS)
def test_operands_of_other_types(expression: str, want: str) -> None:
    assert want in hint(expression)


# A comparison of quantities with a factor, and what is written for the whole of it.
QUANTITIES = [
    ("quantity(object.a) <= quantity(object.b) * 4",
     "quantity(object.a).asApproximateFloat() <= quantity(object.b).asApproximateFloat() * 4.0"),
    ("!quantity(object.a).isGreaterThan(quantity(object.b) * 4)",
     "quantity(object.a).asApproximateFloat() <= quantity(object.b).asApproximateFloat() * 4.0"),
    ("!quantity(object.a).isLessThan(quantity(object.b).asApproximateFloat() * double(4))",
     "quantity(object.a).asApproximateFloat() >= quantity(object.b).asApproximateFloat() * double(4)"),
    ("quantity(object.a) * (quantity(object.b) + quantity(object.c)) > 5",
     "quantity(object.a).asApproximateFloat() * (quantity(object.b).asApproximateFloat() + "
     "quantity(object.c).asApproximateFloat()) > 5.0"),
    ("quantity(object.a) - quantity(object.b) / 2 == quantity(object.c) && true",
     "quantity(object.a).asApproximateFloat() - quantity(object.b).asApproximateFloat() / 2.0 == "
     "quantity(object.c).asApproximateFloat()"),
    ("quantity(object.a) + object.b * 2 > quantity('5')",
     "quantity(object.a).asApproximateFloat() + double(object.b) * 2.0 > quantity('5').asApproximateFloat()"),
    ("quantity(object.a) < size(object.b) * quantity('2')",
     "quantity(object.a).asApproximateFloat() < double(size(object.b)) * quantity('2').asApproximateFloat()"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "want"), QUANTITIES)
def test_one_hint_for_a_comparison_of_quantities(expression: str, want: str) -> None:
    assert hint(expression) == f"write {want}"
    Environment.admission().check(want)


RESULTS = [
    ("request.name", BOOL, "write a comparison: request.name == '…'"),
    ("object.a ? 1 : 2", BOOL, "write a comparison: (object.a ? 1 : 2) > 0"),
    ("object.a ? 'b' : 'c'", BOOL, "write a comparison: (object.a ? 'b' : 'c') == '…'"),
    ("'true'", BOOL, "write true without quotes"),
    ("1", BOOL, "write true or false"),
    ("size(object.a)", BOOL, "write a comparison: size(object.a) > 0"),
    ("object.spec.hostNetwork", BOOL, "compare, as in `... == true`"),
    ("object.?a", BOOL, "write object.?a.orValue(false)"),
    ("[1].map(x, x > 1)", BOOL, "write .all(x, CONDITION) in place of .map"),
    ("[JSONPatch{op: 'add'}]", BOOL, "write list.all(x, CONDITION)"),
    ("Object{spec: 1}", BOOL, "a validation cannot change objects: write mutations"),
    ("size(object.a)", STRING, "write string(size(object.a))"),
    ("request.userInfo.groups", STRING, "write request.userInfo.groups.join(', ')"),
    ("object.a", STRING, "convert it with string(...)"),
    ("object.a ? dyn('x') : null", STRING, "write '' in place of null"),
    ("JSONPatch{op: 'test', path: '/a'}", LIST_OF_JSONPATCH, "write a list: [JSONPatch{op: 'test'"),
    ("Object{spec: 1}", LIST_OF_JSONPATCH, "is for patchType ApplyConfiguration"),
    ("{'op': 'add'}", LIST_OF_JSONPATCH, "write a list: [JSONPatch{op: 'add'"),
    (
        "[{'op': 'add'}]",
        LIST_OF_JSONPATCH,
        "write each item as JSONPatch{op: 'add', path: '/spec/x', value: …}",
    ),
    ("[['op', 'add']]", LIST_OF_JSONPATCH, "write each item as JSONPatch{op: 'add'"),
    ("[Object{}]", LIST_OF_JSONPATCH, "write each item as JSONPatch{op: 'add'"),
    ("[JSONPatch{op: 'add'}]", OBJECT, "is for patchType JSONPatch"),
    ("Object.spec{a: 1}", OBJECT, "write the whole object: Object{spec: Object.spec{…}}"),
    ("{'spec': 1}", OBJECT, "write Object{spec: Object.spec{…}}"),
]


@pytest.mark.parametrize(("expression", "expect", "want"), RESULTS)
def test_results_of_other_types(expression: str, expect: Type, want: str) -> None:
    assert want in hint(expression, MUTATION, expect)


VALID = [
    ("object.a > 3 ? 'many' : ''", "object.a <= 3"),
    ("object.a == 'b' ? 'no ' + object.a : ''", "object.a != 'b'"),
    ("object.a in [1, 2] ? 'no' : ''", "!(object.a in [1, 2])"),
    ("!object.a ? 'no' : ''", "object.a == true"),
    ("object['a'] ? '' : 'no'", "object['a'] == true"),
    ("!(object.a && object.b) ? 'no' : ''", "object.a && object.b"),
    ("has(object.a) ? '' : 'no'", "has(object.a)"),
    ("has(object.a) || object.b ? 'no' : ''", "!(has(object.a) || object.b)"),
    ("object.a < 1 ? 'few' : (object.a > 3 ? 'many' : '')", "object.a >= 1 && object.a <= 3"),
    (
        "object.a ? 'no' : (object.b || object.c ? '' : 'many')",
        "!object.a && (object.b || object.c)",
    ),
]


@pytest.mark.parametrize(("expression", "want"), VALID)
def test_a_condition_in_place_of_the_text_of_a_refusal(expression: str, want: str) -> None:
    assert hint(expression, VALIDATION, BOOL) == (
        "a validation is true or false: write the condition under which the object is valid: "
        f"{want}; its text belongs in message or messageExpression"
    )
    Environment.admission().check(want, expect=(BOOL,))


def test_fields_of_patches() -> None:
    assert hint("[JSONPatch{operation: 'add'}]", MUTATION) == (
        "JSONPatch has the fields op, path, from and value"
    )
    assert hint("JsonPatch{op: 'add'}", MUTATION).startswith("write JSONPatch{op: 'add'")


INDEXES = [
    ("request.userInfo.groups['a']", "write request.userInfo.groups.exists(x, x == 'a')"),
    (
        "[{'a': 'b'}]['b']",
        "write [{'a': 'b'}].filter(x, x.name == 'b')[0], by a field of its items",
    ),
    ("[1]['b']", "the items of a list have numbers, from 0: write [1][0]"),
    (
        "[object]['b']",
        "write [object].filter(x, x.name == 'b')[0], by a field of its items, or "
        "[object].exists(x, x == 'b')",
    ),
    (
        "reads.quotas[request.namespace]",
        "give the read key: item.metadata.namespace, and write "
        "reads.quotas[?request.namespace].orValue([])",
    ),
    (
        "reads.quotas[?variables.quota]",
        "give the read key: item.metadata.name, and write "
        "reads.quotas[?variables.quota].orValue([])",
    ),
    (
        "reads.keyed['a']['b']",
        "write reads.keyed['a'].filter(x, x.metadata.name == 'b')[0], by a field of its items",
    ),
    (
        "reads.quotas.filter(q, true)['b']",
        "write reads.quotas.filter(q, true).filter(x, x.metadata.name == 'b')[0], by a field of "
        "its items",
    ),
]


@pytest.mark.parametrize(("expression", "want"), INDEXES)
def test_a_list_indexed_by_a_string(expression: str, want: str) -> None:
    assert hint(f"{expression} != null", READING) == want
