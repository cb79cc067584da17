"""Advice on the types of what expressions get besides objects: of reads, and of inline params."""

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.type_check import type_check
from tests.builders.objects import gadget_definition
from tests.builders.policies import GADGETS, PODS, policy, rule
from tests.policy_sets import loaded

READS = [
    {"name": "pods", "apiVersion": "v1", "kind": "Pod"},
    {"name": "widgets", "apiVersion": "example.com/v1", "kind": "Widget"},
    {"name": "keyed", "apiVersion": "v1", "kind": "Pod", "key": "item.spec.nodeName"},
]
OF_READS = [
    ("'a' in reads.pods", "'@in' applied to '(string, list(Pod))'", "give the read a key, such as"),
    ("'a' in reads.widgets", "'(string, list(any))'", "give the read a key, such as key: item."),
    ("'a' in variables.pods", "'(string, list(Pod))'", ".exists(x, x.metadata.name == 'a')"),
    ("reads.pods.exists(i, i == 'a')", "'(Pod, string)'", "write i.metadata.name == 'a'"),
    ("reads.widgets.exists(i, 'a' == i)", "'(string, any)'", "write 'a' == i.metadata.name"),
    ("reads.pods.exists(i, i.spec.nodName == 'a')", "undefined field 'nodName'", "nodeName?"),
    ("'a' in reads.keyed && reads.keyed['a'].size() > 1", "", ""),
    ("'a' in reads.keyed['a']", "'(string, list(Pod))'", "give the read a key"),
    ("reads.widgets.exists(i, i.spec.x == 'a' && i.spec.?y.orValue(1) == 2)", "", ""),
    ("object in reads.pods || reads.widgets.exists(i, i == object)", "", ""),
    ("(reads.pods + reads.widgets).exists(i, i.metadata.name == object.metadata.name)", "", ""),
    ("reads.pods.exists(i, i.metadata.?labels == object.metadata.?labels)", "", ""),
]


@pytest.mark.parametrize(("expression", "message", "hint"), OF_READS)
@pytest.mark.parametrize("rules", [[PODS], [PODS, GADGETS], [rule("*", "*")]])
def test_objects_of_reads(
    expression: str, message: str, hint: str, rules: list[JSONObject]
) -> None:
    document = policy(
        matchConstraints={"resourceRules": rules},
        reads=READS,
        variables=[{"name": "pods", "expression": "reads.pods"}],
        validations=[{"expression": expression}],
    )
    found = list(in_policies(LintRun(loaded(document, gadget_definition())), type_check))
    assert len(found) == bool(message)
    assert all(message in each.message and hint in each.hint for each in found)


PARAMS: JSONObject = {
    "max": 4,
    "text": "4",
    "ratio": 1.5,
    "on": True,
    "none": None,
    "names": ["a", "b"],
    "mixed": ["a", 1],
    "empty": [],
    "teams": {"a.b": 1, "c": 2},
    "limits": [{"name": "cpu", "most": 2}, {"name": "memory", "most": 3}],
    "tolerations": [{"key": "a"}, {"key": "b", "effect": "NoSchedule"}],
    "context": {"runAsNonRoot": True},
}
OF_PARAMS = [
    ("object.spec.containers.size() <= params.text", "'_<=_' applied to '(int, string)'"),
    ("'at most ' + params.max != ''", "'_+_' applied to '(string, int)'"),
    ("params.text.exists(t, t == object.metadata.name)", "expression of type 'string'"),
    ("object.metadata.name in params.text", "'@in' applied to '(string, string)'"),
    ("object.spec.containers.size() in params.names", "'@in' applied to '(int, list(string))'"),
    ("params.limits.all(l, l.most == 'x')", "'_==_' applied to '(int, string)'"),
    ("params['max'] == 'x'", "'_==_' applied to '(int, string)'"),
    ("variables.most + 'x' == ''", "'_+_' applied to '(int, string)'"),
    ("params.max == 4 && params.text == '4' && params.on && params.ratio > 1", ""),
    ("params.none == 1 || params.none == 'a' || params.ratio == 2 || params.ratio + 1.0 > 2.0", ""),
    ("params.mixed.all(m, m == 'a' || m == 1) && params.empty.all(e, e.x == 1)", ""),
    ("object.metadata.name in params.names || 1 in params.mixed || 'a' in params.teams", ""),
    ("params.teams[object.metadata.name] > 1 && params.teams['a.b'] == 1", ""),
    ("params.teams.?d.orValue(0) > 1 || params.teams[?'x'].orValue('') == ''", ""),
    ("params.teams.all(t, t != '') && params.teams.exists(k, v, v > 1)", ""),
    ("has(params.other) && params.other == 'x' && params.?more.orValue(1) == 1", ""),
    ("object.spec.tolerations.exists(t, t in params.tolerations)", ""),
    ("params.tolerations.all(t, t in object.spec.tolerations)", ""),
    ("object.spec.securityContext == params.context || params.context == {}", ""),
    ("params.limits.filter(l, l.name == 'cpu')[0].most > 1 && size(params.limits) == 2", ""),
    ("params.limits + [{'name': 'x', 'most': 1}] != []", ""),
    ("params == {} || params.size() > 1", ""),
]


@pytest.mark.parametrize(("expression", "message"), OF_PARAMS)
@pytest.mark.parametrize("rules", [[PODS], [rule("*", "*")]])
def test_inline_params(expression: str, message: str, rules: list[JSONObject]) -> None:
    document = policy(
        matchConstraints={"resourceRules": rules},
        params=PARAMS,
        variables=[{"name": "most", "expression": "params.max"}],
        validations=[{"expression": expression}],
    )
    found = list(in_policies(LintRun(loaded(document)), type_check))
    assert len(found) == bool(message)
    assert all(message in each.message for each in found)
