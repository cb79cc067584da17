"""Load over time: ``locust -f loadtest/locustfile.py,loadtest/shapes.py`` (loadtest/README.md)."""

from typing import ClassVar

from locust import LoadTestShape


class Rollout(LoadTestShape):
    """A quiet cluster, a large rollout, and quiet again: latency must return to where it was."""

    # (until second, users, users started per second)
    stages: ClassVar[list[tuple[int, int, float]]] = [
        (30, 4, 4.0),
        (60, 64, 16.0),
        (120, 128, 32.0),
        (150, 4, 64.0),
    ]

    def tick(self) -> tuple[int, float] | None:
        """The number of users at this time; None ends the test."""
        passed: float = self.get_run_time()  # type: ignore[no-untyped-call]
        for until, users, rate in self.stages:
            if passed < until:
                return users, rate
        return None
