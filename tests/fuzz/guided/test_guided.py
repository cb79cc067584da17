"""What guided fuzzing found stays mended, and a short run without guidance finds nothing."""

import pytest

from tests.fuzz.guided import corpus, running, table
from tests.fuzz.guided.target import FuzzTarget
from tests.sampling import portion, sampled

ROWS = {row.name: row for row in table.TARGETS}


@pytest.fixture(scope="module", params=ROWS)
def row(request: pytest.FixtureRequest) -> table.Row:
    return ROWS[request.param]


@pytest.fixture(scope="module")
def target(row: table.Row) -> FuzzTarget:
    return table.load(row.name)


def test_the_corpus_is_answered(row: table.Row, target: FuzzTarget) -> None:
    for data in (*target.seeds(), *sampled(corpus.kept(row.name))):
        running.bounded(target.check, data)


def test_random_inputs_are_answered(row: table.Row, target: FuzzTarget) -> None:
    for data in running.inputs(target, portion(row.inputs), row.longest, corpus.kept(row.name)):
        running.bounded(target.check, data)


@pytest.mark.parametrize("found", corpus.findings(), ids=lambda each: each.about)
def test_findings_stay_mended(found: corpus.Found) -> None:
    running.bounded(table.load(found.target).check, found.data)


def test_random_inputs_are_the_same_ones_each_time(target: FuzzTarget) -> None:
    first, again = (list(running.inputs(target, 20, 5_000, [])) for _ in range(2))
    assert first == again
    assert len(set(first)) > 10


def test_an_input_that_takes_too_long_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "PATIENCE", 0.0)
    with pytest.raises(running.TooSlow):
        running.bounded(lambda data: None, b"")


def test_every_kept_input_is_read_as_it_was_written() -> None:
    rows = [corpus._row(data) for data in (b"a\n", b"\xff\x00", "é\u2028".encode())]
    assert [corpus._data(row) for row in rows] == [b"a\n", b"\xff\x00", "é\u2028".encode()]
