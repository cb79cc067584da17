"""JSON Patch as the API server applies it: by evanphx/json-patch v4.13, not by RFC 6902.

    apply([Operation("add", "/data/k", value="v")], document)

The differences from the RFC: ``replace`` adds a missing key, negative indexes count from the end,
``copy`` from a missing key and a missing ``value`` give null, a path without a leading slash loses
its first segment, a failing ``test`` drops the whole patch without an error. The document is never
changed: containers are copied along the paths that are written.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from policyd.errors import MutationError
from policyd.mutation.containers import (
    MISSING,
    KeyProblem,
    delete,
    equal,
    index_of,
    insert,
    member,
    segments,
    size,
    unknown_escape,
)

ABSENT: Any = object()
# What copy operations may duplicate, in values: each can double the document.
COPY_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Operation:
    """``source`` is the patch's ``from``; ``value`` is ABSENT where none was given."""

    op: str
    path: str
    source: str = ""
    value: Any = ABSENT


class PatchError(MutationError):
    """An operation cannot be applied; the text is that of the library, after ``JSON Patch: ``."""

    def __init__(self, message: str) -> None:
        super().__init__(f"JSON Patch: {message}")


class _TestFailed(Exception):
    """A ``test`` operation did not hold."""


def apply(operations: Sequence[Operation], document: Any) -> Any:
    """The patched document, or ``document`` itself if a test failed. Raises PatchError."""
    target = _Target(document)
    try:
        for operation in operations:
            perform = OPERATIONS.get(operation.op)
            if perform is None:
                raise PatchError(f"Unexpected kind: {operation.op}")
            perform(target, operation)
    except _TestFailed:
        return document
    return target.root


class _Target:
    """The document while it is patched: which of its containers are our own copies."""

    def __init__(self, root: Any) -> None:
        self.root: Any = root
        self._own: dict[int, Any] = {}  # by id; the values keep the ids from being used again
        self._copied = 0

    def parent(self, path: str, *, write: bool) -> tuple[Any, str] | None:
        """The container that holds the last segment of the path, and that segment decoded.

        None if there is none. For writing all containers on the way are made our own.
        """
        steps = segments(path)
        if not steps:
            return None
        node = self.root
        if write:
            node = self.root = self._owned(node)
        for step in steps[:-1]:
            try:
                below = member(node, step)
            except KeyProblem:
                return None
            if not isinstance(below, dict | list):
                return None
            if write and id(below) not in self._own:
                below = self._owned(below)
                if isinstance(node, dict):
                    node[step] = below
                else:
                    node[index_of(step, node)] = below
            node = below
        return node, steps[-1]

    def _owned(self, node: Any) -> Any:
        if id(node) in self._own or not isinstance(node, dict | list):
            return node
        copy = node.copy()
        self._own[id(copy)] = copy
        return copy

    def share(self, value: Any) -> None:
        """``value`` now stands in two places: nothing of it may be written in place any more."""
        self._own.clear()
        self._copied += size(value, COPY_LIMIT - self._copied)
        if self._copied >= COPY_LIMIT:
            raise PatchError(f"copy operations duplicate more than {COPY_LIMIT} values")


def add(target: _Target, operation: Operation) -> None:
    path = readable(operation.path, "add operation failed to decode path")
    found = target.parent(path, write=True)
    if found is None:
        raise PatchError(f'add operation does not apply: doc is missing path: "{path}": {MISSING}')
    value = None if operation.value is ABSENT else operation.value
    _within(f"error in add for path: '{path}'", insert, *found, value)


def remove(target: _Target, operation: Operation) -> None:
    path = readable(operation.path, "remove operation failed to decode path")
    found = target.parent(path, write=True)
    if found is None:
        raise PatchError(
            f'remove operation does not apply: doc is missing path: "{path}": {MISSING}'
        )
    _within(f"error in remove for path: '{path}'", delete, *found)


def replace(target: _Target, operation: Operation) -> None:
    path = readable(operation.path, "replace operation failed to decode path", own_words=True)
    if path == "":
        if not isinstance(operation.value, dict | list):
            raise PatchError("replace operation value must be object or array: %!w(<nil>)")
        target.root = operation.value
        return
    found = target.parent(path, write=True)
    if found is None:
        raise PatchError(
            f"replace operation does not apply: doc is missing path: {path}: {MISSING}"
        )
    container, key = found
    try:
        member(container, key)
    except KeyProblem:
        raise PatchError(
            f"replace operation does not apply: doc is missing key: {path}: {MISSING}"
        ) from None
    value = None if operation.value is ABSENT else operation.value
    container[key if isinstance(container, dict) else index_of(key, container)] = value


def move(target: _Target, operation: Operation) -> None:
    source = origin(operation, "move")
    found = target.parent(source, write=True)
    if found is None:
        raise PatchError(
            f"move operation does not apply: doc is missing from path: {source}: {MISSING}"
        )
    value = _within(f"error in move for path: '{found[1]}'", member, *found)
    _within(f"error in move for path: '{found[1]}'", delete, *found)
    path = readable(operation.path, "move operation failed to decode path", own_words=True)
    found = target.parent(path, write=True)
    if found is None:
        raise PatchError(
            f"move operation does not apply: doc is missing destination path: {path}: {MISSING}"
        )
    _within(f"error in move for path: '{path}'", insert, *found, value)


def copy(target: _Target, operation: Operation) -> None:
    source = origin(operation, "copy")
    found = target.parent(source, write=False)
    if found is None:
        raise PatchError(
            f"copy operation does not apply: doc is missing from path: {source}: {MISSING}"
        )
    value = _within(f"error in copy for from: '{source}'", member, *found)
    path = readable(operation.path, "copy operation failed to decode path")
    target.share(value)
    found = target.parent(path, write=True)
    if found is None:
        raise PatchError(
            f"copy operation does not apply: doc is missing destination path: {path}: {MISSING}"
        )
    _within("error while adding value during copy", insert, *found, value)


def test(target: _Target, operation: Operation) -> None:
    path = readable(operation.path, "test operation failed to decode path", own_words=True)
    if path == "":
        value = target.root
    else:
        found = target.parent(path, write=False)
        if found is None:
            raise PatchError(f"test operation does not apply: is missing path: {path}: {MISSING}")
        value = _within(f"error in test for path: '{path}'", member, *found)
    if value is None or operation.value is ABSENT:
        # Null in the document equals only a missing value, not a null one.
        if value is None and operation.value is ABSENT:
            return
        raise _TestFailed
    if not equal(value, operation.value):
        raise _TestFailed


OPERATIONS: dict[str, Callable[[_Target, Operation], None]] = {
    "add": add,
    "remove": remove,
    "replace": replace,
    "move": move,
    "copy": copy,
    "test": test,
}


def readable(path: str, problem: str, *, own_words: bool = False) -> str:
    """The path, if it survives Go's quoting: what JSON has no escape for ends the operation."""
    unknown = unknown_escape(path)
    if unknown:
        reason = f"invalid character '{unknown}' in string escape code"
        raise PatchError(f"{problem}: {reason if own_words else MISSING}")
    return path


def origin(operation: Operation, name: str) -> str:
    if not operation.source:
        raise PatchError(
            f"{name} operation failed to decode from: operation, missing from field: {MISSING}"
        )
    return readable(operation.source, f"{name} operation failed to decode from", own_words=True)


def _within(problem: str, action: Callable[..., Any], *arguments: object) -> Any:
    try:
        return action(*arguments)
    except KeyProblem as error:
        raise PatchError(f"{problem}: {error}") from None
