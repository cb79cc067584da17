"""Record what real API servers answer to webhook configurations, valid and invalid, as rows for
``tests/webhooks/validation``.

    POLICYD_KUBERNETES=1.37 python -m tests.e2e.record_webhooks

The rows of the newest version are all answers; those of an older one are the answers that differ,
so that the newest is recorded first. No tests here.
"""

import json

from tests import kubernetes
from tests.builders.webhook_configurations import rows_of
from tests.e2e.cluster import cluster
from tests.e2e.webhook_answers import answers
from tests.shared import rows


def main() -> None:
    with cluster() as api:
        found = list(answers(api))
    target = rows_of(api.version)
    if api.version != kubernetes.NEWEST:
        newest = {row["name"]: row for row in rows(rows_of(kubernetes.NEWEST))}
        found = [row for row in found if row != newest.get(row["name"])]
    target.parent.mkdir(exist_ok=True)
    lines = [json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in found]
    target.write_text("\n".join([*lines, ""]), "utf-8")
    print(f"{len(found)} rows, {target.stat().st_size} bytes in {target}")


if __name__ == "__main__":
    main()
