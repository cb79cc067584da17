"""Load over time: ``locust -f loadtest/locustfile.py,loadtest/shapes.py --shape spike``."""

from typing import Any

from locust import LoadTestShape, events
from locust.argument_parser import LocustArgumentParser

from loadtest.stages import SHAPES, users_at

FASTEST = 100.0  # users started or stopped per second


@events.init_command_line_parser.add_listener  # type: ignore[untyped-decorator]
def add_options(parser: LocustArgumentParser) -> None:
    """The options of this file, shown by ``locust --help``."""
    parser.add_argument("--shape", default="rollout", choices=tuple(SHAPES), help="load over time")
    parser.add_argument("--peak", type=int, default=64, help="users at most")
    parser.add_argument("--length", type=float, default=150.0, help="seconds in all")


class Shape(LoadTestShape):
    """The shape that ``--shape`` names."""

    def tick(self) -> tuple[int, float] | None:
        """The number of users at this time, and how fast it is reached; None ends the test."""
        runner: Any = self.runner
        options = runner.environment.parsed_options
        passed: float = self.get_run_time()  # type: ignore[no-untyped-call]
        users = users_at(options.shape, options.peak, passed / options.length)
        return None if users is None else (users, FASTEST)
