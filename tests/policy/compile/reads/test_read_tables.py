"""Tables of reads: what they show to which request, by order and by key, and what a key error costs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd._core.eval.layout import Layout
from policyd._core.values.errors import CelError
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from policyd.cel.types.types import DYN
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ReadTable
from tests.builders.reads import HOSTS, Request, compiled_read, config_map

CONFIG_MAPS = ("", "configmaps")


def table(*objects: JSONObject, namespaced: bool = True, **read: JSON) -> ReadTable:
    made = ReadTable(compiled_read(**read), CONFIG_MAPS, namespaced=namespaced)
    for each in objects:
        put(made, each)
    return made


def put(made: ReadTable, found: JSONObject) -> None:
    made.put(place(found), found)


def place(found: JSONObject) -> tuple[str, str]:
    return found["metadata"].get("namespace", ""), found["metadata"]["name"]


def names(shown: Any) -> Any:
    """What is shown, by namespace/name."""
    if isinstance(shown, dict):
        return {key: names(found) for key, found in shown.items()}
    return ["/".join(filter(None, place(each))) for each in shown]


NOBODY = Request(name="")
OBJECTS = (
    config_map("b", "shop", tier="gold"),
    config_map("a", "shop"),
    config_map("own", "shop", tier="gold"),
    config_map("own", "store", tier="gold"),
)
SHOWN: dict[str, tuple[JSONObject, Request, list[str]]] = {
    "all, in order": ({"namespace": "any"}, NOBODY, ["shop/a", "shop/b", "shop/own", "store/own"]),
    "not its own object": ({"namespace": "any"}, Request(), ["shop/a", "shop/b", "store/own"]),
    "its own object": (
        {"namespace": "any", "self": True},
        Request(),
        ["shop/a", "shop/b", "shop/own", "store/own"],
    ),
    "another resource of the same name": (
        {"namespace": "any"},
        Request(resource=("", "v1", "pods")),
        ["shop/a", "shop/b", "shop/own", "store/own"],
    ),
    "another group": (
        {"namespace": "any"},
        Request(resource=("example.com", "v1", "configmaps")),
        ["shop/a", "shop/b", "shop/own", "store/own"],
    ),
    "another version of its own object": (
        {"namespace": "any"},
        Request(resource=("", "v2", "configmaps")),
        ["shop/a", "shop/b", "store/own"],
    ),
    "the namespace of the request": ({}, NOBODY, ["shop/a", "shop/b", "shop/own"]),
    "another one": ({}, Request("store", ""), ["store/own"]),
    "an empty one": ({"namespace": "same"}, Request("empty", ""), []),
    "one by name": ({"namespace": "store"}, NOBODY, ["store/own"]),
    "one by name, without its own": ({"namespace": "shop"}, Request(), ["shop/a", "shop/b"]),
    "by labels": (
        {"namespace": "any", "labelSelector": {"matchLabels": {"tier": "gold"}}},
        NOBODY,
        ["shop/b", "shop/own", "store/own"],
    ),
}


@pytest.mark.parametrize(("read", "request_", "want"), SHOWN.values(), ids=SHOWN.keys())
def test_a_list_has_the_objects_that_a_request_may_see(
    read: JSONObject, request_: Request, want: list[str]
) -> None:
    made = table(*OBJECTS, **read)
    assert names(made.shown_to(request_)) == want
    for each in OBJECTS:
        made.put(place(each), None)
    assert made.shown_to(request_) == []


def test_without_a_namespace_a_request_has_no_objects_of_its_namespace() -> None:
    found = table(*OBJECTS).shown_to(Request("", "x"))
    assert isinstance(found, CelError)
    assert found.message == (
        "reads.maps has the objects of the request's namespace, and this request has none: "
        "write namespace: any"
    )


def test_objects_without_a_namespace_are_recognized_by_name() -> None:
    objects = [{"metadata": {"name": each}} for each in ("b", "own", "a")]
    made = table(*objects, namespaced=False)
    # The namespace of a request is that of what it is about; an object without one has the same
    # name everywhere.
    assert names(made.shown_to(Request(""))) == names(made.shown_to(Request())) == ["a", "b"]
    assert names(table(*objects, namespaced=False, self=True).shown_to(Request(""))) == [
        "a",
        "b",
        "own",
    ]


KEYED: JSONObject = {"namespace": "any", "key": HOSTS}


def test_an_index_has_each_object_under_each_of_its_keys() -> None:
    made = table(
        config_map("b", hosts=["x", "y", "x"]),
        config_map("a", hosts=["y"]),
        config_map("own", hosts=["z", "x"]),
        config_map("none", hosts=[]),
        **KEYED,
    )
    everything = {"x": ["shop/b", "shop/own"], "y": ["shop/a", "shop/b"], "z": ["shop/own"]}
    assert names(made.shown_to(NOBODY)) == everything
    assert names(made.shown_to(Request())) == {"x": ["shop/b"], "y": ["shop/a", "shop/b"]}
    put(made, config_map("b", hosts=["z"]))
    assert names(made.shown_to(NOBODY)) == {
        "y": ["shop/a"],
        "z": ["shop/b", "shop/own"],
        "x": ["shop/own"],
    }
    for name in ("a", "b", "own", "none"):
        made.put(("shop", name), None)
    assert made.shown_to(NOBODY) == {}
    assert made.failed == {}


KEY_ERRORS: dict[str, tuple[JSON, str]] = {
    "no field": ({}, "no such key: hosts"),
    "a number": ({"hosts": 1}, "a key is not a string but int"),
    "null": ({"hosts": None}, "a key is not a string but NoneType"),
    "a number among strings": ({"hosts": ["x", 1]}, "a key is not a string but int"),
    "a list of lists": ({"hosts": [["x"]]}, "a key is not a string but list"),
    "a map": ({"hosts": {"x": 1}}, "a key is not a string but dict"),
    "too many": ({"hosts": ["x"] * 1001}, "1001 keys; at most 1000 are allowed"),
    "too long": ({"hosts": "x" * 4097}, "a key has 4097 characters; at most 4096 are allowed"),
}


@pytest.mark.parametrize(("data", "why"), KEY_ERRORS.values(), ids=KEY_ERRORS.keys())
def test_an_object_whose_key_is_an_error_is_in_no_list(data: JSON, why: str) -> None:
    wrong = {**config_map("wrong"), "data": data}
    made = table(config_map("a", hosts=["x"]), wrong, config_map("b", hosts="x"), **KEYED)
    assert made.failed == {("shop", "wrong"): why}
    assert names(made.shown_to(NOBODY)) == {"x": ["shop/a", "shop/b"]}
    put(made, config_map("wrong", hosts=["x"]))
    assert made.failed == {}
    assert names(made.shown_to(NOBODY)) == {"x": ["shop/a", "shop/b", "shop/wrong"]}
    put(made, wrong)
    made.put(("shop", "wrong"), None)
    assert made.failed == {}


@pytest.mark.parametrize("hosts", [["x"] * 1000, "x" * 4096, [""]])
def test_the_largest_keys(hosts: JSON) -> None:
    made = table(config_map("a", hosts=hosts), **KEYED)
    assert made.failed == {}
    key = hosts if isinstance(hosts, str) else hosts[0]
    assert names(made.shown_to(NOBODY)) == {key: ["shop/a"]}


def test_a_key_that_costs_too_much_is_an_error() -> None:
    costly = "item.data.hosts.map(a, item.data.hosts.map(b, a + b)).map(c, c[0])"
    made = table(config_map("a", hosts=["x"] * 900), namespace="any", key=costly)
    assert "exceed" in made.failed["shop", "a"]


def test_what_was_shown_is_never_changed() -> None:
    """Not by events, which come while a request waits for other lookups."""
    keyed, listed = table(*OBJECTS, **KEYED), table(*OBJECTS, namespace="any")
    put(keyed, config_map("a", hosts=["x"]))
    index, objects = keyed.shown_to(NOBODY), listed.shown_to(NOBODY)
    assert isinstance(index, dict)
    assert isinstance(objects, list)
    under, before = index["x"], [*objects]
    for made in (keyed, listed):
        put(made, config_map("c", hosts=["x"]))
        made.put(("shop", "a"), None)
    assert names(under) == ["shop/a"]
    assert objects == before


# The same, asked of all objects each time.
KEYS = st.sampled_from(["x", "y", "z"])
HOST_LISTS = st.one_of(st.lists(KEYS, max_size=4), KEYS, st.integers(0, 1))
PUTS = st.lists(
    st.tuples(
        st.sampled_from(["shop", "store"]),
        st.sampled_from(["a", "b", "own"]),
        st.one_of(st.none(), HOST_LISTS),
        st.sampled_from(["gold", "iron"]),
    ),
    max_size=12,
)
READS: tuple[JSONObject, ...] = (
    {},
    {"namespace": "any", "self": True},
    {"namespace": "store", "labelSelector": {"matchLabels": {"tier": "gold"}}},
    {"key": HOSTS},
    {"key": HOSTS, "namespace": "any"},
    {"key": HOSTS, "namespace": "any", "self": True},
)
COMPILED = tuple(compiled_read(**each) for each in READS)
ASKING = (Request(), Request("store"), Request("store", "a"), Request(resource=("", "v1", "pods")))
UNDER = plan(Environment({"r": DYN, "k": DYN}).check("r[?k]"), Layout(("r", "k")))
THERE = plan(Environment({"r": DYN, "k": DYN}).check("k in r"), Layout(("r", "k")))


def expected(
    there: dict[tuple[str, str], JSONObject], read: CompiledRead, request: Request
) -> list[JSONObject] | dict[str, list[JSONObject]]:
    seen: list[tuple[tuple[str, ...], JSONObject]] = []
    for key, found in sorted(there.items()):
        namespace = request.namespace if read.namespace == "same" else read.namespace
        own = request.resource[2] == "configmaps" and key == (request.namespace, request.name)
        hosts = read.keys_of(found)
        if (
            namespace in ("any", key[0])
            and read.selects(found)
            and (read.include_self or not own)
            and not isinstance(hosts, CelError)
        ):
            seen.append((hosts, found))
    if read.key is None:
        return [found for _, found in seen]
    return {
        host: [found for hosts, found in seen if host in hosts]
        for host in dict.fromkeys(each for hosts, _ in seen for each in hosts)
    }


@given(puts=PUTS)
def test_after_any_changes_a_table_is_as_one_made_of_what_is_there(
    puts: list[tuple[str, str, JSON, str]],
) -> None:
    there: dict[tuple[str, str], JSONObject] = {}
    tables = [ReadTable(read, CONFIG_MAPS, namespaced=True) for read in COMPILED]
    for namespace, name, hosts, tier in puts:
        found = None if hosts is None else config_map(name, namespace, hosts, tier=tier)
        for made in tables:
            made.put((namespace, name), found)
        if found is None:
            there.pop((namespace, name), None)
        else:
            there[namespace, name] = found
        for made in tables:
            for request in ASKING:
                want = expected(there, made.read, request)
                assert made.shown_to(request) == want
                if isinstance(want, dict):
                    for key in ("x", "y", "z", 1, None):
                        asked = {"r": made.shown_to(request, keyed=True), "k": key}
                        if key is not None:
                            optional = UNDER.evaluate(asked)
                            assert (optional.value if optional else None) == want.get(str(key))
                        assert THERE.evaluate(asked) == (key in want)
