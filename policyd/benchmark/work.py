"""``python -m policyd.benchmark.work FILE WEBHOOK PASSES``: what a counter of instructions watches.

FILE is a pickled Job. All calls are made a few times, then those of the webhook PASSES times more:
two runs differ only in these.
"""

import gc
import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

from policyd.admission import engine
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import decode, encode
from policyd.benchmark.requests import WebhookRequest
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.source.loader import load
from policyd.versions import supported

_WARM = 2  # passes


@dataclass(frozen=True, slots=True)
class Job:
    """What is loaded, and the calls that are made."""

    policies: tuple[str, ...]
    version: str
    namespaces: tuple[JSONObject, ...]
    authorizer: Authorizer | None
    calls: tuple[WebhookRequest, ...]


def main(file: str, webhook: str, passes: int) -> None:
    """Load the policies and make the calls."""
    job: Job = pickle.loads(Path(file).read_bytes())  # noqa: S301 - written by our parent
    policies = compiler.compile_strict(load(job.policies, version=supported(job.version)))
    for each in job.namespaces:
        policies = policies.with_namespace(each)
    gc.collect()
    gc.freeze()
    again = [call for call in job.calls if call.webhook == webhook]
    for call in (*job.calls * _WARM, *again * passes):
        request = decode(call.body)
        encode(engine.review(policies, request, webhook=call.webhook, authorizer=job.authorizer))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
