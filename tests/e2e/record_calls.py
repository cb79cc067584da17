"""Record which webhooks real API servers call, as rows for ``tests/webhooks/calls``.

    POLICYD_KUBERNETES=1.37 python -m tests.e2e.record_calls

No tests here.
"""

import gzip
import json

from tests.builders.called_rows import calls_of
from tests.e2e.cluster import cluster
from tests.e2e.live_calls import live_calls, requests


def main() -> None:
    with cluster() as api, live_calls(api) as live:
        found = [live.row(name, answer) for name, answer in requests(live)]
    rows = [row for row in found if row is not None]
    text = "\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    target = calls_of(api.version)
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{len(rows)} rows, {target.stat().st_size} bytes in {target}")


if __name__ == "__main__":
    main()
