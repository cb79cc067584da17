"""The index finds what asking every policy would find."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd._core.match.equivalents import Equivalents, Family
from policyd._core.match.matcher import Index, MatchInput, MatchRules
from policyd.json_types import JSONObject
from tests.builders.reviews import request
from tests.sampling import sampled

NAME_LABEL = "kubernetes.io/metadata.name"

parts = st.sampled_from(["*", "a", "b"])
some = st.lists(parts, min_size=1, max_size=2)
any_rule = st.fixed_dictionaries(
    {
        "apiGroups": st.lists(
            st.sampled_from(["*", "a", "autoscaling", "apps"]), min_size=1, max_size=2
        ),
        "apiVersions": some,
        "operations": st.lists(st.sampled_from(["*", "CREATE", "UPDATE"]), min_size=1, max_size=2),
        "resources": st.lists(
            st.sampled_from(["*", "*/*", "a", "b", "a/*", "a/s", "*/s"]), min_size=1, max_size=2
        ),
    },
    optional={
        "scope": st.sampled_from(["*", "Cluster", "Namespaced"]),
        "resourceNames": st.just(["web"]),
    },
)
any_rules = st.builds(
    MatchRules,
    st.lists(any_rule, max_size=3),
    st.lists(any_rule, max_size=1),
    st.sampled_from([None, {"matchLabels": {NAME_LABEL: "shop"}}]),
    match_policy=st.sampled_from(["Exact", "Equivalent"]),
)
gvr = st.tuples(
    st.sampled_from(["a", "apps"]), st.sampled_from(["a", "b", "c"]), st.sampled_from(["a", "b"])
).map("/".join)


any_request = st.builds(
    lambda resource, sent, fields: request(resource, sent=sent, **fields),
    gvr,
    gvr,
    st.fixed_dictionaries(
        {
            "operation": st.sampled_from(["CREATE", "DELETE", "BROWSE"]),
            "subResource": st.sampled_from(["", "s", "t"]),
            "namespace": st.sampled_from(["", "shop", "attic"]),
            "name": st.sampled_from(["web", "db"]),
        }
    ),
)


@given(st.lists(any_rules, max_size=6), st.lists(any_request, min_size=1, max_size=4))
def test_the_index_finds_what_asking_every_policy_finds(
    entries: list[MatchRules], bodies: list[JSONObject]
) -> None:
    index = Index([(rules, number) for number, rules in enumerate(entries)])
    for body in (*bodies, *bodies):  # what it remembers changes nothing
        hits = [
            (n, rules.match(MatchInput(body, lambda name: None))) for n, rules in enumerate(entries)
        ]
        wanted = [(number, repr(hit)) for number, hit in hits if hit is not None]
        assert [
            (number, repr(hit)) for number, hit in index.match(MatchInput(body, lambda name: None))
        ] == wanted


@pytest.mark.parametrize("length", sampled([1, 100_000]))
def test_what_an_index_remembers_is_bounded(length: int) -> None:
    every = {key: ["*"] for key in ("apiGroups", "apiVersions", "operations", "resources")}
    index = Index([(MatchRules([every]), number) for number in range(500)])

    def ask(number: int) -> None:
        body = request(f"a/b/{number}{'c' * length}")
        assert len(index.match(MatchInput(body, lambda name: None))) == 500

    ask(0)
    tracemalloc.start()
    for number in range(2000):
        ask(number)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 4 * 2**20


def test_other_equivalents_are_other_matches() -> None:
    rule = {"apiGroups": ["a"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["b"]}
    rules = MatchRules([rule])
    index = Index([(rules, 1)])
    converted, other = (
        Equivalents.of([Family((("a", "v1", "b"), ("a", "v2", "b")), convertible=convertible)])
        for convertible in (True, False)
    )
    found = []
    for equivalents in (converted, other, converted):
        for _ in range(2):
            view = MatchInput(request("a/v2/b"), lambda name: None, equivalents=equivalents)
            ((_, hit),) = index.match(view)
            assert repr(hit) == repr(rules.match(view))
            found.append(bool(hit.mismatch))
    assert found == [False, False, True, True, False, False]
