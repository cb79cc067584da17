"""A disk that is full after N bytes, for one module that uses ``os.write``. No tests here."""

import errno
import os
from types import ModuleType, SimpleNamespace

import pytest


class Disk:
    """``room`` is the number of free bytes; a test may increase it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: ModuleType, room: int) -> None:
        self.room = room
        self._write = os.write
        monkeypatch.setattr(module, "os", SimpleNamespace(**{**vars(os), "write": self.write}))

    def write(self, fd: int, data: bytes) -> int:
        """Write as much as fits, as ``os.write`` does."""
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self._write(fd, data[: self.room])
        self.room -= written
        return written
