"""The wall clock jumps: deadlines, timeouts and watches run by a clock that does not."""

import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest

from tests.builders.reviews import body
from tests.faults.asking import ask
from tests.server.announcing import head
from tests.server.process import Process, until
from tests.server.serve import DENY, command, write_policy

# Moves the wall clock of a process by the seconds in a file, and no other clock. libfaketime also
# replaces sleeps and waits, and stops the watch of files by that.
SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long *seconds;

__attribute__((constructor)) static void start(void) {
    int file = open(getenv("CLOCK_OFFSET"), O_RDONLY);
    seconds = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    int result = syscall(SYS_clock_gettime, clock, at);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        at->tv_sec += *seconds;
    return result;
}

int gettimeofday(struct timeval *at, void *zone) {
    int result = syscall(SYS_gettimeofday, at, zone);
    at->tv_sec += *seconds;
    return result;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}
"""
TIMEOUT = 2.0
DAYS = 86_400


class Clock:
    """The wall clock of a process."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        source, library = folder / "clock.c", folder / "clock.so"
        source.write_text(SOURCE)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        self.prefix = ["env", f"LD_PRELOAD={library}", f"CLOCK_OFFSET={self._file}"]
        self._file.write_bytes(struct.pack("l", 0))

    def jump(self, seconds: int) -> None:
        """Move it to so much beside the true time."""
        with self._file.open("r+b") as file:  # the same file: it is mapped
            file.write(struct.pack("l", seconds))


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
@pytest.mark.parametrize("days", [400, -400])
def test_jumps_of_the_clock_change_no_deadline(tmp_path: Path, days: int) -> None:
    """Forward and backward, while requests, a stalled body and the watch of the files run."""
    policies = write_policy(tmp_path / "policies", "p", DENY).parent
    clock = Clock(tmp_path)
    with Process([*clock.prefix, *command(policies)], tmp_path / "server.log") as server:
        connection = server.connect()
        connection.request("POST", "/validate", body())
        assert connection.getresponse().read()
        with server.secure_socket() as stalled:
            started = time.monotonic()
            stalled.sendall(head(f"/validate?timeout={TIMEOUT}s", 100) + b"{")
            until(lambda: server.metric("policyd_in_flight_requests") == 1, "the request")
            clock.jump(days * DAYS)
            denied = ask(server, f"/validate?timeout={TIMEOUT}s", forbidden())
            assert denied.message.endswith("no TEXT")
            assert stalled.recv(65536).startswith(b"HTTP/1.1 408")
            assert time.monotonic() - started > 0.5 * TIMEOUT
        # The connection was neither idle for 400 days nor is it for ever.
        connection.request("POST", "/validate", body())
        assert connection.getresponse().status == 200
        connection.close()
        write_policy(policies, "p", DENY.replace("TEXT", "more"))
        until(lambda: "no more" in ask(server, "/validate", forbidden()).message, "the change")
        years = {each["time"][:4] for each in server.lines()}
        assert len(years) > 1  # the log follows the clock: it did jump
        assert server.get("/readyz") == (200, "ok")
        if days > 0:
            said = until(lambda: server.lines("certificate"), "what the log says")
            assert "expired" in said[0]["message"]


def forbidden() -> bytes:
    return body(object={"apiVersion": "v1", "kind": "ConfigMap", "data": {"forbidden": "x"}})
