"""The index finds what asking every policy would find."""

from hypothesis import given
from hypothesis import strategies as st

from policyd._core.match.matcher import Index, MatchInput, MatchRules
from tests.builders.reviews import request

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


@given(
    st.lists(any_rules, max_size=6),
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
def test_the_index_finds_what_asking_every_policy_finds(
    entries: list[MatchRules], resource: str, sent: str, fields: dict[str, str]
) -> None:
    body = request(resource, sent=sent, **fields)
    index = Index([(rules, number) for number, rules in enumerate(entries)])
    hits = [
        (n, rules.match(MatchInput(body, lambda name: None))) for n, rules in enumerate(entries)
    ]
    wanted = [(number, repr(hit)) for number, hit in hits if hit is not None]
    assert [
        (number, repr(hit)) for number, hit in index.match(MatchInput(body, lambda name: None))
    ] == wanted
