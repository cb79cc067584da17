"""Another product for ``policyd compare``: an HTTPS server that answers as Kyverno does. No tests here."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.policies import ADMISSION, EVERYTHING, policy

ORIGIN, RULE = "policyd.dev/imported-from", "policyd.dev/imported-rule"
KINDS = {"validate": "ValidatingWebhookConfiguration", "mutate": "MutatingWebhookConfiguration"}
NOBODY: JSONObject = {"username": "nobody", "groups": ["some"]}


def kyverno(*found: tuple[str, str, str]) -> JSONObject:
    """The denial of Kyverno for (policy, rule, message)."""
    lines = [f"{policy}:\n  {rule}: '{message}'\n" for policy, rule, message in found]
    head = "\n\nresource Pod/shop/x was blocked due to the following policies \n\n"
    message = f"{head}{''.join(lines)}"
    return {"allowed": False, "status": {"status": "Failure", "message": message}}


def said(text: str) -> JSONObject:
    """How Kyverno quotes the message of a pattern."""
    return kyverno(
        ("teams", "autogen-team", f"validation error: {text}. rule team failed at path /metadata/")
    )


def patched(operation: JSONObject) -> JSONObject:
    data = base64.b64encode(json.dumps([operation]).encode()).decode()
    return {"patch": data, "patchType": "JSONPatch"}


# By the name of a Pod.
ANSWERS: dict[str, JSONObject] = {
    "agreed": said("no team"),
    "another": said("who owns this?"),
    "looser": said("no team"),
    "unnamed": {"allowed": False, "status": {"message": "no"}},
    "warned": {"warnings": ["policy teams.team: no team", "v1 is deprecated"]},
}


class Product:
    """What the server was sent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.requests: list[tuple[str, JSONObject]] = []
        self.answers: Callable[[str, JSONObject], JSONObject] = self.by_name

    def by_name(self, path: str, request: JSONObject) -> JSONObject:
        return ANSWERS.get(request["object"]["metadata"]["name"], {})

    def answer(self, path: str, request: JSONObject) -> JSONObject:
        self.requests.append((path, request))
        return self.answers(path, request)

    def configuration(self, webhook: str = "validate", **fields: Any) -> str:
        """Write a configuration of its webhook, and return the file."""
        authority = base64.b64encode((self.folder / "tls.crt").read_bytes()).decode()
        url = f"https://127.0.0.1:{self.port}/{webhook}"
        entry = {
            "name": f"{webhook}.kyverno.svc", "admissionReviewVersions": ["v1"],
            "sideEffects": "NoneOnDryRun", "rules": [EVERYTHING],
            "clientConfig": {"url": url, "caBundle": authority}, **fields,
        }  # fmt: skip
        made = {"apiVersion": ADMISSION, "kind": KINDS[webhook], "webhooks": [entry]}
        file = self.folder / f"{webhook}.json"
        file.write_text(json.dumps({**made, "metadata": {"name": "kyverno"}}))
        return str(file)


def write(name: str, rule: str, **spec: Any) -> None:
    """Write a policy that was imported from a ClusterPolicy."""
    document = policy("-".join(filter(None, (name, rule))), **spec)
    document["metadata"]["annotations"] = {ORIGIN: f"ClusterPolicy/{name}", RULE: rule}
    Path("policies").mkdir(exist_ok=True)
    Path("policies", f"{name}.json").write_text(json.dumps(document))


def capture(*pods: JSONObject, webhook: str = "validate", **captured: Any) -> None:
    """Add reviews to the capture."""
    with Path("capture.jsonl").open("a") as file:
        for each in pods:
            review = build_review(each, overrides={"userInfo": NOBODY})
            review["captured"] = {"webhook": webhook, "redacted": False, **captured}
            file.write(json.dumps(review) + "\n")


def run(*arguments: str, text: str | None = None) -> Result:
    words = ["compare", "--captures", "capture.jsonl", "-p", "policies", *arguments]
    done = CliRunner().invoke(policyd, words, input=text)
    print(done.output)
    return done


def outcomes(*arguments: str) -> dict[str, tuple[str, str]]:
    """The outcome of each Pod, and its rule."""
    done = run(*arguments, "--yes", "--format", "json")
    report = json.loads(done.stdout)
    assert done.exit_code == int(any(each["outcome"] != "unknown" for each in report["results"]))
    return {
        each["request"].split("/")[1].split()[0]: (
            each["outcome"],
            f"{each['policy']}/{each['rule']}",
        )
        for each in report["results"]
    }
