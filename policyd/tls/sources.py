"""Where a server's certificate comes from: files, itself, or memory that a controller fills."""

from pathlib import Path
from typing import Protocol

from policyd.errors import ConfigError
from policyd.regular_files import read_regular
from policyd.tls.pem import KeyPair

# Bytes of one file. All public authorities of a browser take a quarter of this.
MAX_BYTES = 1 << 20


class PairSource(Protocol):
    """Gives the serving certificate and its key."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are watched for changes."""

    def read(self) -> KeyPair | None:
        """The pair; None while there is none yet. Raises ConfigError."""


class PairFiles:
    """A pair in two files, such as those of a mounted Secret."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self.files = certificate, key
        self.name = f"{certificate} and {key}"

    def read(self) -> KeyPair:
        """Read both files."""
        return KeyPair(
            read_file(self.files[0], "certificate"),
            read_file(self.files[1], "key"),
        )


class HeldPair:
    """A pair in memory; ``pair`` may be replaced."""

    files: tuple[Path, ...] = ()

    def __init__(self, name: str, pair: KeyPair | None = None) -> None:
        self.name = name
        self.pair = pair

    def read(self) -> KeyPair | None:
        """The pair that is held now."""
        return self.pair


def read_file(file: Path, what: str) -> bytes:
    """The content of a file; ``what`` it is, for messages. Raises ConfigError."""
    try:
        return read_regular(file, MAX_BYTES)
    except OSError as error:
        raise ConfigError(f"{what} {file}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{what} {file}: {error}") from None
