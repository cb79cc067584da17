"""A policy set and an engine that are easy to look through, and a server process made of them.

A source file holds one line: ``allow TEXT``, ``deny TEXT``, ``slow SECONDS``, ``patch BYTES`` (the
size of the patch of ``/mutate``) or ``broken``. Answers tell all texts in order, so that a set that mixes two states of its files gives itself away.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.config import resolve
from policyd.errors import PolicyError, Problem
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.compile.rollouts import CompiledRollout
from policyd.policy.kinds.wanted_definitions import Fetch
from policyd.policy.model.suite import Webhook
from policyd.policy.source.files import Bundle
from policyd.server.policies.loaded_set import LoadedSet
from policyd.server.policies.policy_loader import PolicyLoader
from policyd.versions import NEWEST, KubernetesVersion


@dataclass(frozen=True)
class FakeCounters:
    """Counters that never count."""

    name: str

    def snapshot(self) -> dict[str, Any]:
        return {"decisions": {"admit": 3, "deny": 1}, "seconds": 0.5, "cost": 70}


@dataclass(frozen=True)
class FakePolicy:
    """One line of a source."""

    name: str
    source: str
    verb: str
    text: str
    kind: str = "Policy"
    rollout: CompiledRollout | None = None

    @property
    def problem(self) -> str:
        return "it is broken" if self.verb == "broken" else ""

    @property
    def state(self) -> str:
        return "quarantined" if self.problem else "active"

    @property
    def fail(self) -> bool:
        return not self.name.startswith("ignore")


@dataclass(frozen=True)
class FakeSet:
    """The lines of all sources."""

    generation: str
    policies: tuple[FakePolicy, ...]
    with_lookups: frozenset[str] = frozenset()
    exemption_ends: tuple[datetime | None, ...] = ()
    version: KubernetesVersion = NEWEST

    @property
    def problems(self) -> tuple[Problem, ...]:
        broken = [policy for policy in self.policies if policy.problem]
        return tuple(Problem(policy.problem, file=policy.source) for policy in broken)

    @property
    def files(self) -> dict[str, frozenset[str]]:
        return {policy.source: frozenset(("policies",)) for policy in self.policies}

    def counters(self) -> Sequence[FakeCounters]:
        return [FakeCounters(policy.name) for policy in self.policies]


def load(
    paths: Sequence[Path | Bundle],
    version: KubernetesVersion = NEWEST,
    failures: Sequence[Problem] = (),
) -> LoadedSet:
    """Every ``*.txt`` of the folders."""
    policies = []
    for folder in paths:
        for file in sorted(folder.glob("*.txt")) if isinstance(folder, Path) else ():
            verb, _, text = file.read_text().strip().partition(" ")
            if verb == "unreadable":
                raise PolicyError([Problem("not a policy", file=str(file), line=1)])
            if verb == "crash":
                raise KeyError("a defect of the compiler")
            policies.append(FakePolicy(file.stem, str(file), verb, text))
    digest = hashlib.sha256(repr([(p.name, p.verb, p.text) for p in policies]).encode())
    made = FakeSet(digest.hexdigest()[:16], tuple(policies), version=version)
    return LoadedSet(cast(CompiledPolicySet, made), tuple(failures))


class FakeLoader(PolicyLoader):
    """Loads the lines of files."""

    def load(
        self,
        given: Sequence[Path | Bundle],
        definitions: Fetch | None = None,
        version: Callable[[], KubernetesVersion] = lambda: NEWEST,
        *,
        suites: bool = True,
    ) -> LoadedSet:
        return load(given, version())


def judge(
    policy_set: FakeSet,
    request: AdmissionRequest,
    *,
    webhook: Webhook,
    deadline: int,
    recorder: Recorder,
    only: Any = None,
    noted: object = None,
) -> AdmissionResponse:
    """Deny if a policy says so; ``message`` has every text, the webhook and the time left."""
    asked = [policy for policy in policy_set.policies if only is None or only(policy)]
    for policy in asked:
        if policy.verb == "slow":
            time.sleep(float(policy.text))
        if policy.verb == "break":
            raise KeyError("a defect of the engine")
    left = (deadline - time.perf_counter_ns()) / 1e9
    said = json.dumps({"texts": [p.text for p in asked], "webhook": webhook, "left": left})
    denied = any(policy.verb == "deny" for policy in asked)
    size = sum(int(policy.text) for policy in asked if policy.verb == "patch")
    patch = b"[]".ljust(size) if webhook == "mutate" else None
    return AdmissionResponse(
        request.uid, not denied, 422, "Invalid", said, warnings=(said,), patch=patch
    )


def main() -> None:
    """Serve; arguments are ``name=value`` of settings."""
    from policyd.server.composition import Server

    flags = dict(argument.split("=", 1) for argument in sys.argv[1:])
    Server(resolve(flags, {}), FakeLoader(), judge).run()


if __name__ == "__main__":
    main()
