"""The layout of documents: comments above fields, short mappings on one line, the same values."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policyd.cli.shared.layout.document_layout import DocumentLayout
from policyd.json_types import FieldPath, JSONObject
from policyd.policy.source.splitting import read_values

KEYS = st.sampled_from(
    ["spec", "name", "key", "a b", "#", "- x", "y", "1", "", "etc...", "a\nb\u2028c"]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | KEYS
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=15,
)
COMMENTS = st.text(max_size=60)


def text(document: JSONObject, **options: Any) -> str:
    return DocumentLayout(**options).text(document)


def paths(value: Any, path: FieldPath = ()) -> list[FieldPath]:
    found = [path]
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            found += paths(each, (*path, key))
    return found


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), st.data())
def test_neither_comments_nor_layout_change_a_value(
    document: JSONObject, data: st.DataObject
) -> None:
    commented = data.draw(st.dictionaries(st.sampled_from(paths(document)), COMMENTS, max_size=4))
    made = text(document, comments=commented, compact=True)
    assert read_values("x", made.encode("utf-8", "surrogatepass")) == ([document], [])


def test_comments_stand_above_their_fields() -> None:
    document = {"spec": {"validations": [{"expression": "true", "message": "no"}, {"x": [1]}]}}
    made = text(
        document,
        comments={
            (): "of the document",
            ("spec", "validations"): "of the list",
            ("spec", "validations", 0): "of the first",
            ("spec", "validations", 0, "expression"): "of its first field",
            ("spec", "validations", 0, "message"): "of the message",
            ("spec", "validations", 1, "x", 0): "of an item",
        },
        compact=True,
    )
    assert made == (
        "# of the document\n"
        "spec:\n"
        "  # of the list\n"
        "  validations:\n"
        "  # of the first\n"
        "  # of its first field\n"
        '  - expression: "true"\n'
        "    # of the message\n"
        '    message: "no"\n'
        "  - x:\n"
        "    # of an item\n"
        "    - 1\n"
    )


def test_short_mappings_are_on_one_line_where_people_write_them_so() -> None:
    document = {
        "metadata": {"name": "a", "labels": {"b": "c"}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "items": [{"key": "a", "operator": "In", "values": ["b", "c"]}, {"a": {"b": 1}}],
            "validations": [{"expression": "x"}],
            "long": {"key": "x" * 80},
        },
    }
    assert text(document, compact=True) == (
        "metadata:\n"
        "  name: a\n"
        "  labels:\n"
        "    b: c\n"
        "spec:\n"
        "  selector:\n"
        "    matchLabels: {app: web}\n"
        "  items:\n"
        "  - {key: a, operator: In, values: [b, c]}\n"
        "  - a: {b: 1}\n"
        "  validations:\n"
        "  - expression: x\n"
        "  long:\n"
        f"    key: {'x' * 80}\n"
    )
