"""The data of a scrape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from policyd.http.limits import InFlight
from policyd.observability.metrics.recorder import PrometheusRecorder
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.files import BundleState


class CountedConnections(Protocol):
    """The connections of a port: ``server.network.connections.PortConnections``."""

    closed: dict[Any, int]

    @property
    def open(self) -> Mapping[Any, None]:
        """All open connections."""

    @property
    def idle(self) -> int:
        """The number of connections without a request under way."""


class CacheState(NamedTuple):
    """A cache that follows the cluster: the seconds since it was last known to be current, and the
    number of its objects.
    """

    staleness: float
    objects: int


class ReadState(NamedTuple):
    """The objects of one kind that policies read: their number and bytes, the number with an error
    instead of a key, the events so far, the seconds since the list was last known to be current,
    and whether policies can read it.
    """

    objects: int
    size: int
    key_errors: int
    events: int
    staleness: float
    usable: bool


@dataclass(frozen=True, slots=True)
class Scrape:
    """Everything that a metric may show, at one moment.

    ``certificate_expiry`` is a Unix time, None without a certificate; ``serves_last_good``: whether
    the policies come from a former process (``--last-good``); ``watches``: whether each watch
    works; ``log_lines_lost`` is the number of lost lines; ``connections`` are by port, ``caches``
    by name, ``reads`` by kind; ``bundles`` are the ConfigMaps with policies.
    """

    recorder: PrometheusRecorder
    policies: CompiledPolicySet
    in_flight: InFlight
    certificate_expiry: float | None
    serves_last_good: bool
    watches: Mapping[str, bool]
    log_lines_lost: int
    connections: Mapping[str, CountedConnections]
    caches: Mapping[str, CacheState]
    reads: Mapping[str, ReadState]
    bundles: Sequence[BundleState]
    # Decisions, cost and changes of each policy, by name: snapshots.
    counters: Sequence[tuple[str, Mapping[str, Any]]]
    patches: Mapping[str, int]
    conflicts: Mapping[str, int]
