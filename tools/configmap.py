"""Make the ConfigMap of policies for deploy/base.

Suites are left out: they are run where policies are written, not where they are served.
"""

import argparse
import os
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "deploy" / "base" / "policies.yaml"
DEFAULT = ROOT / "policies" / "pod-security" / "baseline"
HEAD = """\
# Made by tools/configmap.py: change the policies, not this file.
"""


def config_map(folders: list[Path]) -> str:
    """The ConfigMap as YAML; its keys are ``NAME.yaml``, from the names of the policies."""
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
    """Every policy below a folder, following links: restricted links to baseline."""
    walked = os.walk(folder, followlinks=True)
    return sorted(Path(each, "policy.yaml") for each, _, names in walked if "policy.yaml" in names)


def main() -> None:
    """Print the ConfigMap for some folders, or write that of deploy/base."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folders",
        metavar="FOLDER",
        nargs="*",
        type=Path,
        help="print a ConfigMap of all policies below this folder; without folders, write the "
        f"Pod Security baseline to {TARGET.relative_to(ROOT)}",
    )
    parser.add_argument(
        "--write", action="store_true", help="write the ConfigMap to that file instead"
    )
    given = parser.parse_args()
    packed = config_map(given.folders or [DEFAULT])
    if given.write or not given.folders:
        TARGET.write_text(packed, encoding="utf-8")
    else:
        print(packed, end="")


if __name__ == "__main__":
    main()
