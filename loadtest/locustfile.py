"""Users that post recorded AdmissionReviews over TLS, as an API server does.

``locust -f loadtest/locustfile.py --host https://127.0.0.1:8443`` (loadtest/README.md). A response
is a failure unless it is an AdmissionReview with the uid of the request, and with the verdict that
the corpus has for it, if it has one.
"""

import functools
import gzip
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gevent
from locust import FastHttpUser, constant_throughput, events, task
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment

CORPUS = Path(__file__).parent / "corpus" / "mix.jsonl.gz"
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, */*"}
CLOSE = {"Connection": "close"}
WEBHOOKS = ("mutate", "validate")


class Review(NamedTuple):
    """What is posted, and what is expected of the response."""

    uid: str
    body: str
    allowed: bool | None  # None: any verdict


@events.init_command_line_parser.add_listener  # type: ignore[untyped-decorator]
def add_options(parser: LocustArgumentParser) -> None:
    """The options of this file, shown by ``locust --help``."""
    parser.add_argument(
        "--corpus",
        default=str(CORPUS),
        help="file of AdmissionReviews, one per line, or of lines as loadtest/mix.py makes them; "
        "may be compressed (.gz)",
    )
    parser.add_argument(
        "--webhook",
        default="both",
        choices=(*WEBHOOKS, "both"),
        help="webhook to call; both: one after the other for each request, as an API server does",
    )
    parser.add_argument("--review-timeout", default="5s", help="timeout parameter of each request")
    parser.add_argument(
        "--rate",
        type=float,
        default=0.0,
        help="requests of a client per second and user, at most; 0: as fast as the server responds",
    )
    parser.add_argument(
        "--requests",
        type=int,
        default=0,
        help="end after this many requests of clients, of all users; 0: never",
    )
    parser.add_argument(
        "--new-connections",
        action="store_true",
        help="open a connection, with a TLS handshake, for every review",
    )


@functools.cache
def load(path: str) -> list[dict[str, Review]]:
    """The reviews of each request, by webhook; read once per process."""
    data = Path(path).read_bytes()
    if path.endswith(".gz"):
        data = gzip.decompress(data)
    return [reviews(line) for line in data.split(b"\n") if line]


def reviews(line: bytes) -> dict[str, Review]:
    """The reviews of a line of a corpus."""
    row = json.loads(line)
    if "request" in row:
        return dict.fromkeys(WEBHOOKS, Review(row["request"]["uid"], line.decode(), None))
    found = {each: Review(uid_of(row[each]), row[each], None) for each in WEBHOOKS}
    return found | {"validate": found["validate"]._replace(allowed=row["allowed"])}


def uid_of(body: str) -> str:
    """The uid of an AdmissionReview."""
    return str(json.loads(body)["request"]["uid"])


def endless(path: str) -> Iterator[dict[str, Review]]:
    """The requests in an endless cycle; each user starts at a random one."""
    rows = load(path)
    start = random.randrange(len(rows))
    return itertools.cycle(rows[start:] + rows[:start])


class ApiServer(FastHttpUser):
    """One keep-alive connection of an API server."""

    insecure = True  # self-signed certificates
    concurrency = 1
    sent = itertools.count(1)  # requests of all users

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        options: Any = environment.parsed_options
        self.requests = endless(options.corpus)
        self.webhooks = WEBHOOKS if options.webhook == "both" else (options.webhook,)
        self.query = f"?timeout={options.review_timeout}"
        self.headers = HEADERS | (CLOSE if options.new_connections else {})
        self.pace = constant_throughput(options.rate) if options.rate else lambda _: 0.0

    def wait_time(self) -> float:
        """Seconds until the next request."""
        return float(self.pace(self))

    @task
    def admit(self) -> None:
        """Post the reviews of one request; their names in the statistics are the paths."""
        request = next(self.requests)
        for webhook in self.webhooks:
            self.post(webhook, request[webhook])
        if next(self.sent) == self.environment.parsed_options.requests:
            gevent.spawn(self.environment.runner.quit)  # which ends this user, too

    def post(self, webhook: str, review: Review) -> None:
        """Post one review."""
        with self.client.post(
            f"/{webhook}{self.query}",
            data=review.body,
            headers=self.headers,
            name=f"/{webhook}",
            catch_response=True,
        ) as response:
            problem = problem_of(response.status_code, response.content, review)
            if problem:
                response.failure(problem)


def problem_of(status: int, content: bytes | None, review: Review) -> str:
    """What is wrong with a response; empty if nothing is."""
    if status != 200:
        return f"HTTP status {status}"
    try:
        answer = json.loads(content or b"")["response"]
    except (ValueError, KeyError, TypeError):
        return "not an AdmissionReview"
    if answer.get("uid") != review.uid:
        return "the uid differs from that of the request"
    allowed = answer.get("allowed")
    if not isinstance(allowed, bool):
        return "allowed is missing"
    if review.allowed in (None, allowed):
        return ""
    return (
        "denied, but the corpus has it allowed"
        if not allowed
        else "allowed, but the corpus has it denied"
    )
