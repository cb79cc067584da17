"""What is compiled once: equal expressions and rules of one set, and the policies that go from one set to
the next. A set which nobody uses is gone.
"""

import gc
import json
import weakref
from collections.abc import Iterable
from pathlib import Path

import orjson
import pytest

from policyd.errors import PolicyError
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile import compiler
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.compiler import compile_sources
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source import loader
from policyd.policy.source.loaded_documents import Sources
from tests.builders import policies as builders


def sources(*documents: JSONObject) -> Sources:
    return loader.load_text("\n---\n".join(orjson.dumps(each).decode() for each in documents))


def named(policies: CompiledPolicySet) -> dict[tuple[str, str], CompiledPolicy]:
    return {policy.sort_key: policy for policy in policies.policies}


def kept(former: CompiledPolicySet, policies: CompiledPolicySet) -> Iterable[str]:
    before = named(former)
    return [p.name for p in policies.policies if before.get(p.sort_key) is p]


VARIABLES = [{"name": "x", "expression": "1"}, {"name": "y", "expression": "variables.x + 1"}]
OTHER = [{"expression": "object.metadata.name != 'other'"}]
PATCH = {"expression": '[JSONPatch{op: "remove", path: "/spec"}]'}
MUTATING = builders.map_("m", mutations=[{"patchType": "JSONPatch", "jsonPatch": PATCH}])
FIRST = (builders.policy("own"), builders.vap("p"), builders.vap_binding("b"), MUTATING)


@pytest.mark.parametrize(
    ("second", "same"),
    [
        (FIRST, ["m", "own", "p"]),
        (FIRST[::-1], ["m", "own", "p"]),
        ((*FIRST, builders.policy("new")), ["m", "own", "p"]),
        (FIRST[1:], ["m", "p"]),
        ((builders.policy("own", validations=OTHER), *FIRST[1:]), ["m", "p"]),
        ((*FIRST, builders.vap_binding("b2")), ["m", "own"]),
        ((FIRST[0], FIRST[1], FIRST[3]), ["m", "own"]),
        ((*FIRST[:2], builders.vap_binding("b", validationActions=["Warn"])), ["own"]),
        ((*FIRST, builders.map_binding("mb")), ["own", "p"]),
        ((FIRST[0], *FIRST), ["m", "own", "p"]),
        ([builders.policy("own", variables=[{"name": "x", "expression": "1 +"}])], []),
    ],
)
def test_what_did_not_change_is_used_again(second: tuple[JSONObject, ...], same: list[str]) -> None:
    former = compile_sources(sources(*FIRST))
    after = compile_sources(sources(*second), former)
    fresh = compile_sources(sources(*second))
    assert kept(former, after) == same
    assert list(map(str, after.problems)) == list(map(str, fresh.problems))
    assert [p.sort_key for p in after.policies] == [p.sort_key for p in fresh.policies]
    assert [p.problem for p in after.policies] == [p.problem for p in fresh.policies]


def test_policy_is_used_again_where_its_lines_moved() -> None:
    text = "apiVersion: policyd.dev/v1\nkind: Policy\nmetadata: {name: moved}\nspec:\n"
    text += "  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], "
    text += "operations: [CREATE], resources: [pods]}]}\n  validations: [{expression: 'true'}]\n"
    former = compile_sources(loader.load_text(f"---\n{text}"))
    after = compile_sources(loader.load_text(f"# a comment\n---\n{text}"), former)
    assert kept(former, after) == ["moved"]


def test_quarantined_policy_is_tried_again() -> None:
    broken = builders.policy("own", validations=[{"expression": "1"}])
    former = compile_sources(sources(broken))
    after = compile_sources(sources(broken), former)
    assert after.quarantined and after.problems == former.problems != ()


def test_an_exception_that_changes_touches_what_it_names_only() -> None:
    rows = [builders.policy(name) for name in "pqr"]
    former = compile_sources(sources(*rows, builders.policy_exception("e", "[pq]", "p", "q")))
    second = builders.policy_exception("e", "q", "r")
    policies = compile_sources(sources(*rows, second), former)
    before, now = named(former), named(policies)
    exempt = {key[0]: [each.name for each in made.exemptions] for key, made in now.items()}
    assert exempt == {"p": [], "q": ["e"], "r": ["e"]}
    assert all(now[key].validation is made.validation for key, made in before.items())
    again = compile_sources(sources(*rows, second), policies)
    assert all(named(again)[key] is made for key, made in now.items())
    assert now["p", "Policy"].invoked_once and not now["r", "Policy"].invoked_once


def test_an_exception_that_breaks_exempts_nothing_and_breaks_nothing() -> None:
    rows = [builders.policy("p"), builders.vap("v"), builders.vap_binding("b", policyName="v")]
    former = compile_sources(sources(*rows, builders.policy_exception("e", "*")))
    assert all(each.exemptions for each in former.policies)
    broken = builders.policy_exception("e", "*", until="2027-02-31")
    policies = compile_sources(sources(*rows, broken), former)
    assert [each.path for each in policies.problems] == ["spec.until"]
    assert [(each.exemptions, each.problem) for each in policies.policies] == [((), "")] * 2
    assert [each.validation for each in policies.policies] == [
        each.validation for each in former.policies
    ]


def test_counters_go_on() -> None:
    former = compile_sources(sources(*FIRST))
    for second in (FIRST, [builders.policy("own", validations=OTHER)]):
        after = compile_sources(sources(*second), former)
        counters = named(after)["own", "Policy"].counters
        assert counters is named(former)["own", "Policy"].counters
        assert [each.name for each in after.counters()] == ["m", "own", "p"]


def test_set_is_gone_with_its_last_user() -> None:
    """Without the garbage collector, which the server keeps away from policies."""
    adding = [{"expression": "variables.y > 1"}]
    wrong = [{"expression": "variables.z"}]
    gc.collect()
    gc.disable()
    try:
        made = sources(
            builders.policy("own", variables=VARIABLES, validations=adding),
            builders.policy("broken", variables=VARIABLES, validations=wrong),
            *FIRST[1:],
        )
        policies = compile_sources(made)
        assert [policy.name for policy in policies.quarantined] == ["broken"]
        gone = weakref.ref(policies)
        del policies, made
        assert gone() is None
        assert gc.collect() == 0
    finally:
        gc.enable()


RULE = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}


def write(folder: Path, name: str, variable: str, expression: str, params: JSON = None) -> None:
    spec = {
        "matchConstraints": {"resourceRules": [RULE]},
        "variables": [{"name": "x", "expression": variable}],
        "validations": [{"expression": expression}],
        "params": params,
    }
    document = {"apiVersion": "policyd.dev/v1", "kind": "Policy", "metadata": {"name": name}}
    (folder / f"{name}.json").write_text(json.dumps({**document, "spec": spec}))


def wrong(folder: Path) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        compiler.compile_strict(loader.load([folder]))
    return [Path(problem.file).name for problem in caught.value.problems]


def test_a_variable_of_another_type_makes_another_expression(tmp_path: Path) -> None:
    write(tmp_path, "a", "1", "variables.x == 1")
    write(tmp_path, "b", "'1'", "variables.x == 1")
    write(tmp_path, "c", "1", "variables.x == 1")
    assert wrong(tmp_path) == ["b.json"]


def test_params_are_known_only_where_there_are_some(tmp_path: Path) -> None:
    write(tmp_path, "a", "1", "params.most == 1", {"most": 1})
    write(tmp_path, "b", "1", "params.most == 1")
    assert wrong(tmp_path) == ["b.json"]


def test_policies_with_equal_rules_share_them(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path, name, "1", "variables.x == 1")
    one, other = compiler.compile_strict(loader.load([tmp_path])).policies
    assert one.rules is other.rules
