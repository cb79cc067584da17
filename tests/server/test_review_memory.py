"""What one hostile review may take of a real server's memory, and that it is logged and counted."""

import json
import sys
from pathlib import Path

import pytest

from tests.admission.samples import about_everything
from tests.builders.reviews import review
from tests.server.process import Process, until

MEBIBYTE = 2**20
BODY_BYTES = 16 * MEBIBYTE  # the default of --max-body-bytes
# Beside the process at rest: the body as it came and as a whole, and what may be decoded of it.
ALLOWED = 224 * MEBIBYTE


def filled(item: bytes) -> bytes:
    """A review as large as may be, most of it a list of one item."""
    head, tail = json.dumps(review(object={"x": ["HERE"]})).encode().split(b'"HERE"')
    items = item * ((BODY_BYTES - len(head) - len(tail) - 1) // len(item))
    return head + items + b"1" + tail


def peak(process: Process) -> int:
    status = Path(f"/proc/{process.child.pid}/status").read_text()
    return next(
        int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")
    )


@pytest.mark.parametrize("item", [b"[],", b'{"a":1},', b'"ab",'])
def test_one_review_takes_a_bounded_share(tmp_path: Path, item: bytes) -> None:
    (tmp_path / "policy.json").write_text(json.dumps(about_everything()))
    flags = ["--self-signed", "--bind=127.0.0.1:0", "--admin-bind=127.0.0.1:0"]
    command = [sys.executable, "-m", "policyd", "serve", f"--policies={tmp_path / 'policy.json'}"]
    with Process([*command, *flags], tmp_path / "log") as process:
        process.post("/validate?timeout=30s", json.dumps(review()).encode())
        before = peak(process)
        sent = filled(item)
        for _ in range(2):
            status, answer = process.post("/validate?timeout=30s", sent)
            assert status == 200
        assert peak(process) - before < ALLOWED
        assert not answer["response"]["allowed"]
        until(lambda: len(process.lines("error")) == 2, "two lines of errors")
        errors = process.lines("error")
        assert "128 MiB of memory" in errors[-1]["message"]
        decisions = 'policyd_policy_decisions_total{decision="error",policy="p"}'
        assert process.metric(decisions) == 2
