"""The shapes of load: how many users there are over time. Without Locust, which changes Python's
sockets when it is imported.
"""

from typing import NamedTuple


class Stage(NamedTuple):
    """Until which part of the length how many of the users run."""

    until: float
    users: float


SHAPES = {
    "steady": (Stage(1.0, 1.0),),
    # Twice the users in each step: the curve of latency against throughput.
    "ramp": tuple(Stage((step + 1) / 7, 2.0 ** (step - 6)) for step in range(7)),
    # All at once, and back: latency must return to where it was.
    "spike": (Stage(0.4, 0.05), Stage(0.6, 1.0), Stage(1.0, 0.05)),
    # A quiet cluster, a large rollout, and quiet again.
    "rollout": (Stage(0.2, 0.03), Stage(0.4, 0.5), Stage(0.8, 1.0), Stage(1.0, 0.03)),
}


def users_at(shape: str, peak: int, part: float) -> int | None:
    """The number of users when ``part`` of the length has passed; None after its end."""
    for stage in SHAPES[shape]:
        if part < stage.until:
            return max(1, round(peak * stage.users))
    return None
