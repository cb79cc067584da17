"""Write what deploy/ has of other files: the README of the chart, and ConfigMaps of policies.

python -m tools.make_chart

The README has the values of ``values.yaml`` with their defaults and the comments above them. A test
compares the files with what this writes.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from click.testing import CliRunner

from policyd.cli.configmap import command
from policyd.json_types import JSON, JSONObject

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "deploy" / "chart"
LIBRARY = ROOT / "policies" / "pod-security"
_LEVELS = ("baseline", "restricted")
_KEY = re.compile(r"( *)([A-Za-z]+):")
_LABEL = '  labels: {policyd.dev/policies: "true"}\n'
_LONGEST = 60  # characters of a default that is shown in the table
_HEAD = """\
# policyd

{description}.

```console
$ helm install policyd ./deploy/chart --namespace policyd --create-namespace
```

A chart in a registry names the image by its digest: [verify](../../docs/install/verify.md) both.
Without values, policyd makes its own certificate and registers its own webhooks: it needs no other
component. [Install](../../docs/install/deploy.md) describes the profiles (`certManager.enabled`,
`static.enabled`), upgrades and removal.

## Values

`values.schema.json` has their types; a name that is not listed is an error.

| value | default | purpose |
|---|---|---|
"""
_FOOT = "\n<!-- Written by tools/make_chart.py from values.yaml -->\n"


def contents() -> dict[Path, str]:
    """The text of each file."""
    packed = {level: _packed(level) for level in _LEVELS}
    made = {CHART / "files" / "policies" / f"{level}.yaml": text for level, text in packed.items()}
    name = "  name: policyd-policies\n"
    labelled = packed["baseline"].replace(name, name + _LABEL, 1)
    made[ROOT / "deploy" / "base" / "policies.yaml"] = labelled
    made[CHART / "README.md"] = _readme()
    return made


def documented(text: str) -> Iterator[tuple[str, str]]:
    """The path of each value that has a comment above it, and the comment."""
    path: list[str] = []
    comment: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        key = _KEY.match(line)
        if stripped.startswith("#"):
            comment.append(stripped.removeprefix("#").strip())
            continue
        if key:
            path[len(key[1]) // 2 :] = [key[2]]
            if comment:
                yield ".".join(path), " ".join(comment)
        comment = []


def _readme() -> str:
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    values: JSONObject = yaml.safe_load(text)
    described = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["description"]
    rows = [
        f"| `{path}` | {_default(values, path)} | {purpose.replace('|', chr(92) + '|')} |"
        for path, purpose in documented(text)
    ]
    return _HEAD.format(description=described) + "\n".join(rows) + "\n" + _FOOT


def _default(values: JSONObject, path: str) -> str:
    value: JSON = values
    for name in path.split("."):
        assert isinstance(value, dict)
        value = value[name]
    shown = json.dumps(value)
    return f"`{shown}`" if len(shown) <= _LONGEST else "see `values.yaml`"


def _packed(level: str) -> str:
    """The ConfigMap that ``policyd configmap`` makes of one level."""
    done = CliRunner().invoke(command, [str(LIBRARY / level)])
    if done.exit_code:
        raise SystemExit(done.output)
    return done.output


def main() -> None:
    """Write the files."""
    for file, text in contents().items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
