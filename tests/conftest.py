"""What every test may rely on, and the closing words of a run about data that was absent."""

import pytest

from tests import shared


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which recorded data this run did without: a skipped suite must not look like a pass."""
    if not shared.missing:
        return
    terminalreporter.section("recorded data that was not found")
    for path, variable in sorted(shared.missing.items()):
        terminalreporter.write_line(f"left out: {path} (set {variable})")
