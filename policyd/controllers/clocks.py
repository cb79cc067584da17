"""The API server's clock, which decides whether a certificate is valid; read from stored objects.

A node's own clock may jump. Only the time of the API server matters, because it verifies, and it
writes that time into managedFields of each written object.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from time import monotonic, time

from policyd.json_types import JSONObject

# The API server writes whole seconds, and its response takes some time. Within these bounds the own
# clock agrees, and is more precise.
BEHIND, AHEAD = 1.0, 3.0


@dataclass(eq=False, repr=False)
class ServerClock:
    """The last seen time of the API server plus the time passed since. The own clock counts before
    that, and as long as it agrees.
    """

    elapsed: Callable[[], float] = monotonic
    own: Callable[[], float] = time

    def __post_init__(self) -> None:
        self._seen: tuple[float, float] | None = None

    def __call__(self) -> float:
        """The Unix time, at most a second or two late."""
        own = self.own()
        if self._seen is None:
            return own
        at, elapsed = self._seen
        shown = at + self.elapsed() - elapsed
        return own if shown - BEHIND <= own <= shown + AHEAD else shown

    def saw(self, stored: JSONObject) -> None:
        """Take the time from an object that was just written."""
        fields = (stored.get("metadata") or {}).get("managedFields") or []
        times = [each["time"] for each in fields if isinstance(each.get("time"), str)]
        if times:
            self._seen = datetime.fromisoformat(max(times)).timestamp(), self.elapsed()
