"""A plugin of ``make e2e``: the run fails if no test passed. pytest alone succeeds if it skips all.

``python -m pytest -p tests.e2e.required tests/e2e``. No tests here.
"""

import pytest

KEY = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[KEY] = 0
    config.pluginmanager.register(Counting(config))


class Counting:
    """Counts the tests that passed, those in the processes of xdist too."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._config.stash[KEY] += report.when == "call" and report.passed


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    of_xdist = hasattr(session.config, "workerinput")
    if not of_xdist and not session.config.stash[KEY] and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed = terminalreporter.config.stash[KEY]
    skipped = terminalreporter.stats.get("skipped", [])
    terminalreporter.section("end-to-end tests")
    terminalreporter.write_line(f"{passed} passed, {len(skipped)} skipped")
    if not passed:
        terminalreporter.write_line("no test passed: the run fails")
