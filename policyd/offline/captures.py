"""Read recorded reviews, one on each line. Parses none."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from policyd.errors import file_errors
from policyd.policy.source.files import captures_in, read_bytes


def capture_lines(paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield every line of files and directories of captures with its place, ``FILE:LINE``. - is
    standard input. Raises ConfigError if a file cannot be read.
    """
    for path in paths:
        for file in captures_in(path) if path.is_dir() else [path]:
            with file_errors(file):
                data = read_bytes(file, pipes=file == path)
            for number, line in enumerate(data.splitlines(), 1):
                if line.strip():
                    yield f"{file}:{number}", line
