"""A ConfigMap of policies, for deploy/base. Suites stay out: they are run where policies are
written, not where they are served.
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


def main() -> None:
    """Print the ConfigMap of some folders, or write that of the deployment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folders",
        metavar="FOLDER",
        nargs="*",
        type=Path,
        help="pack every policy below it and print the ConfigMap; without one, the baseline of "
        f"Pod Security is written to {TARGET.relative_to(ROOT)}",
    )
    parser.add_argument("--write", action="store_true", help="write it there in either case")
    given = parser.parse_args()
    packed = config_map(given.folders or [DEFAULT])
    if given.write or not given.folders:
        TARGET.write_text(packed, encoding="utf-8")
    else:
        print(packed, end="")


if __name__ == "__main__":
    main()
