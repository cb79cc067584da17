"""How a reload rests while requests are answered."""

import json
from pathlib import Path
from typing import ClassVar

import pytest

from policyd.policy.source.background_pace import PIECE, REST, Pace
from policyd.server.policies import policy_loader
from tests.builders import policies as builders


class Clock:
    def __init__(self) -> None:
        self.worked = 0.0
        self.rests: list[float] = []


def test_rests_in_proportion_to_the_work() -> None:
    clock = Clock()
    pace = Pace(lambda: clock.worked, clock.rests.append)
    for seconds in (0.0, PIECE / 2, PIECE, 0.5, 0.0):
        clock.worked += seconds
        pace()
    assert clock.rests == pytest.approx([1.5 * PIECE * REST, 0.5 * REST])


class Counted(Pace):
    """Every one that was made, with its calls; never rests."""

    made: ClassVar[list["Counted"]] = []

    def __init__(self) -> None:
        super().__init__(lambda: 0.0, lambda _: None)
        self.calls = 0
        self.made.append(self)

    def __call__(self) -> None:
        self.calls += 1


def test_only_a_reload_is_paced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_loader, "Pace", Counted)
    monkeypatch.setattr(Counted, "made", [])
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(json.dumps(builders.policy(name)))
    maker = policy_loader.PolicyLoader()
    maker.load([tmp_path])
    assert Counted.made == []
    maker.load([tmp_path])
    (pace,) = Counted.made
    assert pace.calls >= 4  # for each file and document, and after each policy
