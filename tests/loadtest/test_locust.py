"""The load test runs against the real server: a process of locust, TLS, recorded reviews."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import shared
from tests.shared import ROOT
from tools.demo.run import serving

pytestmark = pytest.mark.slow


def locust(host: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    files = ("-f", "loadtest/locustfile.py", "--host", host, "--headless", "--json")
    return subprocess.run(
        [sys.executable, "-m", "locust", *files, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def statistics(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return {row["name"]: row for row in rows}


def test_recorded_reviews_are_answered_without_failure() -> None:
    with serving() as server:
        done = locust(server.reviews, "-u", "4", "-r", "4", "-t", "3s")
    assert done.returncode == 0, done.stderr
    rows = statistics(done)
    assert rows.keys() == {"/mutate", "/validate"}
    for row in rows.values():
        assert row["num_requests"] > 10
        assert row["num_failures"] == 0


def test_an_answer_that_is_no_review_is_a_failure() -> None:
    with serving() as server:
        done = locust(server.admin, "-u", "1", "-r", "1", "-t", "1s", "--webhook", "validate")
    assert done.returncode == 1
    assert statistics(done)["/validate"]["num_failures"] > 0


@pytest.mark.parametrize(
    "path", ["loadtest/corpus/pods.jsonl.gz", "tests/bench/data/bodies.jsonl.gz"]
)
def test_the_corpus_is_reviews_of_pods(path: str) -> None:
    rows = shared.rows(Path(ROOT, path))
    assert len(rows) >= 100
    assert {row["request"]["kind"]["kind"] for row in rows} == {"Pod"}
    assert len({row["request"]["uid"] for row in rows}) == len(rows)
