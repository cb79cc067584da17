"""Write imported policies to a directory: a file for each source policy, and its suite beside it.
Never overwrites what is there: an imported policy belongs to those who maintain it from then on.
"""

import os
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from policyd.cli.importing.report import ReportedImport
from policyd.errors import ConfigError, file_errors
from policyd.importers.naming import relative_file
from policyd.policy.source.files import read
from policyd.policy.source.splitting import split
from policyd.regular_files import replace_file

_MODE = 0o644
_POLICY = ("policyd.dev", "Policy")
_SUFFIX, _SUITE = ".yaml", "-suite.yaml"


def paths_of(imports: Sequence[ReportedImport]) -> dict[Path, ReportedImport]:
    """Return a path in the directory for each imported policy: below the directory of its source,
    with the name of the policy. No two differ in case only, and none is the path of another
    policy's suite.
    """
    found: dict[Path, ReportedImport] = {}
    taken: set[str] = set()
    for each in imports:
        if each.imported.documents:
            ways = (f"{each.imported.base}{f'-{n}' if n > 1 else ''}" for n in count(1))
            inner = Path(relative_file(each.imported.source)).parent
            directory = Path() if ".." in inner.parts else inner
            paths = (directory / f"{name}{_SUFFIX}" for name in ways)
            path = next(path for path in paths if taken.isdisjoint(_claimed(path)))
            taken.update(_claimed(path))
            found[path] = each
    return found


def _claimed(path: Path) -> set[str]:
    return {str(path).lower(), str(suite_path(path)).lower()}


def suite_path(policy: Path) -> Path:
    """Return the path of the suite beside a policy's file."""
    return policy.with_name(f"{policy.name.removesuffix(_SUFFIX)}{_SUITE}")


def require_new_names(directory: Path, paths: Mapping[Path, ReportedImport]) -> None:
    """Raise ConfigError if another file of the directory has a Policy of a name that will be
    written: policyd loads neither of two policies with one name.
    """
    if not directory.is_dir():
        return
    names = {
        document.name: path for path, each in paths.items() for document in each.imported.documents
    }
    ours = {os.path.realpath(directory / path) for path in paths}
    taken = []
    files, _ = read([directory])
    for file in files:
        documents = split(file.name, file.data, file.root)[0] if file.real not in ours else ()
        for each in documents:
            if (each.group, each.kind) == _POLICY and each.name in names:
                taken.append(f"{file.name} has the Policy {each.name}, as {names[each.name]} would")
    if taken:
        listed = "\n".join(taken)
        raise ConfigError(f"{listed}\n  hint: choose an empty directory, and compare the policies")


def write(directory: Path, texts: Mapping[Path, str]) -> list[Path]:
    """Write files, by their paths in the directory; return those that are new. Raises ConfigError
    if another file is in the way; then nothing has changed.
    """
    with file_errors(directory):
        missing = {path: text for path, text in texts.items() if not (directory / path).exists()}
        other = {directory / path: text for path, text in texts.items() if path not in missing}
        changed = [path for path, text in other.items() if path.read_bytes() != text.encode()]
        if changed:
            listed = "\n".join(f"{path} exists, with other content" for path in changed)
            raise ConfigError(f"{listed}\n  hint: choose an empty directory, and compare the files")
        for path, text in missing.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            replace_file(directory / path, text.encode(), mode=_MODE)
    return [directory / path for path in missing]
