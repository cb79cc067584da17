"""Where each part of each policy runs, and the reason. Only data."""

from dataclasses import dataclass
from typing import Literal, get_args

from policyd.json_types import JSONObject
from policyd.policy.model.suite import Webhook

PlacementMode = Literal["auto", "never", "only"]
MODES: tuple[PlacementMode, ...] = get_args(PlacementMode)
Engine = Literal["api-server", "webhook"]
# One part of a policy: its name and the webhook. No two policies share both.
PolicyPart = tuple[str, Webhook]


@dataclass(frozen=True, slots=True)
class PlacedPart:
    """One part of a policy, and the engine that runs it; ``why`` is a sentence.

    ``documents`` are those that the API server needs; empty if policyd's webhook enforces it.
    """

    kind: str
    policy: str
    webhook: Webhook
    engine: Engine
    why: str
    documents: tuple[JSONObject, ...] = ()

    @property
    def part(self) -> PolicyPart:
        """Return its name and webhook."""
        return self.policy, self.webhook


@dataclass(frozen=True, slots=True)
class Placement:
    """Every part of every policy. ``problems``: why the mode cannot be followed."""

    parts: tuple[PlacedPart, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def in_tree(self) -> frozenset[PolicyPart]:
        """Return the parts that the API server enforces."""
        return frozenset(each.part for each in self.parts if each.engine == "api-server")

    @property
    def documents(self) -> tuple[JSONObject, ...]:
        """Return the documents of all parts."""
        return tuple(document for each in self.parts for document in each.documents)
