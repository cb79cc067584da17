"""Record the defaults of a real API server as rows for ``tests/defaulting/test_recorded_defaults.py``:
a manifest, and the object that a mutating webhook is sent for it.

    POLICYD_KUBERNETES=1.36 python -m tests.e2e.record_defaults

The rows have every kind of the built-in schemas that the server serves. Kinds behind a feature gate
come from a second server with all of them. No tests here.
"""

import gzip
import json
from collections.abc import Iterator

from policyd.json_types import JSONObject
from tests.builders.samples import DEFINITIONS, MANIFESTS, Samples, every_kind, rows_of
from tests.e2e.capture import EXEMPT, FLAGS, Capture, capturing
from tests.e2e.cluster import cluster

GATES = "--feature-gates=AllAlpha=true,AllBeta=true"
SEEDS = 3


def record(capture: Capture, kinds: list[Samples], seeds: int = SEEDS) -> Iterator[JSONObject]:
    """Yield a row for each sample of these kinds that webhooks are sent."""
    for kind in kinds:
        for manifest in kind.all(seeds):
            try:
                yield {"manifest": manifest, "object": capture.seen(manifest)}
            except LookupError:
                break  # answered before admission: reviews of authentication and authorization


def record_manifests(capture: Capture) -> Iterator[JSONObject]:
    """Yield a row for each manifest that was written by hand and is served."""
    for manifest in MANIFESTS:
        if (manifest["apiVersion"], manifest["kind"]) in capture.kinds:
            yield {"manifest": manifest, "object": capture.seen(manifest)}


def served(capture: Capture) -> tuple[list[Samples], list[Samples]]:
    """Return the kinds that the server serves and sends to webhooks, and those it does not serve."""
    kinds = [each for each in every_kind() if not each.api_version.startswith(EXEMPT)]
    found = [each for each in kinds if (each.api_version, each.kind) in capture.kinds]
    return found, [each for each in kinds if each not in found]


def main() -> None:
    with cluster(flags=FLAGS) as api, capturing(api, DEFINITIONS) as capture:
        version = api.version
        kinds, others = served(capture)
        rows = [*record(capture, kinds), *record_manifests(capture)]
    with cluster(flags=[*FLAGS, GATES]) as api, capturing(api) as capture:
        known = [each for each in others if each in served(capture)[0]]
        rows += record(capture, known)
    text = "\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    target = rows_of(version)
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    names = {(row["manifest"]["apiVersion"], row["manifest"]["kind"]) for row in rows}
    missing = [each.kind for each in every_kind() if (each.api_version, each.kind) not in names]
    print(f"{len(rows)} rows, {len(names)} kinds, {target.stat().st_size} bytes in {target}")
    print(f"never seen by webhooks: {', '.join(missing)}")


if __name__ == "__main__":
    main()
