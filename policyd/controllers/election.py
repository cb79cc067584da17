"""Decides who holds the Lease, like client-go's leader election. No I/O.

The holder renews the Lease; another replica takes it when it has seen no renewal for the duration
of the Lease. A replica measures that time with its own clock since it saw the last renewal: the
holder's clock may be wrong, so the times in the Lease are only for people.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic, time

from policyd.json_types import JSONObject

API_VERSION = "coordination.k8s.io/v1"
# How long a Lease is valid without a renewal, how long its holder relies on it after the last
# renewal, and how often it is renewed: the values of client-go.
LEASE_SECONDS = 15
RENEW_SECONDS = 10.0
RETRY_SECONDS = 2.0


@dataclass(eq=False, repr=False)
class Election:
    """One candidate's view of a Lease, and the Lease that it may write.

    ``clock`` measures time; ``wall`` is only shown to people.
    """

    identity: str
    clock: Callable[[], float] = monotonic
    wall: Callable[[], float] = time

    def __post_init__(self) -> None:
        self._spec: JSONObject = {}
        self._metadata: JSONObject = {}
        self.exists = False  # a Lease that exists is replaced, else it is created
        self._seen_at = float("-inf")  # when the last change of the spec was seen
        self._renewed_at: float | None = None

    @property
    def holds(self) -> bool:
        """Whether this candidate may act as the holder."""
        renewed = self._renewed_at
        return renewed is not None and self.clock() - renewed < RENEW_SECONDS

    @property
    def holder(self) -> str:
        """The identity in the Lease; empty if it is free."""
        return str(self._spec.get("holderIdentity") or "")

    def saw(self, lease: JSONObject | None) -> None:
        """Record the current Lease; None if there is none."""
        self.exists = lease is not None
        spec = (lease or {}).get("spec") or {}
        if spec != self._spec:
            self._spec, self._seen_at = spec, self.clock()
        self._metadata = (lease or {}).get("metadata") or {}
        if self.holder != self.identity:
            self._renewed_at = None

    def wanted(self, namespace: str, name: str) -> JSONObject | None:
        """The Lease to write to acquire or renew it; None while another replica holds it."""
        mine = self.holder == self.identity
        if self.holder and not mine and self.clock() < self._seen_at + self._duration:
            return None
        now = _timestamp(self.wall())
        transitions = int(self._spec.get("leaseTransitions") or 0)
        return self._lease(
            namespace,
            name,
            {
                "holderIdentity": self.identity,
                "leaseDurationSeconds": LEASE_SECONDS,
                "acquireTime": self._spec.get("acquireTime") if mine else now,
                "renewTime": now,
                "leaseTransitions": transitions if mine or not self.exists else transitions + 1,
            },
        )

    def freed(self, namespace: str, name: str) -> JSONObject | None:
        """The Lease to write to release it; None if another replica holds it."""
        if self.holder != self.identity:
            return None
        now = _timestamp(self.wall())
        return self._lease(
            namespace,
            name,
            {
                "holderIdentity": "",
                "leaseDurationSeconds": 1,
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": int(self._spec.get("leaseTransitions") or 0),
            },
        )

    def wrote(self, lease: JSONObject, sent_at: float) -> None:
        """Record that the Lease was written, by a request sent at ``sent_at``."""
        self.saw(lease)
        self._renewed_at = sent_at if self.holder == self.identity else None

    @property
    def _duration(self) -> float:
        """The duration in the Lease, whose holder may run another version."""
        seconds = self._spec.get("leaseDurationSeconds")
        return float(seconds) if isinstance(seconds, int | float) else LEASE_SECONDS

    def _lease(self, namespace: str, name: str, spec: JSONObject) -> JSONObject:
        known = {
            key: self._metadata[key]
            for key in ("resourceVersion", "labels", "annotations")
            if key in self._metadata
        }
        return {
            "apiVersion": API_VERSION,
            "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace, **known},
            "spec": spec,
        }


def _timestamp(seconds: float) -> str:
    """A MicroTime of Kubernetes."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
