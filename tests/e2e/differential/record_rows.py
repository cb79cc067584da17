"""Ask every recorded row of the API server that runs, and write those that it answers otherwise than the
version before as rows of its own, under the same ids. No tests here.

    POLICYD_KUBERNETES=1.38 python -m tests.e2e.differential.record_rows

A row whose request is admitted now, or was before, and one whose policy is accepted now, or was before, is
printed for a person: only a webhook sees the object in between.
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from tests.conformance.apiserver_rows import CHANGED, VERSIONS, recorded
from tests.e2e.client import Answer, Client
from tests.e2e.cluster import Cluster, audit_log, cluster
from tests.e2e.differential.comparing import changed, in_words_of_kubernetes
from tests.e2e.differential.rows import (
    ACCEPTED,
    REFUSED,
    Row,
    asked_together,
    by_label,
    defined,
    recorded_in,
    unasked,
)
from tests.e2e.differential.sides import ask, audited, in_tree
from tests.shared import ROOT

DATA = ROOT / "tests/conformance/data"
# What differs whenever rows are asked again, with the start of their ids.
AGAIN = {
    "cel-ios-": "the recorded address of the Service is outside the range of this cluster",
    "cel-num-": "a whole double is sent again as an int",
    "cel-req-022": "the request is sent without fieldValidation",
    "cel-authz-030": "the API server names one of several bindings by chance",
    "map-ac-021": "the API server orders type errors by chance",
    "map-ac-146": "the message quotes a memory address",
    "map-upd-005": "the request is sent without the recorded uid",
    "map-sub-": "the parent is made with other fields",
    **dict.fromkeys(
        ("map-jp-184", "map-jp-189", "map-jp-204", "map-jp-224", "map-jp-225", "map-ac-159"),
        "the API server drops the field that the policy sets",
    ),
}
TEXT = 300  # characters of what a person reads about a row


def main() -> int:
    """Return the exit status: 1 if something is left for a person."""
    left: list[str] = []
    with tempfile.TemporaryDirectory(prefix="apiserver-") as name:
        folder = Path(name)
        with (
            cluster(folder, audit_log(folder)) as api,
            closing(Client(api)) as client,
        ):
            before = VERSIONS[VERSIONS.index(api.version) - 1]
            rows = {file: recorded(file, before) for file in CHANGED}
            with defined(client, rows), recorded_in(client, rows):
                for file, each in rows.items():
                    kept = [*_policies(client, each, left), *_requests(api, client, each, left)]
                    _write(api.version, file, kept)
    for text in left:
        print(f"left: {text}")
    return 1 if left else 0


def _policies(client: Client, rows: Sequence[Row], left: list[str]) -> Iterator[Row]:
    """Yield the rows whose policies are refused with another message."""
    for row in rows:
        if unasked(row) not in (REFUSED, ACCEPTED):
            continue
        answers = [client.create(each, dryRun="All") for each in row["policies"]]
        status = next((each.body for each in answers if each.status != 201), None)
        error = row["expect"].get("policyError")
        if (status is None) != (error is None):
            left.append(f"{row['id']}: {status['message'] if status else 'accepted now'}")
        elif status is not None and status["message"] != error["message"]:
            yield {**row, "expect": {**row["expect"], "policyError": status}}


def _requests(api: Cluster, client: Client, rows: Sequence[Row], left: list[str]) -> Iterator[Row]:
    """Yield the rows whose requests are denied otherwise."""
    asked = [row for row in rows if not unasked(row) and not row["id"].startswith(tuple(AGAIN))]
    alone = [[row] for row in asked if not by_label(row)]
    for group in ([row for row in asked if by_label(row)], *alone):
        questions, documents = asked_together([(row, row["policies"]) for row in group])
        with in_tree(client, documents):
            answers = ask(api, client, questions)
        logs = audited(api, list(answers.values()))
        for row, each in zip(group, questions, strict=True):
            answer = answers[row["id"]]
            policies = {name: name for name in each.policies}
            seen = in_words_of_kubernetes(answer, logs[answer.audit_id], policies)
            if not (text := changed(row, seen)):
                continue
            if answer.status < 300 or row["expect"]["allowed"] or row.get("expectAny"):
                left.append(f"{row['id']}: {text[:TEXT]}")
            else:
                yield {**row, "expect": {**row["expect"], **_denial(answer)}}


def _denial(answer: Answer) -> Row:
    """What a row has of a denied request."""
    causes = [{"message": each} for each in answer.causes]
    return {
        "code": answer.status,
        "reason": answer.body["reason"],
        "message": answer.body["message"],
        "causes": causes,
        "warnings": list(answer.warnings),
    }


def _write(version: str, file: str, rows: Sequence[Row]) -> None:
    target = DATA / f"apiserver-{version}" / f"{file}.jsonl.gz"
    target.parent.mkdir(exist_ok=True)
    kept = [{key: row[key] for key in row if key != "version"} for row in rows]
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in kept)
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{len(kept)} rows in {target.relative_to(ROOT)}: {[row['id'] for row in kept]}")


if __name__ == "__main__":
    sys.exit(main())
