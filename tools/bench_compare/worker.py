"""A process of one tree that answers reviews.

``python worker.py WEBHOOK REVIEWS PASSES POLICIES…``

Uses nothing of policyd but its public API, so that trees of other times can be compared. With 0
passes it is told how many by standard input: each line is a number of passes over the reviews, and
the nanoseconds of CPU time that they took are printed. Otherwise it makes these passes and ends.
"""

import gc
import gzip
import sys
from pathlib import Path
from time import process_time_ns
from typing import Any

import policyd

_WARM = 2  # passes


def main(webhook: Any, reviews: str, passes: int, paths: list[str]) -> None:
    """Load the policies, and answer."""
    policies = policyd.PolicySet.load(paths)
    bodies = gzip.decompress(Path(reviews).read_bytes()).splitlines()
    gc.collect()
    gc.freeze()

    def run(times: int) -> int:
        answer, started = policies.review_bytes, process_time_ns()
        for _ in range(times):
            for body in bodies:
                answer(body, webhook)
        return process_time_ns() - started

    run(_WARM)
    if passes:
        run(passes - 1)  # 1: nothing but what is always done
        return
    print(f"{len(bodies)} {Path(policyd.__file__).parent.parent}", flush=True)
    for line in sys.stdin:
        print(run(int(line)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
