"""The script ``policyd`` as a person runs it: in a terminal."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("policyd")


def environment(**more: str) -> dict[str, str]:
    """Nothing of the tests' own environment that could change what is written."""
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TERM": "xterm-256color", **more}


def in_terminal(*arguments: str, cwd: Path, columns: int = 0, **more: str) -> str:
    """What a person would see. 0 ``columns``: the terminal does not know its width."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [SCRIPT, *arguments],
        cwd=cwd,
        env=environment(**more),
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    seen = b""
    try:
        while True:
            ready, _, _ = select.select([leader], [], [], 60)
            assert ready, seen
            seen += os.read(leader, 65536)
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(leader)
        process.wait(60)
    return seen.decode()
