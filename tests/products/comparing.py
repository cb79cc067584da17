"""Policies of another product, imported, and requests for which both decide. No tests here."""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from policyd.defaulting.defaults import Defaults
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.suite.reviews import build_review


def imported(folder: Path, sources: Iterable[JSONObject]) -> Path:
    """The policies that an import makes of all sources."""
    (folder / "sources.yaml").write_text("\n---\n".join(map(json.dumps, sources)))
    command = [sys.executable, "-m", "policyd", "import", str(folder / "sources.yaml")]
    done = subprocess.run(
        [*command, "-o", str(folder / "policies")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "policies"


def capture(folder: Path, objects: Iterable[JSONObject]) -> Path:
    """Requests to create these objects, for both webhooks."""
    defaults, file = Defaults(Schemas.builtin()), folder / "capture.jsonl"
    file.write_text("\n".join(json.dumps(defaults.review(build_review(each))) for each in objects))
    return file


def compared(captures: Path, policies: Path, hooks: Iterable[JSONObject]) -> JSONObject:
    """The report of ``policyd compare`` with the webhooks of these configurations."""
    against = captures.parent / "webhooks.json"
    items = {"apiVersion": "v1", "kind": "List", "items": [*hooks]}
    against.write_text(json.dumps(items))
    command = [sys.executable, "-m", "policyd", "compare", "--captures", str(captures)]
    command += ["-p", str(policies), "--against", str(against), "--yes", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    report: JSONObject = json.loads(done.stdout)
    return report


def silenced(policies: Path) -> Path:
    """The same policies, none of which denies."""
    for file in policies.rglob("*.yaml"):
        file.write_text(
            file.read_text().replace("validationActions: [Deny]", "validationActions: [Audit]")
        )
    return policies


def counts(report: JSONObject) -> dict[str, dict[str, int]]:
    """The outcomes of each rule that occurred."""
    return {
        f"{each['policy']}/{each['rule']}": {
            name: number for name, number in each.items() if isinstance(number, int) and number
        }
        for each in report["rules"]
    }
