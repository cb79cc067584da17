"""Settings for all tests, and a summary of missing recorded data at the end of a run."""

import pytest
from hypothesis import HealthCheck, settings

from tests import shared

# The same examples in every run, and none fails for taking long: a busy machine is no defect.
settings.register_profile(
    "policyd", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("policyd")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the recorded data that was missing: a skipped suite must not look like a pass."""
    if not shared.missing:
        return
    terminalreporter.section("recorded data that was not found")
    for path, variable in sorted(shared.missing.items()):
        terminalreporter.write_line(f"left out: {path} (set {variable})")
