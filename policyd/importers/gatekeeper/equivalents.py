"""Policies of ``policies/`` that do what a template of the Gatekeeper library does in Rego.

The names are the templates' names. Policies are written apart, so messages and parameters differ.
"""

import json
from collections.abc import Mapping
from pathlib import Path

EQUIVALENTS: Mapping[str, str] = json.loads(Path(__file__).with_suffix(".json").read_bytes())


def refusal(template: str) -> str:
    """Return why a template without CEL is not imported, and what does the same, if anything."""
    text = "it is written in Rego only, which is not translated"
    same = EQUIVALENTS.get(template)
    return text if same is None else f"{text}; {same} of policyd's library is about the same"
