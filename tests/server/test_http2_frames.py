"""The heads of HTTP/2 frames are found however their bytes arrive."""

import pytest

from policyd.server.network.http2_frames import HEAD_BYTES, PREFACE_BYTES, FrameHeads

PING, DATA = 6, 0


def frame(kind: int, size: int) -> bytes:
    return size.to_bytes(3, "big") + bytes((kind, 0, 0, 0, 0, 1)) + b"\xff" * size


@pytest.mark.parametrize("size", [1, 2, 7, HEAD_BYTES, PREFACE_BYTES, 100, 10_000])
def test_heads_are_found_in_any_pieces(size: int) -> None:
    wanted = [(PING, 8), (DATA, 300), (PING, 0), (DATA, 0), (PING, 70_000)]
    whole = b"".join(frame(*each) for each in wanted)
    sent = b"x" * PREFACE_BYTES + whole + frame(PING, 8)[: HEAD_BYTES - 1]
    heads = FrameHeads()
    pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
    assert [head for piece in pieces for head in heads.read(piece)] == wanted
    assert heads.read(frame(PING, 8)[HEAD_BYTES - 1 :]) == [(PING, 8)]
