"""Write deploy/base/policies.yaml: a ConfigMap of every policy below the given folders.

Usage: ``python tools/configmap.py [FOLDER…]``, by default the baseline of Pod Security. Suites stay
out: they are run where policies are written, not where they are served.
"""

import os
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "deploy" / "base" / "policies.yaml"
DEFAULT = ROOT / "policies" / "pod-security" / "baseline"
HEAD = """\
# Made by tools/configmap.py: change the policies, not this file.
"""


def config_map(folders: list[Path]) -> str:
    """The ConfigMap as YAML; its keys are ``NAME.yaml``, with the policies' own names."""
    lines = [
        "apiVersion: v1",
        "kind: ConfigMap",
        "metadata:",
        "  name: policyd-policies",
        "  namespace: policyd",
        "data:",
    ]
    for folder in folders:
        for file in policies(folder):
            text = file.read_text(encoding="utf-8")
            name = yaml.safe_load(text)["metadata"]["name"]
            lines.append(f"  {name}.yaml: |")
            lines.extend(f"    {line}".rstrip() for line in text.splitlines())
    return HEAD + "\n".join(lines) + "\n"


def policies(folder: Path) -> list[Path]:
    """Every policy below a folder, links followed: restricted holds the baseline by one."""
    walked = os.walk(folder, followlinks=True)
    return sorted(Path(each, "policy.yaml") for each, _, names in walked if "policy.yaml" in names)


if __name__ == "__main__":
    TARGET.write_text(config_map([Path(each) for each in sys.argv[1:]] or [DEFAULT]))
