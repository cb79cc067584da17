"""A disk that is full after so many bytes, for one module that writes with ``os.write``. No tests here."""

import errno
import os
from types import ModuleType, SimpleNamespace

import pytest


class Disk:
    """``room`` is how many bytes are free; a test may make more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: ModuleType, room: int) -> None:
        self.room = room
        self._write = os.write
        monkeypatch.setattr(module, "os", SimpleNamespace(**{**vars(os), "write": self.write}))

    def write(self, fd: int, data: bytes) -> int:
        """Write what there is room for, as ``os.write`` does."""
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self._write(fd, data[: self.room])
        self.room -= written
        return written
