"""The source files in a ConfigMap: which keys hold policies, and how they are named. Reads no
cluster.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping

from policyd.errors import Problem
from policyd.json_types import JSONObject, object_in
from policyd.policy.source.background_pace import full_speed
from policyd.policy.source.budget import bytes_text
from policyd.policy.source.files import (
    MAX_BYTES,
    MAX_PACKED_BYTES,
    SUFFIXES,
    Bundle,
    FileTooLarge,
    SourceFile,
    is_packed,
    is_source,
    unpacked,
    unreadable,
)

# Bytes of all ConfigMaps of one server, decompressed.
MAX_SET_BYTES = MAX_BYTES
# Characters of all keys and values of one ConfigMap: values of 1 MiB, in base64.
MAX_STORED_BYTES = 2 * 2**20
MAX_NAME = 253
_GZIP = b"\x1f\x8b"
PREFIX = "configmap/"


class NotRead(Exception):
    """The API server did not return the ConfigMaps; the message says why."""


def name_of(config_map: JSONObject) -> str:
    """Return the name of a ConfigMap in problems, logs and ``/policies``, and of its Bundle."""
    return f"{PREFIX}{object_in(config_map, 'metadata').get('name', '')}"


def labels_of(config_map: JSONObject | None) -> Mapping[str, str]:
    """Return the labels of a ConfigMap; none without one."""
    return object_in(config_map, "metadata", "labels")


def slim(config_map: JSONObject) -> JSONObject:
    """Return the fields of a ConfigMap that policyd reads. An annotation of ``kubectl apply`` is
    another copy of the whole.
    """
    metadata = object_in(config_map, "metadata")
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    kept: JSONObject = {"metadata": {key: metadata.get(key, "") for key in names}}
    for key in ("data", "binaryData"):
        if key in config_map:
            kept[key] = config_map[key]
    return kept


def identity_of(config_map: JSONObject) -> tuple[str, ...]:
    """Return what differs between two states of any ConfigMaps."""
    metadata = object_in(config_map, "metadata")
    names = ("namespace", "name", "uid", "resourceVersion")
    return tuple(str(metadata.get(key, "")) for key in names)


def flat(config_map: JSONObject) -> JSONObject:
    """Return the same fields, without any value that no ConfigMap has: what a client sent need not
    be one.
    """
    metadata = object_in(config_map, "metadata")
    names = ("name", "resourceVersion", "creationTimestamp")
    kept = {key: str(metadata.get(key, ""))[:MAX_NAME] for key in names}
    keys = {field: dict(_strings(config_map, field)) for field in ("data", "binaryData")}
    return {"metadata": kept, **keys}


def oversize(config_map: JSONObject) -> bool:
    """Whether it is larger than what an API server holds."""
    texts = (text for field in ("data", "binaryData") for text in _strings(config_map, field))
    return sum(len(key) + len(text) for key, text in texts) > MAX_STORED_BYTES


def contents(config_map: JSONObject) -> tuple[dict[str, bytes], list[Problem]]:
    """Return the bytes of each key as they are stored, in order, and what cannot be decoded."""
    problems: list[Problem] = []
    found = {
        key: text.encode("utf-8", "surrogatepass") for key, text in _strings(config_map, "data")
    }
    for key, text in _strings(config_map, "binaryData"):
        try:
            found[key] = b64decode(text, validate=True)
        except ValueError as error:
            problems.append(unreadable(f"{name_of(config_map)}/{key}", error))
    return dict(sorted(found.items())), problems


def bundle_of(
    config_map: JSONObject,
    left: int = MAX_SET_BYTES,
    breathe: Callable[[], None] = full_speed,
) -> Bundle:
    """Return the source files of a ConfigMap: the keys that would be read as files of a directory.

    ``left``: bytes that it may have beside the other ConfigMaps of the server, decompressed.
    ``breathe`` is called between small pieces of work.
    """
    name = name_of(config_map)
    stored, problems = contents(config_map)
    files: list[SourceFile] = []
    room = min(left, MAX_PACKED_BYTES)
    for key, data in stored.items():
        if not is_source(key):
            continue
        shown = f"{name}/{key}"
        wrong = _wrong_kind(key, data, config_map)
        if wrong:
            problems.append(unreadable(shown, ValueError(wrong)))
            continue
        try:
            content = unpacked(key, data, room, breathe)
        except FileTooLarge:
            problems.append(unreadable(shown, ValueError(_too_large(left))))
            break  # what comes after it is not decompressed either
        except (OSError, EOFError, zlib.error, ValueError) as error:
            problems.append(unreadable(shown, error))
            continue
        room -= len(content)
        files.append(SourceFile(shown, shown, content, beside=stored))
    if stored and not any(map(is_source, stored)):
        problems.append(_unread(name, next(iter(stored))))
    return Bundle(
        name,
        tuple(files),
        tuple(problems),
        str(object_in(config_map, "metadata").get("resourceVersion", "")),
        frozenset(f"{name}/{key}" for key in stored),
        str(object_in(config_map, "metadata").get("creationTimestamp", "")),
    )


def _wrong_kind(key: str, data: bytes, config_map: JSONObject) -> str:
    """Return which kind of key was found and which one is expected; empty if they are the same."""
    packed, named = data.startswith(_GZIP), is_packed(key)
    if packed == named:
        return ""
    if packed:
        return "expected YAML or JSON, found gzip data; give the key a name that ends in .gz"
    found = "a text in data" if key in (config_map.get("data") or ()) else "other binaryData"
    return f"expected gzip data, because the name of the key ends in .gz; found {found}"


def _unread(name: str, key: str) -> Problem:
    """Return the advice for a ConfigMap without a key that policyd reads."""
    expected = f"{', '.join(SUFFIXES)}, or one of these and .gz"
    return Problem(
        f"found no key that policyd reads, but {key!r}; expected a name that ends in {expected}",
        file=name,
        rule="unreadable",
        severity="advice",
    )


def _too_large(left: int) -> str:
    if left < MAX_PACKED_BYTES:
        return f"the ConfigMaps of policies are larger than {bytes_text(MAX_SET_BYTES)} together"
    return f"the keys of the ConfigMap are larger than {bytes_text(MAX_PACKED_BYTES)} together"


def config_map_of(bundle: Bundle) -> JSONObject:
    """Return a ConfigMap that ``bundle_of`` makes the bundle of; its metadata has no namespace."""
    stored = next((each.beside for each in bundle.files if each.beside is not None), None) or {}
    metadata = {"name": bundle.name.removeprefix(PREFIX), "resourceVersion": bundle.version}
    binary = {key: b64encode(data).decode() for key, data in stored.items()}
    metadata["creationTimestamp"] = bundle.created
    return {"metadata": metadata, "binaryData": binary}


def _strings(config_map: JSONObject, field: str) -> Iterator[tuple[str, str]]:
    values = config_map.get(field)
    for key, text in values.items() if isinstance(values, dict) else ():
        if isinstance(text, str):
            yield key, text
