"""Read recorded reviews, one per line. Parses nothing."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from policyd.errors import ReviewError, file_errors
from policyd.policy.source.files import captures_in, read_bytes

_CAPTURES = "give files of policyd serve --capture, with one AdmissionReview in each line"


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


@contextmanager
def review_errors(place: str) -> Iterator[None]:
    """Add the place to the ReviewError of a line."""
    try:
        yield
    except ReviewError as error:
        raise ReviewError(f"{place}: {error}\n  hint: {_CAPTURES}") from None
