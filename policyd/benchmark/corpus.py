"""The built-in reviews: what a small shop's cluster sends when workloads are deployed."""

import gzip
from importlib.resources import files

from policyd.benchmark.webhook_requests import Review
from policyd.offline.replaying import read_line

NAME = "built-in"
_FILE = "data/reviews.jsonl.gz"


def corpus() -> list[Review]:
    """Return the built-in reviews: Pods, their controllers, and other objects of an application."""
    lines = gzip.decompress(files(__package__).joinpath(_FILE).read_bytes()).splitlines()
    return [
        Review(f"{NAME}:{number}", recorded.review, recorded.webhooks)
        for number, recorded in enumerate(map(read_line, lines), 1)
    ]
