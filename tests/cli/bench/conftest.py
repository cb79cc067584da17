"""Short rounds: what is tested is not how exact the figures are."""

import pytest


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure milliseconds where users measure seconds."""
    monkeypatch.setattr("policyd.benchmark.rounds._WARM", 0.01)
    monkeypatch.setattr("policyd.benchmark.core._ROUND", 0.003)
