"""CPU time as processes report it."""

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from tools.crossover.cpu import CpuReading, CpuUnreadable, PolicydCpu, reading

METRICS = """\
# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 12.34
process_cpu_seconds_total_by{a="b"} 7
process_start_time_seconds 1.79e+09
"""


def test_the_two_metrics_are_read_wherever_they_are() -> None:
    assert reading(METRICS) == CpuReading(12.34, (1.79e9,))


@pytest.mark.parametrize("line", ["process_cpu_seconds_total", "process_start_time_seconds"])
def test_metrics_without_one_of_them_cannot_be_used(line: str) -> None:
    kept = [each for each in METRICS.splitlines() if not each.startswith(f"{line} ")]
    with pytest.raises(CpuUnreadable):
        reading("\n".join(kept))


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/metrics" else 401)
        self.end_headers()
        self.wfile.write(METRICS.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_replicas_are_added_up_and_each_is_known(address: str) -> None:
    found = asyncio.run(PolicydCpu([f"{address}/metrics"] * 2).read())
    assert found == CpuReading(24.68, (1.79e9, 1.79e9))


def test_a_refusal_names_the_url(address: str) -> None:
    with pytest.raises(CpuUnreadable, match=f"{address}/other: answered 401"):
        asyncio.run(PolicydCpu([f"{address}/other"]).read())


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/metrics", "nonsense"])
def test_a_url_that_does_not_answer_is_named(url: str) -> None:
    with pytest.raises(CpuUnreadable, match=url):
        asyncio.run(PolicydCpu([url]).read())
