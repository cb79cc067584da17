"""The source files in a ConfigMap: which keys hold policies, and how they are named. Reads no
cluster.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping

from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.policy.source.files import Bundle, SourceFile, is_source, unpacked, unreadable

# Bytes of one key, decompressed: a ConfigMap has at most 1 MiB, and policies shrink to a tenth.
MAX_BYTES = 16 * 2**20
PREFIX = "configmap/"


def name_of(config_map: JSONObject) -> str:
    """Return the name of a ConfigMap in problems, logs and ``/policies``, and of its Bundle."""
    return f"{PREFIX}{_metadata(config_map).get('name', '')}"


def labels_of(config_map: JSONObject | None) -> Mapping[str, str]:
    """Return the labels of a ConfigMap; none without one."""
    labels = _metadata(config_map or {}).get("labels")
    return labels if isinstance(labels, dict) else {}


def slim(config_map: JSONObject) -> JSONObject:
    """Return the fields of a ConfigMap that policyd reads. An annotation of ``kubectl apply`` is
    another copy of the whole.
    """
    metadata = _metadata(config_map)
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    kept: JSONObject = {"metadata": {key: metadata.get(key, "") for key in names}}
    for key in ("data", "binaryData"):
        if key in config_map:
            kept[key] = config_map[key]
    return kept


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


def bundle_of(config_map: JSONObject) -> Bundle:
    """Return the source files of a ConfigMap: the keys that would be read as files of a folder."""
    name = name_of(config_map)
    stored, problems = contents(config_map)
    files: list[SourceFile] = []
    for key, data in stored.items():
        if not is_source(key):
            continue
        shown = f"{name}/{key}"
        try:
            content = unpacked(key, data, MAX_BYTES)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            problems.append(unreadable(shown, error))
            continue
        files.append(SourceFile(shown, shown, content, beside=stored))
    return Bundle(
        name,
        tuple(files),
        tuple(problems),
        str(_metadata(config_map).get("resourceVersion", "")),
        frozenset(f"{name}/{key}" for key in stored),
        str(_metadata(config_map).get("creationTimestamp", "")),
    )


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


def _metadata(config_map: JSONObject) -> JSONObject:
    metadata = config_map.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
