"""Frames of HTTP/2 are counted however their bytes arrive."""

import pytest

from policyd.server.network.http2_frames import HEAD_BYTES, PREFACE_BYTES, FrameCounter

PING, DATA = 6, 0


def frame(kind: int, size: int) -> bytes:
    return size.to_bytes(3, "big") + bytes((kind, 0, 0, 0, 0, 1)) + b"\xff" * size


@pytest.mark.parametrize("size", [1, 2, 7, HEAD_BYTES, PREFACE_BYTES, 100, 10_000])
def test_frames_without_data_are_counted(size: int) -> None:
    frames = [frame(PING, 8), frame(DATA, 300), frame(PING, 0), frame(DATA, 0), frame(PING, 70_000)]
    sent = b"x" * PREFACE_BYTES + b"".join(frames) + frame(PING, 8)[: HEAD_BYTES - 1]
    counter = FrameCounter()
    pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
    assert sum(map(counter.count, pieces)) == 3
    assert counter.count(frame(PING, 8)[HEAD_BYTES - 1 :]) == 1
