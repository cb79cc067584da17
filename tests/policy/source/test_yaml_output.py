"""YAML that is written is read by Kubernetes as the value that it was written from."""

import pytest

from policyd.json_types import JSON
from policyd.policy.source.loader import read_one
from policyd.policy.source.yaml_output import dump

STRINGS = [
    "y",
    "N",
    "on",
    "Yes",
    "null",
    "~",
    "",
    "true",
    "0o17",
    "017",
    "0x1f",
    "1e3",
    "1_000",
    "+1",
    ".5",
    "1.",
    "12:30:45",
    "2027-03-31",
    "<<",
    "=",
    "a: b",
    "a #b",
    "- a",
    "é",
    "a\nb",
    "  a\nb",
    "a...",
    "a...\n",
    "a\n...\n",
    "a\n\n",
]


@pytest.mark.parametrize("flow", [False, True])
@pytest.mark.parametrize("text", STRINGS)
def test_a_string_stays_a_string(text: str, flow: bool) -> None:
    value: JSON = {"key": text, "list": [text, {text: text}]}
    assert read_one(dump(value, flow=flow)) == value
