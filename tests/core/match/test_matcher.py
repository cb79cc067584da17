"""What matches what, beyond the recorded rows: namespaces, versions, selectors, the index."""

from typing import Any

import pytest

from policyd._core.match.equivalents import BUILT_IN_GROUPS, Equivalents
from policyd._core.match.matcher import Hit, Index, MatchInput, MatchRules
from tests.builders.policies import rule
from tests.builders.reviews import request

NAME_LABEL = "kubernetes.io/metadata.name"
ALL = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}


def match(rules: MatchRules, sent: dict[str, Any], **fields: Any) -> Hit | None:
    """What the rules say; the index must say the same."""
    fields.setdefault("namespace_labels", lambda name: None)
    matched = rules.match(MatchInput(sent, **fields))
    found = Index([(rules, 7)]).match(MatchInput(sent, **fields))
    assert [(p, repr(hit)) for p, hit in found] == ([(7, repr(matched))] if matched else [])
    return matched


def labelled(**labels: str) -> dict[str, Any]:
    return {"metadata": {"labels": labels}}


@pytest.mark.parametrize(
    "group_resource",
    [
        "admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicybindings",
        "authentication.k8s.io/v1/tokenreviews",
        "authentication.k8s.io/v1/selfsubjectreviews",
        "authorization.k8s.io/v1/subjectaccessreviews",
        "authorization.k8s.io/v1/localsubjectaccessreviews",
        "authorization.k8s.io/v1/selfsubjectrulesreviews",
    ],
)
def test_what_kubernetes_shows_to_no_policy_is_never_matched(group_resource: str) -> None:
    assert match(MatchRules([ALL]), request(group_resource)) is None
    assert match(MatchRules(), request(group_resource)) is None


@pytest.mark.parametrize(
    "resource",
    ["admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "/v1/bindings"],
)
def test_webhook_configurations_and_bindings_are_matched(resource: str) -> None:
    assert match(MatchRules([ALL]), request(resource)) is not None


@pytest.mark.parametrize(
    ("named", "sub", "matches"),
    [
        ("pods", "", True),
        ("pods", "status", False),
        ("pods/*", "", True),
        ("pods/*", "status", True),
        ("pods/status", "", False),
        ("pods/status", "status", True),
        ("*", "", True),
        ("*", "status", False),
        ("*/*", "", True),
        ("*/status", "status", True),
        ("*/status", "", False),
        ("pods/status/more", "status", False),
    ],
)
def test_resources_and_subresources(named: str, sub: str, matches: bool) -> None:
    hit = match(MatchRules([rule(named)]), request(subResource=sub))
    assert (hit is not None) == matches


@pytest.mark.parametrize("name", ["", None, "other"])
def test_resource_names_need_the_name(name: str | None) -> None:
    rules = MatchRules([rule("pods", resourceNames=["web"])])
    assert match(rules, request()) is not None
    assert match(rules, request(name=name)) is None


def test_an_unknown_scope_matches_nothing() -> None:
    assert match(MatchRules([rule("pods", scope="Galaxy")]), request()) is None


def test_an_operation_that_is_new_to_us_needs_a_wildcard() -> None:
    assert (
        match(MatchRules([rule("pods", operations=["*"])]), request(operation="BROWSE")) is not None
    )
    assert (
        match(MatchRules([rule("pods", operations=["CREATE"])]), request(operation="BROWSE"))
        is None
    )


class TestNamespaceSelector:
    prod = MatchRules([ALL], [], {"matchLabels": {"env": "prod"}})

    def test_asks_for_the_labels_once_and_only_if_it_must(self) -> None:
        asked: list[str] = []

        def labels(name: str) -> dict[str, str]:
            asked.append(name)
            return {"env": "prod"}

        entries = [(self.prod, 1), (self.prod, 2), (MatchRules([ALL]), 3)]
        assert len(Index(entries).match(MatchInput(request(), labels))) == 3
        assert asked == ["shop"]
        assert len(Index(entries[2:]).match(MatchInput(request(), labels))) == 1
        assert asked == ["shop"]

    def test_never_skips_a_cluster_scoped_object(self) -> None:
        assert match(self.prod, request("/v1/nodes", "Node", namespace=None)) is not None

    def test_an_unknown_namespace_has_its_name_as_label_and_no_other(self) -> None:
        rules = MatchRules([ALL], [], {"matchLabels": {NAME_LABEL: "shop"}})
        assert match(rules, request()) is not None
        assert match(rules, request(namespace="attic")) is None
        assert match(self.prod, request()) is None

    @pytest.mark.parametrize(
        ("operation", "sub", "new", "old", "matches"),
        [
            ("CREATE", "", "prod", None, True),
            ("CREATE", "", "dev", None, False),
            ("UPDATE", "", "prod", "dev", True),
            ("UPDATE", "", "dev", "prod", False),
            ("UPDATE", "status", "prod", "dev", False),
            ("UPDATE", "finalize", "dev", "prod", True),
            ("DELETE", "", None, "prod", True),
            ("DELETE", "", None, "dev", False),
        ],
    )
    def test_a_namespace_is_matched_by_its_own_labels(
        self, operation: str, sub: str, new: str | None, old: str | None, matches: bool
    ) -> None:
        sent = request(
            "/v1/namespaces",
            "Namespace",
            operation=operation,
            subResource=sub,
            name="shop",
            object=labelled(env=new) if new else None,
            oldObject=labelled(env=old) if old else None,
        )
        assert (
            match(self.prod, sent, namespace_labels=lambda name: {"env": "x"}) is not None
        ) == matches

    def test_a_new_namespace_has_its_name_as_label_already(self) -> None:
        rules = MatchRules([ALL], [], {"matchLabels": {NAME_LABEL: "shop"}})
        sent = request("/v1/namespaces", "Namespace", name="shop", object={"metadata": {}})
        assert match(rules, sent) is not None

    def test_what_the_lookup_raises_ends_the_match(self) -> None:
        def needs(name: str) -> dict[str, str]:
            raise LookupError(name)

        with pytest.raises(LookupError, match="shop"):
            Index([(self.prod, 1)]).match(MatchInput(request(), needs))


class TestObjectSelector:
    @pytest.mark.parametrize(
        ("selector", "new", "old", "matches"),
        [
            ({"matchLabels": {"a": "1"}}, labelled(a="1"), None, True),
            ({"matchLabels": {"a": "1"}}, None, labelled(a="1"), True),
            ({"matchLabels": {"a": "1", "b": "2"}}, labelled(a="1"), labelled(b="2"), False),
            (
                {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
                labelled(a="1"),
                labelled(),
                True,
            ),
            (
                {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
                labelled(),
                labelled(a=""),
                True,
            ),
            (
                {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]},
                labelled(a="2"),
                None,
                True,
            ),
            (
                {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1", "2"]}]},
                labelled(a="3"),
                None,
                True,
            ),
            (
                {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1", "2"]}]},
                labelled(),
                None,
                True,
            ),
            (
                {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]},
                labelled(a="1"),
                None,
                False,
            ),
            # No metadata (PodExecOptions), no object at all: only the empty selector matches.
            (
                {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
                {"command": []},
                None,
                False,
            ),
            ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, None, None, False),
            (
                {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
                {"metadata": {"labels": None}},
                None,
                True,
            ),
            ({}, None, None, True),
        ],
    )
    def test_matches_the_new_or_the_old_object(
        self, selector: dict[str, Any], new: Any, old: Any, matches: bool
    ) -> None:
        hit = match(MatchRules([ALL], [], None, selector), request(), object=new, old_object=old)
        assert (hit is not None) == matches

    def test_malformed_fails_only_where_the_rules_match(self) -> None:
        bad = {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["1"]}]}
        rules = MatchRules([rule("pods")], [], None, bad)
        hit = match(rules, request())
        assert hit is not None
        assert hit.error == '"Near" is not a valid label selector operator'
        assert match(rules, request("/v1/nodes")) is None


class TestVersions:
    v2 = MatchRules([rule("horizontalpodautoscalers", group="autoscaling", version="v2")])

    def test_the_version_sent_needs_no_conversion(self) -> None:
        sent = request(
            "autoscaling/v1/horizontalpodautoscalers",
            "HPA",
            sent="autoscaling/v2/horizontalpodautoscalers",
        )
        hit = match(self.v2, sent)
        assert hit is not None
        assert (hit.kind, hit.mismatch, hit.api_version) == (("autoscaling", "v2", "HPA"), "", "")

    def test_another_version_of_a_built_in_kind_is_named(self) -> None:
        hit = match(self.v2, request("autoscaling/v1/horizontalpodautoscalers", "HPA"))
        assert hit is not None
        assert hit.resource == ("autoscaling", "v2", "horizontalpodautoscalers")
        assert hit.mismatch == "needs autoscaling/v2, was sent autoscaling/v1"

    def test_exact_means_what_the_client_wrote(self) -> None:
        exact = MatchRules(
            [rule("horizontalpodautoscalers", group="autoscaling", version="v2")],
            match_policy="Exact",
        )
        sent = request(
            "autoscaling/v1/horizontalpodautoscalers",
            "HPA",
            sent="autoscaling/v2/horizontalpodautoscalers",
        )
        assert match(exact, sent) is None

    def test_an_exact_rule_wins_over_an_earlier_equivalent_one(self) -> None:
        resource = "horizontalpodautoscalers"
        rules = MatchRules(
            [
                rule(resource, group="autoscaling", version="v2"),
                rule(resource, group="autoscaling"),
            ]
        )
        sent = request(f"autoscaling/v1/{resource}", "HPA", sent=f"autoscaling/v2/{resource}")
        hit = match(rules, sent)
        assert hit is not None
        assert hit.kind == ("autoscaling", "v1", "HPA")
        assert hit.mismatch == "needs autoscaling/v1, was sent autoscaling/v2"

    def test_events_are_one_thing_in_two_groups(self) -> None:
        hit = match(
            MatchRules([rule("events", group="events.k8s.io")]),
            request("/v1/events", "Event"),
        )
        assert hit is not None
        assert hit.kind == ("events.k8s.io", "v1", "Event")
        assert hit.mismatch == "needs events.k8s.io/v1, was sent v1"

    def test_a_version_that_no_cluster_serves_matches_nothing(self) -> None:
        assert (
            match(
                MatchRules([rule("deployments", group="apps", version="v1beta1")]),
                request("apps/v1/deployments"),
            )
            is None
        )

    def test_a_custom_resource_gets_the_other_api_version(self) -> None:
        crd = {
            "spec": {
                "group": "example.com",
                "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [
                    {"name": "v1", "served": True},
                    {"name": "v2"},
                    {"name": "v0", "served": False},
                ],
            }
        }
        table = Equivalents.of_crds([crd])
        sent = request("example.com/v2/widgets", "Widget")
        hit = match(
            MatchRules([rule("widgets", group="example.com")]),
            sent,
            equivalents=table,
        )
        assert hit is not None
        assert (hit.kind, hit.api_version, hit.mismatch) == (
            ("example.com", "v1", "Widget"),
            "example.com/v1",
            "",
        )
        assert (
            match(
                MatchRules([rule("widgets", group="example.com", version="v0")]),
                sent,
                equivalents=table,
            )
            is None
        )

        crd["spec"]["conversion"] = {"strategy": "Webhook"}
        table = Equivalents.of_crds([crd])
        hit = match(
            MatchRules([rule("widgets", group="example.com")]),
            sent,
            equivalents=table,
        )
        assert hit is not None
        assert (hit.api_version, hit.mismatch) == (
            "",
            "needs example.com/v1, was sent example.com/v2",
        )

    def test_an_unknown_custom_resource_is_never_silently_unmatched(self) -> None:
        hit = match(
            MatchRules([rule("widgets", group="example.com")]),
            request("example.com/v2/widgets", "Widget"),
        )
        assert hit is not None
        assert hit.mismatch == "needs example.com/v1, was sent example.com/v2"
        # But only by rules that name its group: "*" says nothing of the versions it has.
        assert (
            match(
                MatchRules([rule("*", group="*")]),
                request("example.com/v2/widgets"),
            )
            is None
        )

    def test_excluding_one_version_excludes_the_others(self) -> None:
        excluded = [rule("horizontalpodautoscalers", group="autoscaling", version="v2")]
        sent = request("autoscaling/v1/horizontalpodautoscalers", "HPA")
        assert match(MatchRules([ALL], excluded), sent) is None
        assert match(MatchRules([ALL], excluded, match_policy="Exact"), sent) is not None

    def test_a_scale_stays_what_it_is(self) -> None:
        sent = request("example.com/v2/widgets", sent="example.com/v2/widgets", subResource="scale")
        scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        hit = match(
            MatchRules([rule("widgets/scale", group="example.com")]),
            sent | {"kind": scale, "requestKind": scale},
        )
        assert hit is not None
        assert (hit.kind, hit.mismatch) == (("autoscaling", "v1", "Scale"), "")


def test_built_in_groups_have_no_custom_ones() -> None:
    assert "gateway.networking.k8s.io" not in BUILT_IN_GROUPS
