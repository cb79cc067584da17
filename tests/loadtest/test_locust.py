"""The load test runs against the real server: a process of locust, TLS, recorded reviews."""

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from loadtest.mix import FILE
from loadtest.servers import Server, serving
from tests.shared import ROOT, lines

pytestmark = pytest.mark.slow
PODS = "tools/bench/data/bodies.jsonl.gz"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server"), None) as started:
        yield started


def locust(host: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    files = ("-f", "loadtest/locustfile.py", "--host", host, "--headless", "--json", "-t", "60s")
    return subprocess.run(
        [sys.executable, "-m", "locust", *files, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def statistics(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return {row["name"]: row for row in rows}


@pytest.mark.parametrize("option", [(), ("--new-connections", "--corpus", PODS)])
def test_recorded_reviews_are_answered_without_failure(
    server: Server, option: tuple[str, ...]
) -> None:
    done = locust(server.reviews, "-u", "4", "-r", "4", "--requests", "50", *option)
    assert done.returncode == 0, done.stderr
    rows = statistics(done)
    assert rows.keys() == {"/mutate", "/validate"}
    for row in rows.values():
        assert row["num_requests"] >= 50
        assert row["num_failures"] == 0


def test_requests_are_sent_at_a_rate(server: Server) -> None:
    began = monotonic()
    locust(server.reviews, "-u", "2", "-r", "2", "--rate", "2", "--requests", "13")
    assert monotonic() - began >= 3  # six of each user, half a second between them


def test_an_answer_that_is_no_review_is_a_failure(server: Server) -> None:
    done = locust(server.admin, "-u", "1", "-r", "1", "--requests", "5", "--webhook", "validate")
    assert done.returncode == 1
    assert statistics(done)["/validate"]["num_failures"] > 0


def test_another_verdict_is_a_failure(server: Server, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    [first] = islice(lines(FILE), 1)
    row = json.loads(first)
    corpus.write_text(json.dumps(row | {"allowed": not row["allowed"]}))
    done = locust(server.reviews, "-u", "1", "-r", "1", "--requests", "5", "--corpus", str(corpus))
    assert statistics(done)["/validate"]["num_failures"] > 0
    assert ", but the corpus has it " in done.stderr
