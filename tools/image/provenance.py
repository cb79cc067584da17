"""Where the image comes from: the predicate of SLSA v1 that `cosign attest` signs. No clock."""

import subprocess
from collections.abc import Mapping
from typing import Any

from policyd.json_types import JSONObject
from tools.image import settings

TYPE = "https://policyd.dev/make-image/v1"
# Level 1 of SLSA: whoever has the key says so. A build service names itself instead.
BUILDER = "https://policyd.dev/builders/local"


def predicate(documents: Mapping[str, JSONObject], source: str, builder: str) -> JSONObject:
    """Of the images by architecture, whose bills of materials list all that was unpacked.

    ``source`` is the address of the repository, if it has one.
    """
    commit, modified = _commit()
    tree: JSONObject = {"name": "policyd", "digest": {"gitCommit": commit}}
    if source:
        tree["uri"] = source
    dependencies = [tree] if commit else []
    for architecture, document in documents.items():
        dependencies += _unpacked(architecture, {**document})
    return {
        "buildDefinition": {
            "buildType": TYPE,
            "externalParameters": {
                "version": settings.version(),
                "architectures": [*documents],
                "SOURCE_DATE_EPOCH": settings.epoch(),
            },
            "internalParameters": {"python": settings.PYTHON, "modified": modified},
            "resolvedDependencies": [*dependencies],
        },
        "runDetails": {"builder": {"id": builder}},
    }


def _unpacked(architecture: str, document: dict[str, Any]) -> list[JSONObject]:
    return [
        {
            "name": f"{each['name']} ({architecture})",
            "uri": each["purl"],
            "digest": {"sha256": each["hashes"][0]["content"]},
        }
        for each in document["components"]
    ]


def _commit() -> tuple[str, bool]:
    """The commit of the tree, and whether the tree has other files; empty without a repository."""
    head, status = (
        subprocess.run(
            ["git", *words], cwd=settings.ROOT, capture_output=True, text=True, check=False
        )
        for words in (("rev-parse", "HEAD"), ("status", "--porcelain"))
    )
    return ("", True) if head.returncode else (head.stdout.strip(), bool(status.stdout.strip()))
