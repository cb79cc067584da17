"""The manifests that a command checks: reads them, builds their requests, writes them back.
Evaluates no policy.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from policyd.errors import ConfigError, PolicySchemaError
from policyd.json_types import JSONObject
from policyd.policy.source.documents import Document
from policyd.policy.source.files import read
from policyd.policy.source.splitting import split
from policyd.policy.source.yaml_output import dump
from policyd.policy.suite.reviews import build_review, in_namespace

_STDIN = "stdin.yaml"
Identity = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Requester:
    """The user and operation of requests built from manifests.

    ``operation`` None: CREATE, or UPDATE if there is an old object. ``user`` None: policyd.
    """

    operation: str | None
    user: str | None
    groups: tuple[str, ...]

    @property
    def user_info(self) -> JSONObject:
        """The ``userInfo`` of the requests."""
        return {"username": self.user or "policyd", "groups": list(self.groups)}

    def review(self, manifest: JSONObject, old: JSONObject | None) -> JSONObject:
        """Build the AdmissionReview that the API server would send for a manifest."""
        overrides = {"userInfo": self.user_info}
        review = build_review(
            manifest, old_object=old, operation=self.operation, overrides=overrides
        )
        return in_namespace(review)


def read_manifests(paths: Iterable[Path]) -> list[Document]:
    """Read every object in the files and directories, including the items of Lists.

    Raises PolicySchemaError with every problem if something cannot be read.
    """
    files, problems = read(paths)
    documents = []
    for file in files:
        found, wrong = split(file.name, file.data)
        documents += found
        problems += wrong
    if problems:
        raise PolicySchemaError(problems)
    return documents


def identity(document: Document) -> Identity:
    """Return group, kind, namespace and name, which identify an object."""
    return (document.group, document.kind, document.namespace, document.name)


class OutputDirectory:
    """The directory for mutated manifests: one file for each file that was read."""

    def __init__(self, folder: Path, paths: Sequence[Path]) -> None:
        self._folder = folder
        self._roots = [path for path in paths if path.is_dir()]
        self._files: dict[str, list[JSONObject]] = {}

    def add(self, document: Document, obj: JSONObject) -> None:
        """Append an object to its file."""
        self._files.setdefault(document.file, []).append(obj)

    def write(self) -> Iterator[Path]:
        """Write all files and yield their paths.

        Raises ConfigError if a file cannot be written or two have the same path.
        """
        written: dict[Path, str] = {}
        for name, objects in self._files.items():
            target = self._folder / self._relative(name)
            if target in written:
                raise ConfigError(f"{written[target]} and {name} would both be written to {target}")
            written[target] = name
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(_written(objects, target.suffix))
            except OSError as error:
                raise ConfigError(f"{error.filename}: {error.strerror}") from None
            yield target

    def _relative(self, name: str) -> Path:
        """The path relative to the input directory; the bare name of a file named directly."""
        if name == "-":
            return Path(_STDIN)
        path = Path(name.removesuffix(".gz"))
        for root in self._roots:
            if path.is_relative_to(root):
                return path.relative_to(root)
        return Path(path.name)


def _written(objects: list[JSONObject], suffix: str) -> bytes:
    if suffix == ".json":
        whole = objects[0] if len(objects) == 1 else _list(objects)
        return orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return "---\n".join(map(dump, objects)).encode("utf-8", "surrogatepass")


def _list(objects: list[JSONObject]) -> JSONObject:
    return {"apiVersion": "v1", "kind": "List", "items": objects}
