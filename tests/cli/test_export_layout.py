"""The YAML of ``policyd export``: the same values as before, as people write them."""

from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from policyd.cli.export.exported_text import document_text
from policyd.cli.shared.layout.document_layout import comment
from policyd.json_types import JSONObject
from policyd.policy.source.loader import load_text

WORDS = st.lists(
    st.sampled_from(
        ["a", "&&", "||", "?", "has(object.spec.x)", "'a  b'", "", "#", ":", "- x", "é"]
    ),
    max_size=60,
).map(" ".join)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | WORDS
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
@example("x" * 200)
@example(" ".join("x" * 60 for _ in range(5)))
@example("a  " + "b " * 100 + "c")
@example({"": {"": [[], {}, [[""]]]}})
@example("line\n\n\n")
@example("  indented\nline\n")
def test_the_values_stay(value: Any) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Sample",
        "metadata": {"name": "a"},
        "spec": {"x": value},
    }
    found = load_text(document_text(document))
    assert [each.raw for each in found.documents] == [document]


@given(st.text())
def test_a_comment_stays_one(text: str) -> None:
    made = comment(text)
    assert all(line.startswith("#") for line in made.splitlines())
    assert yaml.safe_load(f"{made}a: 1\n") == {"a": 1}


def test_a_long_comment_is_wrapped() -> None:
    made = comment(f"  remark: {'word ' * 30}").splitlines()
    assert len(made) == 2
    assert max(map(len, made)) <= 100
    assert made[0].startswith("#   remark: word")
    assert made[1].startswith("#     word")
    assert comment("a\nb") == "# a\n# b\n"


def laid_out(**spec: Any) -> str:
    head = {"kind": "Sample", "apiVersion": "v1", "metadata": {"name": "a"}}
    return document_text({"spec": spec, **head}).partition("spec:\n")[2]


def test_fields_are_in_the_order_of_the_documentation() -> None:
    document = {
        "spec": {"validations": [], "zzz": 1, "matchConstraints": {}, "aaa": 2},
        "metadata": {"annotations": {}, "labels": {"z": "1", "a": "2"}, "name": "a"},
        "kind": "Sample",
        "apiVersion": "v1",
    }
    text = document_text(document)
    names = [line.strip().partition(":")[0] for line in text.splitlines()]
    assert names == [
        "apiVersion", "kind", "metadata", "name", "labels", "z", "a", "annotations", "spec",
        "matchConstraints", "validations", "zzz", "aaa",
    ]  # fmt: skip


LAYOUTS = {
    "a short list": ({"x": ["CREATE", ""]}, 'x: [CREATE, ""]'),
    "a long list": ({"x": ["a" * 60, "b" * 60]}, f"x:\n- {'a' * 60}\n- {'b' * 60}"),
    "a list of objects": ({"x": [{"a": 1, "b": 2}]}, "x:\n- a: 1\n  b: 2"),
    "quotes of CEL": ({"x": "'a' in b"}, "x: \"'a' in b\""),
    "both quotes": ({"x": "'a' in \"b\""}, "x: '''a'' in \"b\"'"),
    "a word that is no string": ({"x": "yes"}, 'x: "yes"'),
    "lines": ({"x": "a &&\nb\n"}, "x: |\n  a &&\n  b"),
    "a line without blanks": ({"x": "a" * 120}, f"x: {'a' * 120}"),
    "operators end lines": (
        {"x": f"{'a' * 50} == {'b' * 30} && {'c' * 30}"},
        f"x: >-\n  {'a' * 50} == {'b' * 30} &&\n  {'c' * 30}",
    ),
    "no operator near": (
        {"x": f"{'a' * 50} {'b' * 30} {'c' * 30}"},
        f"x: >-\n  {'a' * 50} {'b' * 30}\n  {'c' * 30}",
    ),
}


@pytest.mark.parametrize(("spec", "text"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_layout(spec: JSONObject, text: str) -> None:
    indented = "".join(f"  {line}\n" for line in text.split("\n"))
    assert laid_out(**spec) == indented
