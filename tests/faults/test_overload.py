"""Four times what one core can do, from several addresses, on connections that are kept."""

from pathlib import Path
from statistics import median

import pytest

from tests.builders.reviews import body
from tests.faults.open_load import OpenLoad
from tests.faults.overload import (
    ADDRESSES,
    CONNECTIONS,
    FACTOR,
    RECOVERED_SECONDS,
    measured,
    overload,
    server_of,
)
from tests.server.announcing import whole
from tests.server.process import PATIENCE, until

TIMEOUT = 5.0
GROWTH = 48 * 2**20


@pytest.mark.parametrize("units", [1, 30])
def test_four_times_what_a_core_can_do(tmp_path: Path, units: int) -> None:
    """In the second row the connections bring more than can be evaluated before the timeout."""
    run = overload(tmp_path, units, 2.0, TIMEOUT)
    answers = run.load.answers
    print(f"{run.ratio:.0%} of the peak of {run.peak.goodput:.0f}/s, {len(answers.shed)} shed")
    # Every request is answered in time, by an evaluation or by a 503 that says when to come again.
    # Some may be late, where other processes take the core: without turns, nearly all would be.
    assert sum(each > TIMEOUT for each in answers.seconds) <= len(answers.seconds) // 4
    assert (answers.broken, answers.unanswered, answers.others) == (0, 0, [])
    assert answers.without_retry == 0
    if units > 1:
        assert median(answers.shed) < TIMEOUT / 2  # at once, not at the deadline
    # What is not evaluated costs little: a ratio of CPU times of one run. 0.9 on a quiet machine.
    assert run.ratio > 0.5
    assert run.recovery < RECOVERED_SECONDS
    assert run.grown < GROWTH


def test_an_address_that_floods_delays_itself(tmp_path: Path) -> None:
    """Another one, that sends little, is answered in a fraction of the time, and never refused."""
    with server_of(tmp_path, 1) as server:
        load = OpenLoad(server.port, TIMEOUT)
        request = whole(f"/validate?timeout={TIMEOUT}s", body())
        quiet = load.client("127.0.0.2", request, 4)
        peak = measured(server, load, 1.0, [quiet])
        greedy = load.client("127.0.0.3", request, ADDRESSES * CONNECTIONS)
        greedy.rate, quiet.rate = FACTOR * peak.in_time / peak.seconds, 5.0
        load.offer(2.0)
        assert server.child.poll() is None
        load.settle(PATIENCE)
        most, other = greedy.answers, quiet.answers
        load.close()
        assert len(other.good) == other.sent > 0 and not other.shed
        assert median(other.good) < median(most.good)
        print(
            f"quiet {median(other.good):.3f} s, greedy {median(most.good):.3f} s,"
            f" {len(most.shed)} shed"
        )
        until(lambda: server.metric("policyd_in_flight_requests") == 0, "the end of the load")
