"""Generate the table of enumerations, policyd/policy/kinds/enums.json, from the releases in
``tools/kubernetes/modules.py``.

python -m tools.make_enums

The OpenAPI documents that a release publishes have no enumerations; the Go source from which API
servers make theirs has them. The file has one line for each served definition with an enumeration:
``{field: values}``, the values of all versions. The name of a field ends with ``[]`` where its
items are meant, and with ``{}`` for the values of a map.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.kubernetes import modules

TARGET = Path(__file__).resolve().parent.parent / "policyd" / "policy" / "kinds" / "enums.json"
SOURCE = "pkg/generated/openapi/"
# What the names of definitions begin with, by the names of the functions that make them.
HOMES = {"k8sio": "io.k8s", "pkg": "io.k8s.apiextensions-apiserver.pkg"}
_FIELD = re.compile(r'\t{5}"(.*)": \{$')
_PART = re.compile(r"\t+(Items|AdditionalProperties): ")
_ENUM = re.compile(r"\t+Enum: +\[\]interface\{\}\{(.*)\},$")
_MARKS = {"Items": "[]", "AdditionalProperties": "{}"}

Enumerations = Mapping[str, Mapping[str, list[str]]]


def main() -> None:
    TARGET.write_text(text(merged(map(enumerations, modules.RELEASES))))


def merged(versions: Iterable[Enumerations]) -> Enumerations:
    """Return the values of all versions."""
    found: dict[str, dict[str, list[str]]] = {}
    for version in versions:
        for name, fields in version.items():
            known = found.setdefault(name, {})
            for field, values in fields.items():
                known[field] = sorted({*known.get(field, ()), *values})
    return found


def enumerations(version: str) -> Enumerations:
    """Return the values of each enumeration of a Kubernetes version, by definition and field."""
    served = {
        name
        for _, document in modules.openapi(version)
        for name in document.get("components", {}).get("schemas", {})
    }
    source = dict(modules.published(version, SOURCE))["zz_generated.openapi.go"].decode()
    functions = source.split("\nfunc schema_")[1:]
    found = {definition_of(each): dict(_of_fields(each)) for each in functions}
    return {name: fields for name, fields in found.items() if fields and name in served}


def definition_of(function: str) -> str:
    """``k8sio_api_core_v1_Pod(ref …`` -> ``io.k8s.api.core.v1.Pod``."""
    home, _, rest = function.partition("(")[0].partition("_")
    return f"{HOMES.get(home, home)}.{rest.replace('_', '.')}"


def _of_fields(function: str) -> Iterator[tuple[str, list[str]]]:
    field = mark = ""
    for line in function.splitlines():
        if named := _FIELD.match(line):
            field, mark = named[1], ""
        elif part := _PART.match(line):
            mark = _MARKS[part[1]]
        elif enum := _ENUM.match(line):
            yield field + mark, sorted(json.loads(f"[{enum[1]}]"))


def text(found: Enumerations) -> str:
    """Return the content of the file."""
    lines = [
        f" {json.dumps(name)}: {json.dumps(found[name], sort_keys=True)}" for name in sorted(found)
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()
