"""Where the keys of the issuer come from, and the source that is a file."""

import asyncio
from pathlib import Path
from typing import Protocol

from policyd.regular_files import read_regular
from policyd.tokens.issuer_keys import MAX_KEYS_BYTES, KeySet, read_keys


class KeySource(Protocol):
    """Reads an issuer and its keys."""

    # Seconds after which it is read again.
    every: float

    async def read(self) -> tuple[str, KeySet]:
        """Return the issuer and its keys as they are now. Raises ValueError."""


class KeyFile(KeySource):
    """The keys of one issuer in a file."""

    every = 5.0

    def __init__(self, file: Path, issuer: str) -> None:
        self._file = file
        self._issuer = issuer

    async def read(self) -> tuple[str, KeySet]:
        """Read the file on another thread: its disk may hang."""
        try:
            data = await asyncio.to_thread(read_regular, self._file, MAX_KEYS_BYTES)
            return self._issuer, read_keys(data)
        except OSError as error:
            raise ValueError(f"{self._file}: {error.strerror or error}") from None
        except ValueError as error:
            raise ValueError(f"{self._file}: {error}") from None
