"""Progress bars: shown to people, never to programs."""

import io

import pytest

from policyd.cli.shared.terminal.progress import counting


class Screen(io.StringIO):
    """A terminal that remembers everything."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stderr", screen)
    with counting() as advance:
        advance("judging pods", 5, 10)
    assert "judging pods" in screen.getvalue()
    assert "5/10" in screen.getvalue()


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with counting() as advance:
        advance("judging pods", 5, 10)
    assert capsys.readouterr().err == ""
