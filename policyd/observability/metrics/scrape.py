"""What metrics are made of at each scrape."""

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
        """How many connections have no request under way."""


class CacheState(NamedTuple):
    """A cache that follows the cluster: the seconds since it was last known to be current, and
    how many objects are kept.
    """

    staleness: float
    objects: int


class ReadState(NamedTuple):
    """The objects of one kind that policies read: how many objects are kept and the bytes that they
    take, how many objects have an error instead of a key, the events so far, the seconds since all
    that was last known to be current, and whether policies can read it.
    """

    objects: int
    size: int
    key_errors: int
    events: int
    staleness: float
    usable: bool


@dataclass(frozen=True, slots=True)
class Scrape:
    """Everything that a metric may show, as it is at one moment.

    ``certificate_expiry`` is a Unix time, None without a certificate; ``serves_last_good`` says
    whether the policies are a former process's (``--last-good``); ``watches`` says whether
    each watch works, ``log_lines_lost`` how many lines could not be written; ``connections`` has
    them by port, ``caches`` what is kept of the cluster, ``reads`` what of each kind that policies
    read; ``bundles`` are the ConfigMaps that policies are read from.
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
