"""The software bill of materials as CycloneDX: Debian packages, Python distributions, their parts.

Rust crates and C libraries inside of wheels come from the documents that wheels carry (PEP 770),
and from the versions that extension modules report about themselves. No network, no clock.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from policyd.json_types import JSON, JSONObject
from tools.image import bytecode, debian, settings, tree

# C libraries of wheels without such a document, and programs that print their versions.
_LIBUV = """\
from uvloop.loop import libuv_get_version
number = libuv_get_version()
print(number >> 16, number >> 8 & 255, number & 255, sep=".")
"""
_COMPILED_IN = {
    "cffi": (("libffi", ""),),
    "google-re2": (("re2", ""), ("abseil-cpp", ""), ("pybind11", "")),
    "PyYAML": (("libyaml", "import yaml._yaml as m; print(m.get_version_string())"),),
    "uvloop": (("libuv", _LIBUV),),
}
_CLASSIFIED = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")


def document(
    root: Path, packages: list[debian.Package], wheels: Iterable[Path], runnable: Path
) -> JSONObject:
    """The whole document for the files below ``root``, which are those of ``packages`` and
    ``wheels``. ``runnable`` has the same distributions, and modules that can be run here.
    """
    hashes = {
        _identity(*wheel.name.split("-")[:2]): hashlib.sha256(wheel.read_bytes()).hexdigest()
        for wheel in wheels
    }
    python = sorted(
        _distributions(root, hashes, runnable), key=lambda each: str(each["name"]).lower()
    )
    system = [_debian(root, each) for each in packages]
    (own,) = (each for each in python if each["name"] == "policyd")
    parts = [*system, *(each for each in python if each is not own)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {**own, "type": "container", "bom-ref": "image"},
            "lifecycles": [{"phase": "build"}],
        },
        "components": [own, *parts],
        "dependencies": [
            {"ref": "image", "dependsOn": [str(each["bom-ref"]) for each in (own, *parts)]}
        ],
    }


def _debian(root: Path, package: debian.Package) -> JSONObject:
    url = f"pkg:deb/debian/{package.name}@{_quoted(package.version)}"
    url += f"?arch={package.architecture}&distro=debian-12"
    component: JSONObject = {
        "type": "library",
        "bom-ref": url,
        "name": package.name,
        "version": package.version,
        "hashes": _hashes(package.sha256),
        "purl": url,
        "properties": [{"name": "debian:source", "value": package.source}],
    }
    named = [{"license": {"name": each}} for each in debian.licences(root, package)]
    return {**component, "licenses": named} if named else component


def _distributions(root: Path, hashes: Mapping[str, str], runnable: Path) -> Iterator[JSONObject]:
    for folder in sorted((root / tree.PACKAGES).glob("*.dist-info")):
        fields = HeaderParser().parsestr((folder / "METADATA").read_text(encoding="utf-8"))
        name, version = str(fields["Name"]), str(fields["Version"])
        identity = _identity(name, version)
        url = f"pkg:pypi/{identity}"
        component: JSONObject = {
            "type": "library",
            "bom-ref": url,
            "name": name,
            "version": version,
            "hashes": _hashes(hashes[identity]),
            "purl": url,
        }
        licence = _licence(fields)
        if licence:
            component["licenses"] = [licence]
        inside = [*_documented(folder, url), *_compiled_in(runnable, name, url)]
        if inside:
            component["components"] = inside
        yield component


def _identity(name: str, version: str) -> str:
    """How package URLs name a distribution."""
    return f"{name.lower().replace('_', '-')}@{version}"


def _hashes(sha256: str) -> list[JSON]:
    """Of the archive that was unpacked, as its registry publishes it."""
    return [{"alg": "SHA-256", "content": sha256}]


def _licence(fields: Message) -> JSONObject | None:
    """By the field of today, the free text of before, or the classifier."""
    expression = fields.get("License-Expression")
    if expression:
        return {"expression": str(expression)}
    text = str(fields.get("License") or "").strip()
    if _EXPRESSION.fullmatch(text):
        return {"expression": text}
    for classifier in fields.get_all("Classifier") or []:
        _, _, name = str(classifier).rpartition(" :: ")
        if str(classifier).startswith("License ::") and name in _CLASSIFIED:
            return {"expression": _CLASSIFIED[name]}
    first = text.partition("\n")[0]
    return {"license": {"name": first}} if first else None


def _documented(folder: Path, owner: str) -> Iterator[JSONObject]:
    """The components of the documents that a wheel carries, each once."""
    seen = set()
    for file in sorted((folder / "sboms").glob("*.json")):
        inner: dict[str, Any] = json.loads(file.read_bytes())
        for each in inner.get("components", ()):
            key = (each["name"], each.get("version", ""))
            if key in seen:
                continue
            seen.add(key)
            kept = {name: each[name] for name in ("name", "version", "purl") if name in each}
            component = {"type": "library", "bom-ref": _reference(owner, *key), **kept}
            if "licenses" in each:
                component["licenses"] = each["licenses"]
            yield component


def _compiled_in(runnable: Path, name: str, owner: str) -> Iterator[JSONObject]:
    for library, program in _COMPILED_IN.get(name, ()):
        version = bytecode.run(runnable, "-c", program).strip() if program else ""
        component: JSONObject = {
            "type": "library",
            "bom-ref": _reference(owner, library, version),
            "name": library,
        }
        if version:
            component["version"] = version
            component["purl"] = f"pkg:generic/{library}@{version}"
        else:
            component["description"] = f"compiled into {name}, which does not report its version"
        yield component


def _reference(owner: str, name: str, version: str) -> str:
    return f"{owner}#{name}@{version}" if version else f"{owner}#{name}"


def _quoted(version: str) -> str:
    return version.replace("+", "%2B").replace(":", "%3A").replace("~", "%7E")


def place() -> str:
    """Where the document is in the image: scanners of images look for names like this one."""
    return f"usr/share/sbom/policyd-{settings.version()}.cdx.json"
