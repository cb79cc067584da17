"""What policyd writes in a cluster: its labels, its field manager, and who made an object."""

from typing import Any

from policyd.json_types import JSONObject

POLICYD = "policyd"
MANAGER = POLICYD  # the field manager of everything that policyd writes
MADE_BY = "app.kubernetes.io/managed-by"
LABELS = {"app.kubernetes.io/name": POLICYD, MADE_BY: POLICYD}


def labels_in(found: JSONObject) -> dict[str, Any]:
    """Return the labels of an object."""
    return (found.get("metadata") or {}).get("labels") or {}


def maker(found: JSONObject) -> str:
    """Return the tool that its label names as its maker; empty if there is none."""
    return str(labels_in(found).get(MADE_BY, ""))


def without_maker(wanted: JSONObject) -> JSONObject:
    """Return the object without that label, to write to what another tool made: Helm fails to
    upgrade an object if somebody else wrote a label that it writes.
    """
    labels = {key: value for key, value in labels_in(wanted).items() if key != MADE_BY}
    return {**wanted, "metadata": {**wanted["metadata"], "labels": labels}}
