"""Write imported policies to a folder: a file for each source policy, and its suite beside it.
Never overwrites what is there: an imported policy belongs to those who maintain it from then on.
"""

import os
import string
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path, PurePath

from policyd.cli.importing.report import ReportedImport
from policyd.errors import ConfigError
from policyd.policy.source.documents import Document
from policyd.regular_files import replace_file

_MODE = 0o644
_SAFE = frozenset(string.ascii_letters + string.digits + "-_.")
_SUFFIX, _SUITE = ".yaml", "-suite.yaml"


def paths_of(imports: Sequence[ReportedImport]) -> dict[Path, ReportedImport]:
    """Return a path in the folder for each imported policy: below the folder of its source, with
    the name of the policy, and where two have one name in one folder, with that of its file, too.
    """
    found: dict[Path, ReportedImport] = {}
    for each in imports:
        if not each.imported.documents:
            continue
        source = each.imported.source
        folder = _folder(each)
        stem = _safe(source.name)
        names = (f"{stem}-{each}" if each else stem for each in _endings(source))
        path = next(path for name in names if (path := folder / f"{name}{_SUFFIX}") not in found)
        found[path] = each
    return found


def suite_path(policy: Path) -> Path:
    """Return the path of the suite beside a policy's file."""
    return policy.with_name(f"{policy.name.removesuffix(_SUFFIX)}{_SUITE}")


def write(folder: Path, texts: Mapping[Path, str]) -> list[Path]:
    """Write files, by their paths in the folder; return those that are new. Raises ConfigError if
    another file is in the way; then nothing has changed.
    """
    try:
        missing = {path: text for path, text in texts.items() if not (folder / path).exists()}
        other = [path for path in texts if path not in missing]
        changed = [path for path in other if (folder / path).read_bytes() != texts[path].encode()]
        if changed:
            listed = "\n".join(f"{folder / path} exists, with other content" for path in changed)
            raise ConfigError(f"{listed}\n  hint: choose an empty directory, and compare the files")
        for path, text in missing.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            replace_file(folder / path, text.encode(), mode=_MODE)
    except OSError as error:
        raise ConfigError(f"{error.filename or folder}: {error.strerror}") from None
    return [folder / path for path in missing]


def _folder(one: ReportedImport) -> Path:
    source = one.imported.source
    if source.file == "-" or not source.root:
        return Path()
    inner = os.path.relpath(Path(os.path.realpath(source.file)).parent, source.root)
    return Path() if inner.startswith("..") else Path(inner)


def _endings(source: Document) -> Iterator[str]:
    """Yield what tells the files of policies with one name apart."""
    yield ""
    yield _safe(PurePath(source.file).stem)
    yield _safe(source.kind.lower())
    yield from map(str, count(2))


def _safe(name: str) -> str:
    """Return a name that is one of a visible file."""
    return "".join(each if each in _SAFE else "-" for each in name).lstrip(".") or "policy"
