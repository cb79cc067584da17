"""The software bill of materials as SPDX 2.3, made of the document in CycloneDX. No files here."""

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from cyclonedx.spdx import is_expression, is_supported_id

from policyd.json_types import JSONObject
from tools.image import settings

_UNKNOWN = "NOASSERTION"
_IMAGE = "SPDXRef-image"


def document(cyclonedx: JSONObject, architecture: str) -> JSONObject:
    """The same packages, licences and hashes; each part of a package is contained in it."""
    found: dict[str, Any] = {**cyclonedx}
    packages: list[JSONObject] = []
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", _IMAGE)]
    image = {**found["metadata"]["component"], "name": f"policyd-{architecture}"}
    for identity, component, owner in ((_IMAGE, image, ""), *_parts(found["components"], _IMAGE)):
        packages.append(_package(identity, component))
        if owner:
            relations.append((owner, "CONTAINS", identity))
    made: JSONObject = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"policyd-{settings.version()}-{architecture}",
        "creationInfo": {
            "created": datetime.fromtimestamp(settings.epoch(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Tool: policyd-tools.image-{settings.version()}"],
        },
        "packages": [*packages],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }
    content = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()
    return {**made, "documentNamespace": f"https://policyd.dev/spdx/{made['name']}-{content}"}


def _parts(components: list[dict[str, Any]], owner: str) -> Iterator[tuple[str, Any, str]]:
    """Each component with its identity and that of its owner; components have parts, these none."""
    for each in components:
        identity = _identity(each)
        yield identity, each, owner
        for part in each.get("components", ()):
            yield _identity(part), part, identity


def _identity(component: dict[str, Any]) -> str:
    """References of CycloneDX are unique, and may have characters that SPDX does not allow."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", component["name"]).strip("-")
    unique = hashlib.sha256(component["bom-ref"].encode()).hexdigest()[:12]
    return f"SPDXRef-{readable}-{unique}"


def _package(identity: str, component: dict[str, Any]) -> JSONObject:
    expression, words = _licences(component)
    package: JSONObject = {
        "SPDXID": identity,
        "name": component["name"],
        "downloadLocation": _UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": _UNKNOWN,
        "licenseDeclared": expression,
        "copyrightText": _UNKNOWN,
        "supplier": _UNKNOWN,
    }
    if words:
        package["licenseComments"] = f"As the package words it: {words}"
    if "version" in component:
        package["versionInfo"] = component["version"]
    if "hashes" in component:
        package["checksums"] = [
            {"algorithm": "SHA256", "checksumValue": each["content"]}
            for each in component["hashes"]
        ]
    if "purl" in component:
        package["externalRefs"] = [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": component["purl"],
            }
        ]
    return package


def _licences(component: dict[str, Any]) -> tuple[str, str]:
    """An expression of SPDX, else the words of the package: Debian has other names of licences."""
    entries = component.get("licenses", ())
    words = [each.get("expression") or _named(each["license"]) for each in entries]
    if len(words) == 1 and (is_supported_id(words[0]) or is_expression(words[0])):
        return words[0], ""
    return _UNKNOWN, ", ".join(words)


def _named(licence: dict[str, str]) -> str:
    return licence.get("id") or licence["name"]
