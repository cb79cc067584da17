"""What sources may cost: they are charged before they are built, and the work stays linear."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.errors import Problem
from policyd.policy.source import loader
from policyd.policy.source.budget import POLICIES, SLICE, TOO_LARGE, SourceBudget, SourceLimits
from policyd.policy.source.files import SourceFile
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load, load_files, load_text, read_one
from policyd.policy.source.splitting import read_values
from policyd.policy.source.yaml_nodes import compose, construct
from policyd.policy.source.yaml_text.sizes import YamlSize, size_of
from policyd.versions import NEWEST
from tests.builders.policies import policy
from tests.policy.source.hostile import EXCEPTION, FORMS
from tests.sampling import examples

SMALL = SourceLimits(size=4000, documents=5, nodes=100)


def budget(**limits: Any) -> SourceBudget:
    given = {"size": 10**9, "documents": 10**9, "nodes": 10**9, **limits}
    return SourceBudget(SourceLimits(**given))


class Work:
    """Calls of functions."""

    calls = 0


@contextmanager
def counted() -> Iterator[Work]:
    """Count calls: unlike seconds, they are the same on every machine."""
    work = Work()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            work.calls += 1

    sys.setprofile(note)
    try:
        yield work
    finally:
        sys.setprofile(None)


# What a chain of aliases makes grows with the square of its length, and is charged.
@pytest.mark.parametrize("name", sorted({*FORMS} - {"a chain of aliases"}))
def test_the_work_grows_with_the_text(name: str) -> None:
    small, large = (FORMS[name](each) for each in (600, 2400))
    load_text(small)  # what is computed once
    with counted() as little:
        load_text(small)
    with counted() as much:
        load_text(large)
    times = len(large) / len(small)
    assert much.calls < 1.3 * times * little.calls + 5_000


def load_within(text: str, **limits: int) -> Sources:
    file = SourceFile("a.yaml", "a.yaml", text.encode())
    return load_files([file], [], version=NEWEST, budget=budget(**limits))


def places(found: Sources) -> list[str]:
    assert not found.documents
    return [f"{each.file}:{each.line}: {each.message}; {each.hint}" for each in found.problems]


BEFORE = "the sources are too large together: more than"
COPY = "remove some; an alias counts as a copy"


@pytest.mark.parametrize(
    ("text", "limits", "problem"),
    [
        ("a: 1\n", {"size": 4}, f"a.yaml:0: {BEFORE} 0 KiB; remove or split files"),
        ("---\na: 1\n" * 3, {"documents": 2}, f"a.yaml:5: {BEFORE} 2 documents; remove some"),
        ("{}" * 3, {"documents": 2}, f"a.yaml:1: {BEFORE} 2 documents; remove some"),
        (
            "kind: List\nitems: [{}, {}]",
            {"documents": 2},
            f"a.yaml:1: {BEFORE} 2 documents; remove some",
        ),
        ("# \n---\na:\n  - 1\n  - 2\n", {"nodes": 4}, f"a.yaml:4: {BEFORE} 4 nodes {{}}; {COPY}"),
        ("a: &a [1, 2]\nb: *a\n", {"nodes": 8}, f"a.yaml:1: {BEFORE} 8 nodes {{}}; {COPY}"),
        ('{"a":\n[1, 2]}', {"nodes": 4}, f"a.yaml:2: {BEFORE} 4 nodes {{}}; {COPY}"),
        (
            f"a: &a {'x' * 1000}\nb: [*a, *a]\n",
            {"size": 2048},
            f"a.yaml:1: {BEFORE} 2 KiB of values; {COPY}",
        ),
        ("{}" * 50, {"size": 1024}, f"a.yaml:1: {BEFORE} 1 KiB of values; {COPY}"),
    ],
)
def test_what_exceeds_a_limit_is_named_with_its_place_and_remedy(
    text: str, limits: dict[str, int], problem: str
) -> None:
    nodes = "(names, values, lists and objects)"
    assert places(load_within(text, **limits)) == [problem.format(nodes)]


def test_a_text_is_refused_before_its_nodes_are_made() -> None:
    """The composer stops at the limit."""
    given = budget(nodes=50)
    looks = []
    given.breathe = lambda: looks.append(given.nodes)
    with counted() as work:
        (problem,) = read_values("a.yaml", b"[" + b"'x'," * 100_000 + b"]", given)[1]
    assert problem.rule == TOO_LARGE and given.exceeded
    assert work.calls < 5_000


def test_one_document_of_policies_fits_a_small_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of manifests more nodes are read: a List of some thousand Pods is one document."""
    assert POLICIES.document == 500_000 and SourceBudget().limits.document > 2 * POLICIES.document
    monkeypatch.setattr(loader, "POLICIES", replace(POLICIES, document=1_000))
    (problem,) = load_text("[" + "x," * 100_000 + "]").problems
    assert problem.message == "document has more than 1,000 nodes"
    assert problem.rule != TOO_LARGE  # the other files are read


@pytest.mark.parametrize(
    ("text", "nodes", "characters"),
    [
        ("1", 1, 1),
        ("a: []", 3, 1),
        ("a: 'bc'", 3, 3),
        ("a: [b, c]", 5, 3),
        ("a: &a {b: c}\nd: *a", 9, 6),
        ("a: &a {b: c}\nd: {<<: *a, e: f}", 13, 10),
        ("&a xyz: *a ", 3, 6),
        ('{"a": ["b,", {"c:[": 1}]}', 7, 25),  # JSON: its text
    ],
)
def test_names_values_lists_and_objects_are_nodes(text: str, nodes: int, characters: int) -> None:
    given = budget()
    values, problems = read_values("a.yaml", text.encode(), given)
    assert not problems and len(values) == 1
    assert (given.nodes, given.characters, given.size) == (nodes, characters, len(text))


def test_nothing_after_the_limit_is_loaded_and_no_suite_can_hide_it(tmp_path: Path) -> None:
    """A file that a suite names is no source, and its problems are none of the set."""
    (tmp_path / "a.yaml").write_text(json.dumps(policy("a")))
    (tmp_path / "b.yaml").write_text(
        "apiVersion: policyd.dev/v1\nkind: PolicyTest\nmetadata: {name: s}\n"
        "cases: [{name: c, request: {objectFile: c.yaml}, expect: {allowed: true}}]\n"
    )
    (tmp_path / "c.yaml").write_text("[" + "1," * 1000 + "]")
    (tmp_path / "d.yaml").write_text("a: [")
    whole = load([tmp_path])
    assert [each.rule for each in whole.problems] == ["syntax"]
    bounded = load([tmp_path], budget=budget(nodes=500))
    assert [each.rule for each in bounded.problems] == [TOO_LARGE]
    assert bounded.problems[0].file == str(tmp_path / "c.yaml")
    assert [each.name for each in bounded.documents] == ["a", "s"]


def test_the_budget_is_for_all_files_together() -> None:
    files = [SourceFile(each, each, b"a: [1, 2]\n") for each in "xyz"]
    found = load_files(files, [], version=NEWEST, budget=budget(nodes=14))
    assert [each.file for each in found.problems if each.rule == TOO_LARGE] == ["z"]


@pytest.mark.parametrize(
    "text",
    ["a: &a [1]\nb: *a", "a: &a 1\nb: *a", "a: &a {b: 1}\nc: {<<: *a}", "a: &a x\n*a : 1\n"],
)
def test_aliases_may_be_forbidden(text: str) -> None:
    assert read_one(text)
    (problem,) = read_values("a.yaml", text.encode(), budget(aliases=False))[1]
    assert problem.line == 1 and "an alias (*name) repeats this value: write it" in problem.message
    assert not read_values("a.yaml", b"a: &a [1]\nb: ['*a', 1, 1]", budget(aliases=False))[1]


def test_a_chain_of_aliases_is_as_deep_as_what_it_makes() -> None:
    """Whatever reads the value takes a level for each."""
    lists = ["&a0 [1]", *(f"&a{n} [*a{n - 1}]" for n in range(1, 1100))]
    for most, problems in ((997, []), (998, ["nested deeper than 1000 levels"])):
        text = f"[{', '.join(lists[: most + 1])}]"
        assert [each.message for each in read_values("a", text.encode())[1]] == problems


def test_time_is_limited_between_any_thousand_nodes() -> None:
    seconds = 0.0

    def clock() -> float:
        nonlocal seconds
        seconds += 1
        return seconds

    def messages(text: str, limit: float) -> list[Problem]:
        given = SourceBudget(seconds=limit, clock=clock)
        return read_values("a.yaml", text.encode(), given)[1]

    long = "[" + "1," * (20 * SLICE) + "1]"
    assert not messages("[1]", 10) and not messages(long, 100)
    (problem,) = messages(f"# x\n- {long}", 10)
    assert problem.message == (
        "the sources are too large together: reading them takes more than 10 s"
    )
    assert problem.line == 2


@pytest.mark.parametrize("text", ["- [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" * 2000, EXCEPTION * 1])
def test_others_get_their_turn(text: str) -> None:
    given, turns = budget(), 0

    def breathe() -> None:
        nonlocal turns
        turns += 1

    given.breathe = breathe
    read_values("a.yaml", text.encode(), given)
    assert turns >= 2 * given.nodes // SLICE and turns > 1

    class Over(Exception):
        pass

    def end() -> None:
        raise Over

    given.breathe = end
    with pytest.raises(Over):
        read_values("a.yaml", text.encode(), given)


def expanded(value: Any) -> tuple[int, int]:
    """Nodes and levels of a value."""
    if isinstance(value, dict):
        parts = [(1, 1), *map(expanded, value.values())]
        return 1 + len(value) + sum(each[0] for each in parts[1:]), 1 + max(p[1] for p in parts)
    if isinstance(value, list):
        parts = list(map(expanded, value))
        return 1 + sum(each[0] for each in parts), 1 + max((p[1] for p in parts), default=0)
    return 1, 1


scalars = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab*&: ,[{'\n\"\\\u00e9", max_size=5)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(values, min_size=1, max_size=3), st.integers(0, 7), st.booleans())
def test_a_set_within_its_budget_is_what_it_is_without(
    made: list[Any], repeated: int, flow: bool
) -> None:
    shared = made[repeated % len(made)]
    whole = {"a": made, "b": [shared] * (repeated % 3), "c": {"d": shared}}
    dumped = yaml.safe_dump(whole, default_flow_style=flow)
    for text, aliases in ((json.dumps(whole), False), (dumped, True)):
        data = text.encode()
        plain, problems = read_values("a.yaml", data)
        assert not problems and plain == [whole]
        given = budget()
        assert read_values("a.yaml", data, given) == (plain, [])
        nodes = expanded(whole)[0]
        assert given.nodes == nodes or (given.nodes > nodes and not aliases)
        exact = budget(nodes=given.nodes, documents=1, size=max(given.size, given.characters))
        assert read_values("a.yaml", data, exact) == (plain, [])
        short = budget(nodes=nodes - 1)
        (problem,) = read_values("a.yaml", data, short)[1]
        assert problem.rule == TOO_LARGE and short.exceeded


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), max_size=4), min_size=1, max_size=12))
def test_the_size_is_that_of_what_is_built(graph: list[list[int]]) -> None:
    """Each list holds some of those before it."""
    lines = []
    for number, parts in enumerate(graph):
        shown = ", ".join(f"*a{part} " if part < number else "x" for part in parts)
        lines.append(f"- &a{number} [{shown}]\n")
    (root,) = compose("".join(lines))
    size = size_of(root, YamlSize(10**6, 10**6, 100), aliases=True)
    nodes, levels = expanded(construct(root))
    assert (size.nodes, size.levels) == (nodes, levels)
