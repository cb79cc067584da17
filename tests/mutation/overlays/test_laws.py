"""Laws of overlays, over made-up Pods: they need no table of what is right."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policyd._core.patch.apply import apply, diff
from policyd._core.schema.decode import decode
from policyd._core.schema.list_items import MergeError
from policyd._core.schema.merge import merge
from policyd._core.schema.problems import atomics, problems
from policyd.errors import MutationError
from policyd.json_types import JSONObject
from policyd.mutation import overlay
from policyd.mutation.decoding import converted
from tests.mutation.builders import POD, SCHEMAS
from tests.mutation.overlays.builders import Patterns, merged
from tests.sampling import examples

NAMES = st.sampled_from(["a", "b", "c"])
ENV = st.lists(
    st.fixed_dictionaries({"name": NAMES}, optional={"value": st.sampled_from(["1", "2"])}),
    unique_by=lambda item: str(item["name"]),
    max_size=3,
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={"image": NAMES, "env": ENV, "stdin": st.booleans(), "workingDir": NAMES},
    ),
    unique_by=lambda item: str(item["name"]),
    max_size=3,
)
LABELS = st.dictionaries(NAMES, NAMES, max_size=3)
TREES = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries({}, optional={"labels": LABELS, "name": NAMES}),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "containers": CONTAINERS,
                "initContainers": CONTAINERS,
                "hostNetwork": st.booleans(),
                "priority": st.integers(0, 3),
                "securityContext": st.fixed_dictionaries(
                    {}, optional={"runAsUser": st.integers(0, 2), "runAsNonRoot": st.booleans()}
                ),
            },
        ),
    },
)


@settings(max_examples=examples(2000), deadline=None)
@given(TREES, TREES)
def test_without_marks_an_overlay_is_an_apply_configuration(
    live: JSONObject, tree: JSONObject
) -> None:
    target = SCHEMAS.target(POD)
    assert target.schema is not None
    kind = target.schema.root.type
    assert not problems(tree, kind)
    assert not atomics(tree, kind)
    root = target.schema.root
    before = copy.deepcopy((live, tree))
    # An ApplyConfiguration prints an empty list of the object anew: no server sends such a one.
    want = decode(merge(live, tree, kind), None, root, convert=True)
    assert decode(merged(tree, live, POD), None, root, convert=True) == want
    assert (live, tree) == before


@settings(max_examples=examples(2000), deadline=None)
@given(TREES, TREES)
def test_applying_twice_is_applying_once(live: JSONObject, tree: JSONObject) -> None:
    once = merged(tree, live, POD)
    assert merged(tree, once, POD) == once


# Marks, nulls and deletions, in and out of place.
KEYS = st.sampled_from(
    ["name", "image", "env", "stdin", "spec", "containers", "metadata", "labels", "a", "$patch"]
)
MARKED = st.tuples(
    st.sampled_from(["{}", "{}", "{}", "+({})", "({})", "=({})", "X({})", "^({})", "<({})"]), KEYS
)
LEAVES: st.SearchStrategy[Any] = st.sampled_from(
    [None, "a", "b", "*", True, 1, 2.5, "delete", "?*", ">1", "$${a}", {}, []]
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(MARKED.map(lambda pair: pair[0].format(pair[1])), inner, max_size=3)
    ),
    max_leaves=8,
)
MARKED_ITEMS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "name": NAMES,
            "(name)": NAMES | st.just("*"),
            "(image)": NAMES,
            "X(stdin)": st.none(),
            "image": NAMES | st.none(),
            "+(stdin)": st.booleans(),
            "env": st.lists(st.fixed_dictionaries({"name": NAMES}, optional={"value": NAMES})),
            "$patch": st.just("delete"),
        },
    ),
    max_size=3,
)
MARKED_TREES = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "labels": st.dictionaries(NAMES, NAMES | st.none(), max_size=2),
                "+(annotations)": LABELS,
            },
        ),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "containers": MARKED_ITEMS,
                "=(hostNetwork)": st.booleans(),
                "^(initContainers)": st.just([{"name": "a"}]),
                "nodeSelector": st.dictionaries(NAMES, NAMES | st.none(), max_size=2),
            },
        ),
    },
)


def attempted(tree: JSONObject, live: JSONObject) -> JSONObject | None:
    """The object after an overlay; None if the overlay is refused, or does not fit the object."""
    target = SCHEMAS.target(POD)
    found, faults = overlay.read(tree, (), Patterns())
    assert target.schema is not None
    if faults or found.bind(target.schema):
        assert all(fault.message for fault in faults)
        return None
    try:
        after = found.bound(target).apply(live)
        return after if after is live else converted(after, live, target)
    except (MutationError, MergeError):
        return None


@settings(max_examples=examples(500), deadline=None)
@given(TREES, MARKED_TREES)
def test_the_input_stays_and_the_change_replays(live: JSONObject, tree: JSONObject) -> None:
    before = copy.deepcopy((live, tree))
    after = attempted(tree, live)
    assert (live, tree) == before
    if after is not None:
        assert apply(diff(live, after, SCHEMAS.list_keys(POD)), live) == after


@settings(max_examples=examples(500), deadline=None)
@given(TREES, st.dictionaries(MARKED.map(lambda pair: pair[0].format(pair[1])), ANYTHING))
def test_any_tree_is_refused_or_works(live: JSONObject, tree: JSONObject) -> None:
    before = copy.deepcopy(live)
    attempted(tree, live)
    assert live == before
