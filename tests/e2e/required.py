"""A plugin of ``make e2e``: the run fails if no test passed. pytest alone succeeds if it skips all.

``python -m pytest -p tests.e2e.required tests/e2e``. No tests here.
"""

from collections.abc import Generator

import pytest

KEY = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[KEY] = 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.config.stash[KEY] += report.when == "call" and report.passed
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not session.config.stash[KEY] and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed = terminalreporter.config.stash[KEY]
    skipped = terminalreporter.stats.get("skipped", [])
    terminalreporter.section("end-to-end tests")
    terminalreporter.write_line(f"{passed} passed, {len(skipped)} skipped")
    if not passed:
        terminalreporter.write_line("no test passed: the run fails")
