"""What a process that checks an edit might do instead: ``python -m tests.server.edits.hostile``. The
edit names it, and the limits are those of the real one. No tests here.
"""

import os
import signal
import sys
import time

from policyd.server.edits.child import confine
from policyd.server.edits.model import read


def main() -> None:
    """Do what the name of the edit says."""
    memory, seconds = int(sys.argv[1]), float(sys.argv[2])
    confine(memory, seconds)
    what = read(sys.stdin.buffer).name.rpartition("/")[2]
    out = sys.stdout.buffer
    if what == "killed":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif what == "ended":
        sys.exit(3)
    elif what == "hanging":
        time.sleep(3600)
    elif what == "flooding":
        while True:
            out.write(b"x" * 2**16)
    elif what == "greedy":
        bytes(memory)
    else:
        out.write({"garbage": b"{]\n", "strange": b'{"found": {"errors": [{}]}}\n'}[what])


if __name__ == "__main__":
    main()
