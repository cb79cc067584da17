"""Parameters: found by name or selector, in the right namespace, with Kubernetes' texts when not."""

import pytest

from policyd.json_types import JSONObject
from policyd.policy.compile.compiled import CompiledParamRef
from policyd.policy.compile.params import Namespaces, ParamError, ParamStore, without_type

LIMIT = ("example.com/v1", "Limit")
CONFIG_MAP = ("v1", "ConfigMap")


def obj(kind: tuple[str, str], name: str, namespace: str = "", **labels: str) -> JSONObject:
    metadata: JSONObject = {"name": name, "labels": dict(labels)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata}


def crd(scope: str) -> JSONObject:
    names: JSONObject = {"kind": "Limit"}
    return {
        "spec": {
            "group": "example.com",
            "names": names,
            "scope": scope,
            "versions": [{"name": "v1"}],
        }
    }


STORE = ParamStore(
    [
        obj(LIMIT, "b", tier="gold"),
        obj(LIMIT, "a", tier="gold"),
        obj(LIMIT, "c", tier="iron"),
        obj(CONFIG_MAP, "cfg", "shop"),
        obj(CONFIG_MAP, "loose"),
    ],
    [crd("Cluster")],
)


def names(
    store: ParamStore, kind: tuple[str, str], ref: CompiledParamRef, namespace: str = ""
) -> list[object]:
    found = store.collect(store.kind(kind), ref, namespace)
    return [item["metadata"]["name"] for item in found if isinstance(item["metadata"], dict)]


@pytest.mark.parametrize(
    ("kind", "ref", "namespace", "want"),
    [
        (LIMIT, CompiledParamRef(name="a"), "shop", ["a"]),
        (LIMIT, CompiledParamRef(selector={"matchLabels": {"tier": "gold"}}), "", ["a", "b"]),
        (LIMIT, CompiledParamRef(selector={}), "", ["a", "b", "c"]),
        (LIMIT, CompiledParamRef(name="x", deny_when_missing=False), "", []),
        (CONFIG_MAP, CompiledParamRef(name="cfg"), "shop", ["cfg"]),
        (CONFIG_MAP, CompiledParamRef(name="cfg", namespace="shop"), "other", ["cfg"]),
        (CONFIG_MAP, CompiledParamRef(name="loose"), "default", ["loose"]),
    ],
)
def test_params_are_found(
    kind: tuple[str, str], ref: CompiledParamRef, namespace: str, want: list[str]
) -> None:
    assert names(STORE, kind, ref, namespace) == want


@pytest.mark.parametrize(
    ("kind", "ref", "namespace", "text"),
    [
        (
            LIMIT,
            CompiledParamRef(name="x"),
            "",
            "no params found for policy binding with `Deny` parameterNotFoundAction",
        ),
        (
            LIMIT,
            CompiledParamRef(name="a", namespace="shop"),
            "",
            "paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
        ),
        (
            CONFIG_MAP,
            CompiledParamRef(name="cfg"),
            "",
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
        ),
        (
            CONFIG_MAP,
            CompiledParamRef(name="cfg"),
            "other",
            "no params found for policy binding with `Deny` parameterNotFoundAction",
        ),
        (
            ("nope.example.com/v1", "Nope"),
            CompiledParamRef(name="a"),
            "",
            "failed to find resource referenced by paramKind: 'nope.example.com/v1, Kind=Nope'",
        ),
    ],
)
def test_missing_params_have_the_texts_of_kubernetes(
    kind: tuple[str, str], ref: CompiledParamRef, namespace: str, text: str
) -> None:
    with pytest.raises(ParamError) as failure:
        STORE.collect(STORE.kind(kind), ref, namespace)
    assert str(failure.value) == text


def test_a_builtin_kind_is_known_without_any_object() -> None:
    assert ParamStore([]).kind(("v1", "Secret")).namespaced


def test_scope_comes_from_the_definition() -> None:
    store = ParamStore([obj(LIMIT, "a", "shop")], [crd("Namespaced")])
    assert names(store, LIMIT, CompiledParamRef(name="a"), "shop") == ["a"]


def versions(conversion: JSONObject) -> JSONObject:
    found = crd("Namespaced")
    served = [{"name": "v1", "served": True}, {"name": "v2", "served": True}]
    found["spec"] |= {"versions": [*served, {"name": "v3", "served": False}], **conversion}
    return found


@pytest.mark.parametrize("conversion", [{}, {"conversion": {"strategy": "None"}}])
def test_what_is_written_in_one_version_is_found_in_the_others(conversion: JSONObject) -> None:
    newer = ("example.com/v2", "Limit")
    written = [obj(LIMIT, "a", "shop"), obj(LIMIT, "b", "shop", of="v1"), obj(newer, "b", "shop")]
    store = ParamStore(written, [versions(conversion)])
    found = store.collect(store.kind(newer), CompiledParamRef(selector={}), "shop")
    assert found == [obj(newer, "a", "shop"), obj(newer, "b", "shop")]
    assert names(store, LIMIT, CompiledParamRef(selector={}), "shop") == ["a", "b"]


def test_a_webhook_that_converts_is_not_guessed_at() -> None:
    newer = ("example.com/v2", "Limit")
    converting = versions({"conversion": {"strategy": "Webhook"}})
    store = ParamStore([obj(LIMIT, "a", "shop")], [converting])
    with pytest.raises(ParamError, match="no params found"):
        store.collect(store.kind(newer), CompiledParamRef(name="a"), "shop")


def test_a_version_that_is_not_served_is_no_kind() -> None:
    store = ParamStore([], [versions({})])
    with pytest.raises(ParamError, match="failed to find resource referenced by paramKind"):
        store.kind(("example.com/v3", "Limit"))


def test_mutating_policies_do_not_see_the_type_of_builtin_params() -> None:
    assert without_type(obj(CONFIG_MAP, "cfg", "shop")).keys() == {"metadata"}


def test_an_unknown_namespace_has_its_name_and_nothing_else() -> None:
    namespaces = Namespaces()
    assert namespaces.labels("shop") == {"kubernetes.io/metadata.name": "shop"}
    assert namespaces.object("shop") == {
        "metadata": {"name": "shop", "labels": {"kubernetes.io/metadata.name": "shop"}},
        "spec": {},
        "status": {},
    }


def test_a_known_namespace_shows_only_what_kubernetes_shows() -> None:
    shop: JSONObject = {
        "metadata": {"name": "shop", "labels": {"env": "prod"}, "ownerReferences": [], "uid": "1"},
        "status": {"phase": "Active"},
    }
    shown = Namespaces([shop]).object("shop")
    labels: JSONObject = {"env": "prod", "kubernetes.io/metadata.name": "shop"}
    assert shown == {
        "metadata": {"name": "shop", "labels": labels, "uid": "1"},
        "spec": {},
        "status": {"phase": "Active"},
    }
