"""What a policy read of other objects, as lines and as JSON. Evaluates nothing."""

from collections.abc import Iterator, Mapping, Sequence

from policyd._core.values.errors import CelError
from policyd.admission.lookups.recorded_reads import SeenRead
from policyd.bounded_text import few
from policyd.cli.shared.output import counted, fields_json, styled
from policyd.cli.shared.values import cut
from policyd.json_types import JSONObject, object_in
from policyd.policy.compile.reads.compiled_reads import CompiledRead

_SHOWN = 10  # names in a line; the others are counted
_Seen = Mapping[CompiledRead, SeenRead]


def read_lines(reads: _Seen, width: int) -> Iterator[str]:
    """Yield each read with its objects: all of it, or those under the keys that were looked up."""
    for read, seen in reads.items():
        whole, keys = seen.whole, {}
        index = f", by key {read.key_text}" if read.key_text else ""
        if isinstance(whole, CelError):
            text = f"error: {whole.message}"
        elif isinstance(whole, list):
            text = _text(read, whole)
        elif whole is None:
            keys = seen.keys
            text = f"{counted(len(keys), 'lookup')}{index}"
        else:
            text = f"{counted(len(whole), 'key')} of {read.kind} objects{index}"
        yield f"    read {styled(read.name, bold=True)}: {cut(text, width - len(read.name) - 11)}"
        for key, found in keys.items():
            yield f"      {cut(f'[{key!r}]: {_text(read, found or ())}', width - 6)}"


def reads_json(reads: _Seen) -> list[JSONObject]:
    """Return ``{name, apiVersion, kind, namespace, key}`` of each read, and its objects."""
    return [
        {
            **fields_json(read, "name", "api_version", "kind", "namespace"),
            "key": read.key_text,
            **_found(seen),
        }
        for read, seen in reads.items()
    ]


def _found(seen: SeenRead) -> JSONObject:
    whole = seen.keys if seen.whole is None else seen.whole
    if isinstance(whole, CelError):
        return {"error": whole.message}
    if isinstance(whole, list):
        return {"objects": _names(whole)}
    return {"keys": {key: _names(found or ()) for key, found in whole.items()}}


def _text(read: CompiledRead, found: Sequence[JSONObject]) -> str:
    names = f": {few(_names(found), _SHOWN)}" if found else ""
    return f"{counted(len(found), f'{read.kind} object')}{names}"


def _names(found: Sequence[JSONObject]) -> list[str]:
    metadata = [object_in(each, "metadata") for each in found]
    return ["/".join(filter(None, (m.get("namespace"), m.get("name")))) for m in metadata]
