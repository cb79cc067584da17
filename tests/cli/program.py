"""The program ``policyd`` for scripts: each of its calls is forked (``tests/forking.py``), with the streams, the
directory and the variables of its caller. No tests here.
"""

import atexit
import json
import os
import shutil
import socket
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from threading import Thread

from tests import forking
from tests.cli.terminal import PATIENCE, SCRIPT
from tests.sampling import share

CALL = """\
#!{python} -IS
import json, os, socket, sys
with open("/proc/self/environ", errors="surrogateescape") as file:  # os.environ has what Python adds to it for its locale
    variables = dict(each.split("=", 1) for each in file.read().split("\\0")[:-1])
order = json.dumps([sys.argv[1:], os.getcwd(), variables])
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as caller:
    caller.connect({address!r})
    socket.send_fds(caller, [order.encode()], [0, 1, 2])
    sys.exit(int(caller.recv(16)))
"""


@cache
def program() -> Path:
    """Return a program that does what ``policyd`` does; the installed one where everything is checked."""
    if share() == 1:
        return SCRIPT
    folder = Path(mkdtemp(prefix="policyd-"))
    atexit.register(shutil.rmtree, folder)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(str(folder / "calls"))
    listening.listen()
    Thread(target=_accept, args=[listening], daemon=True).start()
    made = folder / "policyd"
    made.write_text(CALL.format(python=sys.executable, address=str(folder / "calls")))
    made.chmod(0o755)
    return made


def _accept(listening: socket.socket) -> None:
    while True:
        Thread(target=_answer, args=[listening.accept()[0]], daemon=True).start()


def _answer(caller: socket.socket) -> None:
    with caller:
        order, given, _, _ = socket.recv_fds(caller, forking.MOST_BYTES, 3)
        arguments, folder, variables = json.loads(order)
        stdin, stdout, stderr = given
        called = forking.popen(
            ["policyd", *arguments], folder, variables, (stdin, stdout, stderr), forking.COMMANDS
        )
        for each in given:
            os.close(each)
        caller.send(str(called.wait(PATIENCE)).encode())
