"""A log that nobody waits for, whatever becomes of its lines."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import orjson
import pytest

from policyd.observability import log_writer
from policyd.observability.log_writer import LogWriter, standard_error
from policyd.observability.logs import Log
from policyd.observability.throttle import Throttle
from tests.disks import Disk
from tests.server.process import until


class Pipe:
    """A pipe and what was read from it."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()

    def rows(self, writer: LogWriter) -> list[str]:
        """All lines once everything is written."""
        data = b""
        os.set_blocking(self.reading, False)
        while True:
            done = writer.settle(0.05)
            try:
                data += os.read(self.reading, 1 << 20)
            except BlockingIOError:
                if done:
                    return data.decode().splitlines()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    for fd in (made.reading, made.writing):
        try:
            os.close(fd)
        except OSError as error:
            assert error.errno == errno.EBADF


def reporting(fd: int, max_waiting: int = log_writer.MAX_WAITING) -> LogWriter:
    writer = LogWriter(fd, max_waiting)
    writer.report_losses(lambda count, why: f"{count} missing: {why}\n".encode())
    return writer


def test_lines_are_written_in_order(pipe: Pipe) -> None:
    writer = reporting(pipe.writing)
    for number in range(5000):
        writer.write(b"%d\n" % number)
        if number % 7 == 0:
            writer.flush()
    assert pipe.rows(writer) == [str(number) for number in range(5000)]
    assert writer.lost == 0


def test_a_reader_that_stalls_delays_nobody_and_lines_beyond_the_bound_are_counted(
    pipe: Pipe,
) -> None:
    writer = reporting(pipe.writing, max_waiting=1 << 20)
    line = b"x" * 999 + b"\n"
    for _ in range(3000):  # 3 MB; the pipe takes 64 KiB
        writer.write(line)
        writer.flush()
    lost = writer.lost
    # What waits is 1 MiB, and what the pipe took meanwhile: none of that before the thread runs.
    assert 3000 - (1 << 20) // 1000 - 66 <= lost <= 3000 - (1 << 20) // 1000
    assert not writer.settle(0.01)
    rows = pipe.rows(writer)
    assert rows.count("x" * 999) == 3000 - lost
    writer.write(b"again\n")
    rows += pipe.rows(writer)
    # Lines may have been lost before the first write and after it: each place has a line.
    reported = [row for row in rows if "missing" in row]
    assert 1 <= len(reported) <= 2
    assert {row.partition(" ")[2] for row in reported} == {f"missing: {log_writer.TOO_FAST}"}
    assert sum(int(row.partition(" ")[0]) for row in reported) == lost
    assert rows[-1] == "again"
    assert writer.lost == lost


def test_a_reader_that_went_away_costs_lines(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "AGAIN_SECONDS", 0.01)
    os.close(pipe.reading)
    writer = reporting(pipe.writing)
    for number in range(3):
        writer.write(b"line\n")
        writer.flush()
        assert writer.settle(20)
        assert writer.lost == number + 1


def test_a_full_disk_costs_lines_and_what_follows_begins_a_new_one(
    monkeypatch: pytest.MonkeyPatch, pipe: Pipe
) -> None:
    disk = Disk(monkeypatch, log_writer, room=7)
    monkeypatch.setattr(log_writer, "AGAIN_SECONDS", 0.01)
    writer = reporting(pipe.writing)
    for line in (b"one\n", b"two\n", b"three\n"):
        writer.write(line)
    assert writer.settle(20)
    assert writer.lost == 2
    disk.room = 1000
    writer.write(b"four\n")
    rows = pipe.rows(writer)
    assert rows == ["one", "two", "2 missing: No space left on device", "four"]


def test_a_pipe_that_somebody_made_non_blocking_loses_nothing(pipe: Pipe) -> None:
    os.set_blocking(pipe.writing, False)
    writer = reporting(pipe.writing)
    for number in range(30_000):
        writer.write(b"%d\n" % number)
    writer.flush()
    assert pipe.rows(writer) == [str(number) for number in range(30_000)]


def test_many_threads_lose_nothing(pipe: Pipe) -> None:
    writer = reporting(pipe.writing)

    def some(letter: str) -> None:
        for number in range(2000):
            writer.write(f"{letter}{number}\n".encode())
            writer.flush()

    threads = [threading.Thread(target=some, args=(letter,)) for letter in "abc"]
    for thread in threads:
        thread.start()
    rows = pipe.rows(writer)
    for thread in threads:
        thread.join()
    rows += pipe.rows(writer)
    for letter in "abc":
        own = [row for row in rows if row.startswith(letter)]
        assert own == [f"{letter}{number}" for number in range(2000)]


def test_without_standard_error_lines_are_lost_and_its_number_is_nobodys() -> None:
    code = (
        "import os; from policyd.observability.log_writer import *;"
        "fd = standard_error(); writer = LogWriter(fd); writer.write(b'x'); writer.flush();"
        "print(fd, writer.lost, os.open('/dev/null', os.O_RDONLY) > 2)"
    )
    command = f'exec "{sys.executable}" -c "{code}" 2>&-'
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert ran.stdout == "None 1 True\n"
    assert standard_error() == 2


class Lines(list[bytes]):
    def write(self, line: bytes) -> None:
        self.append(line)

    def flush(self) -> None:
        """Nothing is kept back."""


@pytest.mark.parametrize("form", ["json", "text"])
def test_whatever_is_in_a_line_it_is_written(form: str) -> None:
    lines = Lines()
    log = Log(lines, form)
    log.write("error", "x", "half \ud83d", name="\udcff", number=2**70, names=["\ud800", "a"])
    (line,) = lines
    text = line.decode()
    assert "half \N{REPLACEMENT CHARACTER}" in text or "half \\ufffd" in text
    assert str(2**70) in text
    if form == "json":
        assert orjson.loads(line)["names"] == ["\N{REPLACEMENT CHARACTER}", "a"]


def test_a_flood_of_one_kind_is_one_line_a_period() -> None:
    now = [0.0]
    throttle = Throttle(60, lambda: now[0])
    assert [throttle.count("a") for _ in range(3)] == [1, 0, 0]
    assert throttle.count("b") == 1
    now[0] = 60.0
    assert throttle.count("a") == 3


def test_settling_waits_for_what_is_being_written(pipe: Pipe) -> None:
    writer = reporting(pipe.writing)
    writer.write(b"x" * 200_000)
    writer.flush()
    assert not writer.settle(0.01)
    reader = threading.Thread(target=lambda: os.read(pipe.reading, 200_000))
    reader.start()
    until(lambda: len(pipe.rows(writer)) or writer.settle(0.1), "the rest")
    reader.join()
