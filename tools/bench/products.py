"""Three curves beside the CEL engines of Kyverno and Gatekeeper: a large object, many containers,
many policies. Bytes of a review in, bytes of the answer out; CPU of each process, in turns.

``tests/node/cluster/programs.sh kyverno-bench gatekeeper-bench`` builds their programs, of the
sources in ``peers``. All evaluate the 16 policies of the reference work.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Self

from policyd.admission.engine import review
from policyd.admission.review import decode
from policyd.json_types import JSONObject
from policyd.policy.source.loader import load
from tests.programs import folder
from tools.bench import core
from tools.bench.objects import CHANGES, body, containers

Row = core.Row
ROUNDS = 5
NAMES = ("Kyverno", "Gatekeeper")
CONTAINERS = (3, 10, 30)
COPIES = (4, 16)  # of the 16 policies


def program(name: str) -> Path:
    """Where the program of a product is, if it was built."""
    return folder() / f"{name.lower()}-bench"


class Product:
    """A process that evaluates reviews with the engine of a product."""

    def __init__(self, name: str, policies: Path) -> None:
        self.name = name
        self._child = subprocess.Popen(
            [str(program(name)), str(policies)],
            env={**os.environ, "GOMAXPROCS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._line() != "ready\n":
            raise SystemExit(f"{name} does not start")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.wait()

    def evaluate(self, reviews: Path) -> tuple[float, int]:
        """Microseconds for a review of a file, and how many were denied."""
        assert self._child.stdin is not None
        print(reviews, file=self._child.stdin, flush=True)
        micros, denied = self._line().split()
        return float(micros), int(denied)

    def _line(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline()


def products() -> Iterator[Row]:
    """A row for each point of the curves."""
    if not all(program(name).exists() for name in NAMES):
        built = "tests/node/cluster/programs.sh kyverno-bench gatekeeper-bench"
        yield "the products", f"not built: run `{built}`", ""
        return
    with Engines(1) as engines:
        recorded = core.bodies()
        yield "100 recorded reviews", engines.figure(recorded), ""
        for what, (change, times) in CHANGES.items():
            yield what, engines.figure([body(change)] * times), ""
        for count in CONTAINERS:
            point = [body(containers(count))] * max(1, 100 // count)
            yield f"{count} containers", engines.figure(point), ""
    for copies in COPIES:
        with Engines(copies) as engines:
            yield f"{16 * copies} policies", engines.figure(recorded[:25]), ""


class Engines:
    """policyd and the products with copies of the 16 policies."""

    def __init__(self, copies: int) -> None:
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(TemporaryDirectory()))
            given = list(validating(copies))
            own = [each for policy in given for each in (policy, binding(policy))]
            self._policyd = core.policies(self._write("policyd.yaml", own, "\n---\n"))
            theirs = (
                [kyverno(each) for each in given],
                [each for policy in given for each in gatekeeper(policy)],
            )
            self._products = [
                stack.enter_context(Product(name, self._write(f"{name}.json", documents)))
                for name, documents in zip(NAMES, theirs, strict=True)
            ]
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def figure(self, reviews: Sequence[bytes]) -> str:
        """What a review costs each, and how many times as much as policyd."""
        file = self._folder / "reviews"
        file.write_bytes(b"\n".join(reviews))
        work = core.judge(self._policyd, list(reviews))
        given = map(decode, reviews)
        answers = [review(self._policyd, each, webhook="validate") for each in given]
        expected = sum(not each.allowed for each in answers)
        rounds: list[list[float]] = []
        for _ in range(ROUNDS):
            before = process_time()
            work()
            rounds.append([(process_time() - before) / len(reviews) * 1e6])
            for each in self._products:
                micros, denied = each.evaluate(file)
                if denied != expected:
                    raise SystemExit(f"{each.name} denied {denied} reviews, policyd {expected}")
                rounds[-1].append(micros)
        ours, *others = (median(column) for column in zip(*rounds, strict=True))
        told = [f"policyd {ours:,.0f} µs"]
        for product, micros in zip(self._products, others, strict=True):
            told.append(f"{product.name} {micros:,.0f} = {micros / ours:.0f} x")
        return ", ".join(told)

    def _write(self, name: str, documents: Sequence[JSONObject], between: str = "\n") -> Path:
        file = self._folder / name
        file.write_text(between.join(map(json.dumps, documents)))
        return file


def validating(copies: int) -> Iterator[JSONObject]:
    """That many copies of the 16 ValidatingAdmissionPolicies, whose validations all differ."""
    for document in load([core.VAP]).documents:
        if document.kind != "ValidatingAdmissionPolicy":
            continue
        for number in range(copies):
            copied: JSONObject = json.loads(json.dumps(document.raw))
            copied["metadata"]["name"] += f"-{number}"
            for each in copied["spec"]["validations"]:
                each["expression"] = f"({each['expression']}) || object.kind == 'X{number}'"
            yield copied


def binding(policy: JSONObject) -> JSONObject:
    """Its binding, which denies."""
    name = policy["metadata"]["name"]
    return {
        "apiVersion": policy["apiVersion"],
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def kyverno(policy: JSONObject) -> JSONObject:
    """The same as a ValidatingPolicy of Kyverno, for Pods only."""
    spec = {**policy["spec"], "validationActions": ["Deny"]}
    return {
        "apiVersion": "policies.kyverno.io/v1beta1",
        "kind": "ValidatingPolicy",
        "metadata": policy["metadata"],
        "spec": {**spec, "autogen": {"podControllers": {"controllers": []}}},
    }


def gatekeeper(policy: JSONObject) -> tuple[JSONObject, JSONObject]:
    """The same as a ConstraintTemplate for Gatekeeper's CEL engine, and its constraint."""
    spec, name = policy["spec"], policy["metadata"]["name"]
    kind = name.replace("-", "")
    source = {key: spec[key] for key in ("variables", "validations") if key in spec}
    code = {"engine": "K8sNativeValidation", "source": source}
    template = {
        "apiVersion": "templates.gatekeeper.sh/v1",
        "kind": "ConstraintTemplate",
        "metadata": {"name": kind},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "code": [code]}],
        },
    }
    constraint = {
        "apiVersion": "constraints.gatekeeper.sh/v1beta1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}},
    }
    return template, constraint
