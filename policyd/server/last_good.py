"""``serve --last-good``: keep the last policies that loaded without an error in a file, and read
them back when the policies are broken at start.

The file has one line of JSON for each object of the sources, without suites. Compiles nothing.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from policyd.cel.syntax.recursion import deep_recursion
from policyd.errors import PolicyError, PolicySchemaError, Problem
from policyd.observability.logs import Log
from policyd.policy.live.store import LoadedPolicySet
from policyd.policy.source.documents import Document
from policyd.regular_files import open_regular, replace_file

_FORM = "last-good policies 1"


class LastGoodFile:
    """The sets of one server in one file. ``image`` returns the content for the set of a
    generation, or nothing; ``restore`` makes a set of it and raises PolicyError.
    """

    def __init__(
        self,
        path: Path,
        image: Callable[[str], bytes],
        restore: Callable[[bytes], LoadedPolicySet],
        log: Log,
    ) -> None:
        self._path = path
        self._image = image
        self._restore = restore
        self._log = log

    def save(self, policies: LoadedPolicySet) -> None:
        """Replace the content of the file by this set; an error is logged."""
        image = self._image(policies.generation)
        if not image:
            return
        try:
            replace_file(self._path, image)
        except OSError as error:
            message = f"--last-good: {self._path} cannot be written: {error.strerror or error}"
            self._log.write("error", "last-good", message)

    def restore(self) -> LoadedPolicySet | None:
        """Return the set in the file; None if there is none, or no policy in it. An error is
        logged.
        """
        try:
            with open_regular(self._path) as file:
                image = file.read()
            policies = self._restore(image)
        except FileNotFoundError:
            return None
        except (OSError, PolicyError) as error:
            message = f"--last-good: {self._path} cannot be used: {error}"
            self._log.write("error", "last-good", message)
            return None
        return policies if policies.policies else None


def image_of(documents: Iterable[Document], breathe: Callable[[], None]) -> bytes:
    """Return the content of the file for these documents; ``breathe`` is called after each.

    Suites are left out: the files that they name are not kept.
    """
    lines = [json.dumps({"form": _FORM})]
    for document in documents:
        if document.kind != "PolicyTest":
            with deep_recursion():  # the encoder counts each level of an object
                lines.append(json.dumps({"file": document.file, "object": document.raw}))
            breathe()
    return "".join(f"{line}\n" for line in lines).encode()


def objects_of(image: bytes) -> dict[str, list[dict[str, Any]]]:
    """Return the objects by source file; raises PolicySchemaError if the content is damaged."""
    files: dict[str, list[dict[str, Any]]] = {}
    try:
        head, *lines = image.decode().splitlines()
        if json.loads(head) != {"form": _FORM}:
            raise ValueError(f"expected the form {_FORM!r}")
        for line in lines:
            with deep_recursion():
                entry = json.loads(line)
            if not isinstance(entry["file"], str):
                raise TypeError("file must be a string")
            files.setdefault(entry["file"], []).append(entry["object"])
    except (ValueError, KeyError, TypeError) as error:
        message = f"its content is damaged: {type(error).__name__}: {error}"
        raise PolicySchemaError([Problem(message)]) from None
    return files
