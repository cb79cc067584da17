"""Make ``corpus/mix.jsonl.gz``: the requests of a cluster, as an API server sends them to webhooks.

``python -m loadtest.mix``. The requests are those that a real API server sent, recorded in
``$POLICYD_REVIEWS``; only their uid is new, since each is used several times, and the object of the
validating webhook is the one that the policies of the mutating webhook made. Each line is one
request of a client: ``{"mutate": review, "validate": review, "allowed": bool}``, the reviews as the
strings that are sent. ``POLICIES`` decide what is allowed, so the server must have them, too.
"""

import copy
import gzip
import json
import os
import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import policyd
from loadtest.policies import POLICIES, ROOT

FILE = Path(__file__).parent / "corpus" / "mix.jsonl.gz"
# (Pods or other kinds, operation, whether it is allowed): rows of 400.
SHARES = {
    ("Pod", "CREATE", True): 140,
    ("Pod", "CREATE", False): 30,
    ("Pod", "UPDATE", True): 80,
    ("Pod", "DELETE", True): 30,
    ("other", "CREATE", True): 30,
    ("other", "CREATE", False): 8,
    ("other", "UPDATE", True): 48,
    ("other", "UPDATE", False): 2,
    ("other", "DELETE", True): 32,
}
Key = tuple[str, str, bool]
JSON = dict[str, Any]


def recorded() -> Iterator[JSON]:
    """The recorded AdmissionReviews."""
    folder = ROOT / os.environ.get("POLICYD_REVIEWS", "../shared/reviews")
    for name in ("load-pods.jsonl", "reviews.jsonl"):
        for line in (folder / name).read_text().split("\n"):
            if line:
                row: JSON = json.loads(line)
                yield row.get("review", row)


def pools(policies: policyd.PolicySet) -> dict[Key, list[tuple[JSON, JSON]]]:
    """The reviews of each share, as both webhooks get them."""
    found: dict[Key, list[tuple[JSON, JSON]]] = {}
    for review in recorded():
        request = review["request"]
        mutated = policies.evaluate(review, "mutate")
        validated = copy.deepcopy(review)
        if mutated.patch:
            validated["request"]["object"] = mutated.object
        allowed = mutated.allowed and policies.evaluate(validated, "validate").allowed
        kind = "Pod" if request["kind"]["kind"] == "Pod" else "other"
        found.setdefault((kind, request["operation"], allowed), []).append((review, validated))
    return found


def mix() -> list[JSON]:
    """The rows in a random order, which is the same each time."""
    choice = random.Random(1)
    found = pools(policyd.PolicySet.load(ROOT / each for each in POLICIES))
    rows = []
    for key, count in SHARES.items():
        pool = found[key]
        # Each of them, before one is used again.
        chosen = [pool[number % len(pool)] for number in range(count)]
        rows += [(each, key[2]) for each in chosen]
    choice.shuffle(rows)
    return [
        {
            webhook: json.dumps(with_uid(review, f"{webhook}-{number}"), ensure_ascii=False)
            for webhook, review in zip(("mutate", "validate"), reviews, strict=True)
        }
        | {"allowed": allowed}
        for number, (reviews, allowed) in enumerate(rows)
    ]


def with_uid(review: JSON, name: str) -> JSON:
    """The review with a uid made of the name."""
    uid = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
    return review | {"request": review["request"] | {"uid": uid}}


def main() -> None:
    """Write the file."""
    data = "".join(json.dumps(row) + "\n" for row in mix()).encode()
    FILE.write_bytes(gzip.compress(data, mtime=0))
    print(f"{FILE.relative_to(ROOT)}: {len(data)} bytes, {FILE.stat().st_size} compressed")


if __name__ == "__main__":
    main()
