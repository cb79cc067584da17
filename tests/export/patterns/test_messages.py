"""Messages of translated patterns: how places, values and keys are printed, and what is cut."""

from typing import Any

import pytest

from policyd.versions import NEWEST, OLDEST, KubernetesVersion
from tests.export.patterns.translated import translated
from tests.sampling import paired

VERSIONS = [OLDEST, KubernetesVersion(1, 34), NEWEST]  # without sort(), too


def said(pattern: Any, obj: Any, **item: Any) -> str:
    """The message, which must be the core's."""
    made = translated({"pattern": pattern, **item})
    message, report = made.denied(obj), made.pattern.check(obj)
    assert message is not None
    assert report is not None
    assert message == (f"{item['message'].strip()} ({report})" if item.get("message") else report)
    return message


def test_the_message_is_followed_by_the_places() -> None:
    assert said({"a": 1}, {"a": 2}, message=" it's \\ bad ") == (
        "it's \\ bad (a: expected 1, found 2)"
    )


def test_paths_start_at_the_real_field() -> None:
    made = translated({"pattern": {"a": ["x"]}}, shown_root="spec.template")
    assert made.denied({"a": ["y"]}) == 'spec.template.a[0]: expected x, found "y"'
    assert made.denied({"a": ["y"]}) == made.pattern.check({"a": ["y"]}, within="spec.template")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (1e6, "1000000.0"),
        (-1234567.25, "-1234567.25"),
        (123456789012345.6, "123456789012345.6"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e+16"),
        (1e-5, "1e-05"),
        (0.0001, "0.0001"),
        (-(2**63), str(-(2**63))),
        (True, "true"),
        ("", '""'),
        ('a"\\a\\\\v', '"a\\"\\\\a\\\\\\\\v"'),
        (
            "\x00\x07\x08\t\n\x0b\x0c\r\x1f\x7fé",
            '"\\u0000\\u0007\\b\\t\\n\\u000b\\f\\r\\u001f\x7fé"',
        ),
        ("x" * 78, '"' + "x" * 78 + '"'),
        ("x" * 79, '"' + "x" * 76 + "..."),
        ("\n" * 100, '"' + "\\n" * 38 + "..."),
        ("😀" * 81, '"' + "😀" * 76 + "..."),
        ({}, "an empty object"),
        ({"b": 1}, "an object"),
    ],
)
def test_a_value_is_printed_as_json(value: Any, shown: str) -> None:
    assert said({"a": "none"}, {"a": value}) == f"a: expected none, found {shown}"


KEYS = [
    "b",
    "B_2",
    "",
    "a.b",
    "a b",
    "é",
    "名",
    "a\tb",
    "\x7f",
    "\u00a0",
    "\u200b",
    "😀\u202e",
    '"\\\n',
    "\x07\x0b\\a",
    "x" * 299,
    "x" * 300,
    "\u200b" * 100,
]


@pytest.mark.parametrize(
    ("key", "version"), paired(KEYS, VERSIONS), ids=lambda each: ascii(str(each)[:12])
)
def test_a_key_of_a_wildcard_is_printed(key: str, version: KubernetesVersion) -> None:
    for pattern in ({"X(*)": None}, {"*": 1}, {"m": {"=(*)": 1}}):
        obj = {"m": {key: "x"}} if "m" in pattern else {key: "x"}
        made = translated({"pattern": pattern}, version=version)
        assert made.denied(obj) == made.pattern.check(obj)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_keys_of_a_wildcard_are_in_order(version: KubernetesVersion) -> None:
    made = translated({"pattern": {"X(*)": None}}, version=version)
    assert made.denied({"b": 1, "é": 1, "a": 1, "B": 1}) == (
        "B: expected nothing, found 1; a: expected nothing, found 1; "
        "b: expected nothing, found 1; [é]: expected nothing, found 1"
    )


def test_ten_places_are_printed() -> None:
    items = [{"b": number} for number in range(30)]
    message = said({"a": [{"b": 0}]}, {"a": items})
    assert message.count("expected 0") == 10
    assert message.endswith("a[10].b: expected 0, found 10; and 19 more")


@pytest.mark.parametrize(("last", "version"), paired([99, 100, 101, 250, 1234], VERSIONS), ids=str)
def test_the_index_of_a_late_item_is_printed(last: int, version: KubernetesVersion) -> None:
    made = translated({"pattern": {"a": [{"b": ["x"]}]}}, version=version)
    obj = {"a": [*[{"b": []}] * last, {"b": [*["x"] * last, "y"]}]}
    assert made.denied(obj) == f'a[{last}].b[{last}]: expected x, found "y"'


def test_at_most_4_kib_of_places_are_printed() -> None:
    items = ["😀" * 90] * 12
    assert said({"a": ["ab" * 100]}, {"a": items}).endswith("; and 5 more")
    trees = [{"a": ["ab" * 100]}, {"a": ["ac" * 100]}]
    made = translated({"anyPattern": trees})
    assert made.denied({"a": items}) == made.pattern.check({"a": items})
    assert str(made.denied({"a": items})).count("; and 9 more") == 2


DATA = {"data": {"k": "a"}, "stringData": {"*": "a"}, "metadata": {"annotations": {"?*": "a"}}}
LAST = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.mark.parametrize("pattern", [DATA, {"*": {"*": "a"}}, {"*": {"*": {"*": "a"}}}])
def test_data_of_a_secret_is_never_shown(pattern: Any) -> None:
    secret = {
        "kind": "Secret",
        "data": {"k": "hidden", "other": "hidden"},
        "stringData": {"é": "hidden", "x\ny": "hidden"},
        "metadata": {"annotations": {LAST: "hidden"}},
    }
    assert "hidden" not in said(pattern, secret)
    assert "hidden" in said(pattern, {**secret, "kind": "ConfigMap"})


def test_other_fields_of_a_secret_are_shown() -> None:
    secret = {"kind": "Secret", "type": "x", "metadata": {"annotations": {"a": "seen"}}}
    pattern = {"type": "y", "metadata": {"annotations": {"*": "z"}}}
    assert 'found "x"' in said(pattern, secret)
    assert 'found "seen"' in said(pattern, secret)
