"""What is compared, and what was found. Only data; durations are in microseconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from policyd.json_types import JSONObject
from policyd.policy.model.suite import Webhook
from tools.crossover.estimates import Estimate

ArrangedEngine = Literal["none", "in-tree", "webhook"]
# Whose CPU time is measured, and the sum of both.
API_SERVER, POLICYD_PROCESS, TOGETHER = "apiServer", "policyd", "together"


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A namespace, and which engine evaluates policies there: what one of them does at one webhook,
    or nothing (``webhook`` None).
    """

    engine: ArrangedEngine
    webhook: Webhook | None
    namespace: str
    policies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """A dry-run create of an object of a namespaced kind; ``base`` is the path of its API."""

    label: str
    base: str
    plural: str
    body: JSONObject

    def path(self, namespace: str) -> str:
        """Return the path of the list in a namespace."""
        return f"{self.base}/namespaces/{namespace}/{self.plural}"


@dataclass(frozen=True, slots=True)
class ArrangementResult:
    """What the creates of one namespace took. ``above`` is in comparison with no policies, of the
    same rounds; ``cpu`` has what could be read, and is for one create.
    """

    arrangement: Arrangement
    creates: int
    refused: int
    message: str
    median: float
    p90: float
    above: Estimate | None = None
    cpu: Mapping[str, Estimate] | None = None


@dataclass(frozen=True, slots=True)
class EngineComparison:
    """How much more the API server takes for the same policies than the webhook: negative numbers
    speak for the API server. ``cpu`` is of both processes; None if one could not be read.
    """

    webhook: Webhook
    latency: Estimate
    cpu: Estimate | None


@dataclass(frozen=True, slots=True)
class Results:
    """What a run found. ``remarks`` are what limits its meaning."""

    rounds: int
    arrangements: tuple[ArrangementResult, ...]
    comparisons: tuple[EngineComparison, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Creates for each namespace, and seconds for all of them."""

    creates: int
    seconds: float
    rounds: int = 10

    @property
    def each(self) -> int:
        """Return the creates of a namespace in one round."""
        return max(1, self.creates // self.rounds)
