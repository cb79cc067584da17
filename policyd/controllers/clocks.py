"""The API server's clock, which decides whether a certificate is valid; read from what it stores.

A node's own clock may jump. Only the time of the API server matters, because it verifies, and it
writes that time into managedFields of whatever is written.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from time import monotonic, time

from policyd.json_types import JSONObject

# The API server writes whole seconds, and its response takes some time. Within these bounds the own
# clock shows the same time, and more exactly.
BEHIND, AHEAD = 1.0, 3.0


@dataclass(eq=False, repr=False)
class ServerClock:
    """The time of the API server as it was seen last, and what has passed since. The own clock is
    used before that, and while it agrees.
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
        """Take the time from an object that was written just now."""
        fields = (stored.get("metadata") or {}).get("managedFields") or []
        times = [each["time"] for each in fields if isinstance(each.get("time"), str)]
        if times:
            self._seen = datetime.fromisoformat(max(times)).timestamp(), self.elapsed()
