"""The node for the tests in this folder: one for the whole run, with policyd installed.

The tests run with ``POLICYD_NODE=1`` (``make node`` sets it), as root; otherwise they are skipped.
"""

import os
import time
from collections.abc import Iterator

import pytest

from tests.node import programs
from tests.node.installation import Installation, ensure, managed
from tests.node.machine import Node
from tests.node.report import KEY, Report

RUN = "POLICYD_NODE"


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Report:
    return request.config.stash.setdefault(KEY, Report(request.config))


@pytest.fixture(scope="session")
def node(report: Report) -> Iterator[Node]:
    """A node that is Ready, with the images in it and nothing installed."""
    if os.environ.get(RUN) != "1":
        pytest.skip(f"needs a Kubernetes node: run `make node`, or set {RUN}=1 (minutes; as root)")
    images = programs.images()
    made = Node()
    made.stop()
    begin = time.monotonic()
    made.start(images)
    report.figure("start of the node", f"{time.monotonic() - begin:.0f} s")
    yield made
    made.stop()


@pytest.fixture
def policyd(node: Node, report: Report) -> Installation:
    """policyd with all of its replicas ready and no other Pod of it, installed if need be."""
    return ensure(node, report, managed())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    report = terminalreporter.config.stash.get(KEY, None)
    if report is None or not report.lines():
        return
    report.write()
    failed = sum(len(terminalreporter.stats.get(each, ())) for each in ("failed", "error"))
    terminalreporter.section("policyd on a node")
    for line in report.lines():
        terminalreporter.write_line(line)
    verdict = f"{failed} scenarios failed" if failed else "every scenario passed"
    terminalreporter.write_line("")
    terminalreporter.write_line(f"verdict: {verdict}")
