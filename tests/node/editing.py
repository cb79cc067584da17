"""Edits of the labelled ConfigMap of policies, which policyd reads by watch. No tests here."""

import json
import time
from collections.abc import Iterable

from policyd.json_types import JSONObject
from tests.node.documents import data
from tests.node.installation import EDITED, NAMESPACE, Installation
from tests.node.machine import until

LABELS = {"policyd.dev/policies": "true"}


def edited(policyd: Installation, text: str) -> float:
    """Apply the ConfigMap; the time at which the API server had stored it."""
    policyd.node.apply(data(EDITED, {"edited.yaml": text}, NAMESPACE, LABELS))
    return time.time()


def in_step(policyd: Installation, before: set[str]) -> bool:
    """Whether all replicas have loaded the same policies, and others than before."""
    found = {*policyd.generations().values()}
    return len(found) == 1 and not found & before


def enforce(policyd: Installation, documents: Iterable[JSONObject]) -> float:
    """Replace the policies by others, and wait until every replica has loaded them; the seconds."""
    before = {*policyd.generations().values()}
    edited(policyd, "\n---\n".join(map(json.dumps, documents)))
    return until(lambda: in_step(policyd, before), "the policies in every replica")
