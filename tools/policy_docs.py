"""Write policies/README.md and docs/reference/policies from the policies and their suites.

Usage: ``python -m tools.policy_docs``. The example of each policy is what it answers to the first
case of its suite that it denies or changes. A test compares the files with what this would write.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from policyd import PolicySet
from policyd.policy.source import loader
from policyd.policy.suite import runner

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "policies"
README = LIBRARY / "README.md"
PAGES = ROOT / "docs" / "reference" / "policies"
MADE = "<!-- Made by tools/policy_docs.py from the policies: change those, not this file. -->\n"
README_HEAD = """\
# The policy library

Each folder holds a policy, its suite (`policyd test policies`), and where it helps a README.
Load what you want, policies or whole folders:

```sh
policyd serve -p policies/pod-security/baseline -p policies/best-practices/disallow-latest-tag
```

Copy a policy to change its `params`; where a ConfigMap is named, give your own instead of its
example, `params.yaml`. To let some namespaces or workloads through, add `exceptions`. Begin with
`validationActions: [Warn]`, and look at the warnings, before you deny.
"""
WEBHOOK_OF_MUTATIONS = "mutate"


@dataclass(frozen=True)
class Entry:
    """One policy of the library."""

    folder: Path

    @cached_property
    def text(self) -> str:
        """The source."""
        return (self.folder / "policy.yaml").read_text(encoding="utf-8")

    @cached_property
    def document(self) -> Any:
        """The source, read."""
        return yaml.safe_load(self.text)

    @property
    def name(self) -> str:
        """The policy's name."""
        return str(self.document["metadata"]["name"])

    @property
    def group(self) -> str:
        """What people call its category."""
        return str(self.document["metadata"]["annotations"]["policyd.dev/category"])

    @property
    def severity(self) -> str:
        """low, medium or high."""
        return str(self.document["metadata"]["annotations"]["policyd.dev/severity"])

    @property
    def spec(self) -> Any:
        """The policy's spec."""
        return self.document["spec"]

    @property
    def path(self) -> str:
        """The folder, seen from the root."""
        return self.folder.relative_to(ROOT).as_posix()

    @property
    def params(self) -> str:
        """The params as they stand in the source, comments and all; or the object that has them."""
        lines = self.text.splitlines()
        if "params" in self.spec:
            start = next(n for n, line in enumerate(lines) if line.startswith("  params:"))
            end = start + 1
            while lines[end].startswith("   ") or not lines[end].strip():
                end += 1
            return "\n".join(line[2:] for line in lines[start:end]) + "\n"
        if "paramKind" in self.spec:
            return (self.folder / "params.yaml").read_text(encoding="utf-8")
        return ""


def entries(category: Path) -> list[Entry]:
    """The policies of a category, by name; a link to another folder does not count twice."""
    return [Entry(each.parent) for each in sorted(category.rglob("policy.yaml"))]


def categories() -> list[Path]:
    """The folders of categories."""
    return sorted(each for each in LIBRARY.iterdir() if each.is_dir())


def readme() -> str:
    """A table of all policies."""
    lines = [MADE, README_HEAD]
    for category in categories():
        lines.append(f"\n## [{title(category)}](../docs/reference/policies/{category.name}.md)\n\n")
        if (category / "README.md").exists():
            lines.append(f"More in [{category.name}/README.md]({category.name}/README.md).\n\n")
        lines.append("| policy | severity | what it sees to | params |\n|---|---|---|---|\n")
        for entry in entries(category):
            link = f"[{entry.name}]({entry.folder.relative_to(LIBRARY).as_posix()})"
            description = " ".join(entry.spec["description"].split())
            lines.append(f"| {link} | {entry.severity} | {description} | {param_names(entry)} |\n")
    return "".join(lines)


def param_names(entry: Entry) -> str:
    """The names of inline params, or the object that holds them."""
    if "paramKind" in entry.spec:
        return f"{entry.spec['paramKind']['kind']} `{entry.spec['paramRef']['name']}`"
    return ", ".join(f"`{name}`" for name in entry.spec.get("params", {}))


def page(category: Path) -> str:
    """The page of a category: each policy with its params and an example."""
    lines = [MADE, f"# {title(category)}\n"]
    if (category / "README.md").exists():
        lines.append(f"\nMore in [the README](../../../policies/{category.name}/README.md).\n")
    for entry in entries(category):
        lines.extend(section(entry))
    return "".join(lines)


def title(category: Path) -> str:
    """The heading of a category."""
    return category.name.replace("-", " ").capitalize()


def section(entry: Entry) -> Iterator[str]:
    """The part of a page that is about one policy."""
    yield f"\n## {entry.name}\n\n{entry.group}, severity {entry.severity}. "
    yield " ".join(entry.spec["description"].split()) + "\n\n"
    yield from (f"- {line}\n" for line in matched(entry))
    known = entry.document["metadata"]["annotations"].get("policyd.dev/known-as")
    if known:
        yield f"- Known as: {known}\n"
    files = {name: f"../../../{entry.path}/{name}" for name in ("policy.yaml", "suite.yaml")}
    if (entry.folder / "README.md").exists():
        files["README.md"] = f"../../../{entry.path}/README.md"
    yield "- Files: " + ", ".join(f"[{name}]({link})" for name, link in files.items()) + "\n"
    if entry.params:
        yield f"\n```yaml\n{entry.params}```\n"
    yield f"\n```text\n{example(entry)}\n```\n"


def matched(entry: Entry) -> Iterator[str]:
    """What the policy looks at, rule by rule."""
    for rule in entry.spec["matchConstraints"]["resourceRules"]:
        names = ", ".join(f"`{name}`" for name in rule["resources"])
        group = f" ({', '.join(rule['apiGroups'])})" if any(rule["apiGroups"]) else ""
        controllers = ", and pod controllers" if entry.spec.get("podControllers") else ""
        kept = controllers if "pods" in rule["resources"] else ""
        yield f"{', '.join(rule['operations'])}: {names}{group}{kept}"


def example(entry: Entry) -> str:
    """What the first denied case of the suite is told, or else the first patch."""
    answers: list[tuple[str, Any]] = []
    (document,) = loader.load([entry.folder / "suite.yaml"]).documents
    policies = PolicySet.load([entry.folder]).for_suite(document)

    def listening(review: runner.Review) -> runner.Review:
        def judge(asked: dict[str, Any], webhook: runner.Webhook) -> dict[str, Any]:
            answer = review(asked, webhook)
            answers.append((webhook, answer["response"]))
            return answer

        return judge

    runner.run(
        document,
        listening(policies.review),
        with_namespace=lambda namespace: listening(policies.reviewing_in(namespace)),
    )
    for _, response in answers:
        if not response["allowed"]:
            return str(response["status"]["message"])
    for webhook, response in answers:
        if webhook == WEBHOOK_OF_MUTATIONS and "patch" in response:
            return shown(json.loads(base64.b64decode(response["patch"])))
    raise LookupError(f"{entry.path}: no case is denied or changed")


def shown(patch: list[Any]) -> str:
    """A JSON Patch, an operation a line."""
    return "\n".join(json.dumps(operation) for operation in patch)


def files() -> dict[Path, str]:
    """Every file that is made, with its text."""
    return {README: readme()} | {PAGES / f"{each.name}.md": page(each) for each in categories()}


if __name__ == "__main__":
    PAGES.mkdir(parents=True, exist_ok=True)
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
