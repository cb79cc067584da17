"""Looking for garbage seldom, and as usual again in a server."""

import gc
from collections.abc import Iterator

import pytest

from policyd.gc_policy import collect_as_usual, collect_seldom, exempting


@pytest.fixture(autouse=True)
def _same_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_a_server_collects_as_python_does_by_default() -> None:
    collect_as_usual()  # commands that other tests ran in this process collect seldom
    usual = gc.get_threshold()
    collect_seldom()
    assert gc.get_threshold()[0] > 10 * usual[0]
    collect_as_usual()
    assert gc.get_threshold() == usual
    assert gc.get_freeze_count()


def test_what_a_collection_leaves_is_exempt_only_while_policies_are_loaded() -> None:
    def kept_young() -> list[list[int]]:
        made = [[number] for number in range(5)]
        gc.collect(0)
        return made

    with exempting():
        first = kept_young()
        with exempting():  # of an edit that is checked
            second = kept_young()
        third = kept_young()
    last = kept_young()
    tracked = {id(each) for each in gc.get_objects()}
    assert not tracked & {id(each) for made in (first, second, third) for each in made}
    assert tracked >= {id(each) for each in last}
