"""Laws of overlays, over made-up Pods: they need no table of what is right."""

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from policyd._core.decode import decode
from policyd._core.merge import atomics, merge, problems
from tests.mutation.builders import POD, SCHEMAS
from tests.mutation.overlays import Json, merged

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


@settings(max_examples=2000, deadline=None)
@given(TREES, TREES)
def test_without_marks_an_overlay_is_an_apply_configuration(live: Json, tree: Json) -> None:
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


@settings(max_examples=2000, deadline=None)
@given(TREES, TREES)
def test_applying_twice_is_applying_once(live: Json, tree: Json) -> None:
    once = merged(tree, live, POD)
    assert merged(tree, once, POD) == once
