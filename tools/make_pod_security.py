"""Generate the Pod Security policies that ``policyd import`` writes, from policies/pod-security.

python -m tools.make_pod_security

The policies are not part of the package; policyd/importers/kyverno/pod_security/standards.json has
them, one on a line, by level.
"""

import json
from pathlib import Path

from policyd.policy.source.loader import load

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "policyd" / "importers" / "kyverno" / "pod_security" / "standards.json"
LEVELS = ("baseline", "restricted")


def main() -> None:
    TARGET.write_text(text())


def text() -> str:
    """Return the content of the file."""
    lines = []
    for level in LEVELS:
        for path in sorted((ROOT / "policies" / "pod-security" / level).glob("*/policy.yaml")):
            if path.parent.parent.name == level:
                (document,) = load([path]).documents
                lines.append(json.dumps({"level": level, "policy": document.raw}))
    return "[\n" + ",\n".join(lines) + "\n]\n"


if __name__ == "__main__":
    main()
