"""One line about each field of a policy document, shown by editors, and the required fields.

The lines of ``field_docs.json`` are keyed by model and YAML name; an inherited field is found at
the model that declares it. They explain what the fields mean, not which values are valid.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path

from policyd.policy.model.mutations import KUBERNETES_KINDS, OWN_KINDS


@functools.cache
def field_docs() -> Mapping[str, Mapping[str, str]]:
    """Return the lines by model and field; those of kinds of mutation are the kinds' own."""
    found = json.loads(Path(__file__).with_suffix(".json").read_bytes())
    found["Mutation"] |= {kind.field: kind.about for kind in KUBERNETES_KINDS}
    found["PolicyMutation"] = {kind.field: kind.about for kind in OWN_KINDS}
    return found  # type: ignore[no-any-return]


# The models do not require them, so that all missing fields are reported at once.
REQUIRED: Mapping[str, list[str]] = json.loads(
    Path(__file__).with_name("required_fields.json").read_bytes()
)
