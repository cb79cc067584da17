"""Users that post recorded AdmissionReviews over TLS as fast as the server responds.

``locust -f loadtest/locustfile.py --host https://127.0.0.1:8443`` (loadtest/README.md). A response
is a failure unless it is an AdmissionReview with the uid of the request; denials are no failures.
"""

import functools
import gzip
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from locust import FastHttpUser, events, task
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment

CORPUS = Path(__file__).parent / "corpus" / "pods.jsonl.gz"
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, */*"}


@events.init_command_line_parser.add_listener  # type: ignore[untyped-decorator]
def add_options(parser: LocustArgumentParser) -> None:
    """The options of this file, shown by ``locust --help``."""
    parser.add_argument(
        "--corpus",
        default=str(CORPUS),
        help="file of AdmissionReviews, one per line; may be compressed (.gz)",
    )
    parser.add_argument(
        "--webhook",
        default="both",
        choices=("validate", "mutate", "both"),
        help="webhook to call",
    )
    parser.add_argument("--review-timeout", default="5s", help="timeout parameter of each request")


@functools.cache
def load(path: str) -> list[tuple[str, str]]:
    """The uid and body of each AdmissionReview; read once per process."""
    data = Path(path).read_bytes()
    if path.endswith(".gz"):
        data = gzip.decompress(data)
    return [
        (json.loads(line)["request"]["uid"], line.decode()) for line in data.split(b"\n") if line
    ]


def endless(path: str) -> Iterator[tuple[str, str]]:
    """The AdmissionReviews in an endless cycle; each user starts at a random one."""
    reviews = load(path)
    start = random.randrange(len(reviews))
    return itertools.cycle(reviews[start:] + reviews[:start])


class ApiServer(FastHttpUser):
    """One keep-alive connection of an API server."""

    insecure = True  # self-signed certificates
    concurrency = 1

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        options: Any = environment.parsed_options
        self.reviews = endless(options.corpus)
        webhooks = ("mutate", "validate") if options.webhook == "both" else (options.webhook,)
        self.webhooks = itertools.cycle(webhooks)
        self.query = f"?timeout={options.review_timeout}"

    @task
    def review(self) -> None:
        """Post one AdmissionReview; its name in the statistics is the path."""
        webhook = next(self.webhooks)
        uid, body = next(self.reviews)
        with self.client.post(
            f"/{webhook}{self.query}",
            data=body,
            headers=HEADERS,
            name=f"/{webhook}",
            catch_response=True,
        ) as response:
            problem = problem_of(response.status_code, response.content, uid)
            if problem:
                response.failure(problem)


def problem_of(status: int, content: bytes | None, uid: str) -> str:
    """What is wrong with a response; empty if nothing is."""
    if status != 200:
        return f"HTTP status {status}"
    try:
        answer = json.loads(content or b"")["response"]
    except (ValueError, KeyError, TypeError):
        return "not an AdmissionReview"
    if answer.get("uid") != uid:
        return "the uid differs from that of the request"
    return "" if isinstance(answer.get("allowed"), bool) else "allowed is missing"
