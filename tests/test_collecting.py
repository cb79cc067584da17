"""Looking for garbage seldom, and as usual again in a server."""

import gc
from collections.abc import Iterator

import pytest

from policyd.collecting import collect_as_usual, collect_seldom


@pytest.fixture(autouse=True)
def _same_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def test_a_server_collects_as_python_does_by_default() -> None:
    collect_as_usual()  # commands that other tests ran in this process collect seldom
    usual = gc.get_threshold()
    collect_seldom()
    assert gc.get_threshold()[0] > 10 * usual[0]
    collect_as_usual()
    assert gc.get_threshold() == usual
    assert gc.get_freeze_count()
