"""Read recorded reviews, one on each line. Parses none."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from policyd.errors import ConfigError
from policyd.policy.source.files import captures_in, read_bytes


def capture_lines(paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield every line of files and directories of captures with its place, ``FILE:LINE``. - is
    standard input. Raises ConfigError if a file cannot be read.
    """
    for path in paths:
        for file in captures_in(path) if path.is_dir() else [path]:
            try:
                data = read_bytes(file, pipes=file == path)
            except (OSError, EOFError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) else str(error)
                raise ConfigError(f"{file}: {reason}") from None
            for number, line in enumerate(data.splitlines(), 1):
                if line.strip():
                    yield f"{file}:{number}", line
