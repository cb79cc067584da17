"""The command line in the process of the test, for what does not depend on the interpreter's start. A
process of its own takes half a second of CPU. No tests here.
"""

import gc
from typing import NamedTuple

from click.testing import CliRunner

from policyd.cli import main


class Done(NamedTuple):
    """What a command did; ``returncode`` as of ``subprocess``."""

    returncode: int
    stdout: str
    stderr: str


def within(*arguments: str, text: str = "", charset: str = "utf-8") -> Done:
    """Run ``policyd`` with pipes that have this encoding."""
    threshold = gc.get_threshold()
    status: object = 0
    with CliRunner(charset=charset).isolation(text) as (output, errors, _):
        try:
            main(arguments)
        except SystemExit as ended:
            status = ended.code or 0
        finally:
            gc.set_threshold(*threshold)
        assert isinstance(status, int)
        return Done(status, output.getvalue().decode(charset), errors.getvalue().decode(charset))


def answered(*arguments: str) -> tuple[int, str]:
    """Run ``policyd``; return its status and all that it writes."""
    done = within(*arguments)
    return done.returncode, done.stdout + done.stderr
