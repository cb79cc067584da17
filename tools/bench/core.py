"""The core without HTTP: bytes of an AdmissionReview in, bytes of the answer out."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from jsonpatch import make_patch

from policyd._core.patch.apply import apply, diff
from policyd.admission import engine
from policyd.admission.engine import Webhook
from policyd.admission.review import decode, encode
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source import loader
from tests import shared
from tools.bench.timing import Timing, compare

DATA = shared.ROOT / "tools/bench/data"
VAP = DATA / "vap"
MAP = DATA / "map"
RESTRICTED = shared.ROOT / "policies/pod-security/restricted"
REPEAT = 20
# Mutating policies of one label or one field of every container, in each form.
FORMS = ("label-json", "label-apply", "label-overlay", "container-apply", "container-overlay")
Row = tuple[str, str, str]


def bodies(name: str = "bodies") -> list[bytes]:
    """The 100 recorded reviews of the reference work."""
    return list(shared.lines(DATA / f"{name}.jsonl.gz"))


def policies(*paths: Path) -> CompiledPolicySet:
    """A compiled set of the given files."""
    return compiler.compile_strict(loader.load(list(paths)))


def judge(
    policy_set: CompiledPolicySet, lines: list[bytes], webhook: Webhook = "validate"
) -> Callable[[], None]:
    """Work that judges every body once, bytes to bytes."""

    def work() -> None:
        for body in lines:
            encode(engine.review(policy_set, decode(body), webhook=webhook))

    return work


def repeated(work: Callable[[], object], times: int = REPEAT) -> Callable[[], None]:
    """The work, several times over."""

    def again() -> None:
        for _ in range(times):
            work()

    return again


def parse_and_print(lines: list[bytes]) -> Callable[[], None]:
    """The yardstick: what JSON alone costs."""

    def work() -> None:
        for body in lines:
            orjson.dumps(orjson.loads(body))

    return work


def simple_policy(index: int, resource: str = "pods") -> str:
    """A policy of one cheap expression with its binding, as YAML (JSON)."""
    name = f"simple-{resource}-{index:05d}"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": [resource],
    }
    policy = {
        "apiVersion": "policyd.dev/v1",
        "kind": "Policy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.metadata.name != 'forbidden'"}],
        },
    }
    return json.dumps(policy)


def simple_policies(folder: Path, count: int, resource: str = "pods") -> Path:
    """A file of ``count`` simple policies."""
    file = folder / f"{resource}-{count}.yaml"
    file.write_text("\n---\n".join(simple_policy(i, resource) for i in range(count)))
    return file


def reference() -> list[Row]:
    """The 16 policies over both files of bodies, beside parse + print of the same reviews."""
    rows: list[Row] = []
    sixteen = policies(VAP)
    for name, target in (("bodies", "2 x"), ("bodies-full", "2 x")):
        lines = bodies(name)
        units = len(lines) * REPEAT
        ours, json_only = compare(
            [
                ("policyd", repeated(judge(sixteen, lines)), units),
                ("parse + print", repeated(parse_and_print(lines)), units),
            ]
        )
        rows.append((f"16 policies, {name}", _times(ours, json_only, "parse + print"), target))
    return rows


def restricted() -> list[Row]:
    """The Pod Security set ``restricted`` that policyd brings: 19 policies with ``podControllers``,
    names of containers in messages and pinned versions. Most of the Pods are denied.
    """
    rows: list[Row] = []
    whole = policies(RESTRICTED)
    for name in ("bodies", "bodies-full"):
        lines = bodies(name)
        units = len(lines) * REPEAT
        ours, json_only = compare(
            [
                ("policyd", repeated(judge(whole, lines)), units),
                ("parse + print", repeated(parse_and_print(lines)), units),
            ]
        )
        figure = _times(ours, json_only, "parse + print")
        rows.append((f"the {len(whole.policies)} of restricted, {name}", figure, "none"))
    return rows


def marginal() -> list[Row]:
    """What one more policy costs, and what ten thousand that do not match."""
    lines = bodies()
    units = len(lines) * REPEAT
    with TemporaryDirectory() as name:
        folder = Path(name)
        more = policies(VAP, simple_policies(folder, 16))
        crowd = policies(VAP, simple_policies(folder, 10_000, "configmaps"))
        few, plus, many = compare(
            [
                ("16", repeated(judge(policies(VAP), lines)), units),
                ("32", repeated(judge(more, lines)), units),
                ("10016", repeated(judge(crowd, lines)), units),
            ]
        )
    one_more = (plus.micros - few.micros) / 16
    return [
        ("one more matching simple policy", f"{one_more:.2f} µs", "2 µs"),
        ("10,000 loaded, 16 match", f"{many.ratio(few):.2f} x of 16 loaded", "1.1 x"),
    ]


def mutation() -> list[Row]:
    """Ten mutating policies of each kind of the reference work, and one more of each, in turns.

    Beside parse + print, because the machine is not the same in every minute.
    """
    rows: list[Row] = []
    lines = bodies()
    units = len(lines) * REPEAT
    works = [("parse + print", repeated(parse_and_print(lines)), units)]
    for kind in FORMS:
        for files in (sorted(MAP.glob(f"{kind}-*.yaml")), [MAP / f"{kind}-01.yaml"]):
            loaded = policies(*files)
            works.append((kind, repeated(judge(loaded, lines, "mutate")), units))
    json_only, *times = compare(works)
    one_more = {
        ten.name: (ten.micros - one.micros) / 9
        for ten, one in zip(times[::2], times[1::2], strict=True)
    }
    for ten in times[::2]:
        # A form may cost twice the fastest that does the same work: label-… or container-….
        work = ten.name.partition("-")[0]
        fastest = min(each for name, each in one_more.items() if name.startswith(work))
        more = one_more[ten.name]
        slower = f"{more:.1f} µs, {more / fastest:.2f} x the fastest form"
        rows.append(
            (f"10 mutations, {ten.name}", _times(ten, json_only, "parse + print"), "100 µs")
        )
        target = "5 µs and 2 x" if work == "label" else "10 µs and 2 x"
        rows.append((f"one more mutation, {ten.name}", slower, target))
    return rows


def patching() -> list[Row]:
    """The diff of a 4 KB Pod with two changes, beside the jsonpatch package.

    Mutations share what they do not change with the object that was sent; "decoded apart" shares
    nothing.
    """
    before: dict[str, Any] = json.loads(bodies()[0])["request"]["object"]
    apart = json.loads(json.dumps(before))
    apart["metadata"]["labels"]["team"] = "blue"
    apart["spec"]["containers"][0]["imagePullPolicy"] = "Always"
    shared_parts = apply(diff(before, apart), before)
    rows: list[Row] = []
    for name, after in (("as mutations leave it", shared_parts), ("decoded apart", apart)):
        ours, theirs = compare(
            [
                ("diff", repeated(lambda new=after: diff(before, new), 2000), 2000),  # type: ignore[misc]
                ("jsonpatch", repeated(lambda new=after: make_patch(before, new), 40), 40),  # type: ignore[misc]
            ]
        )
        text = f"{ours.micros:.1f} µs, {theirs.ratio(ours):.0f} x faster than jsonpatch"
        rows.append((f"diff of two changes, {name}", text, "10 µs and 20 x"))
    return rows


def _times(ours: Timing, other: Timing, name: str) -> str:
    return f"{ours.micros:.1f} µs = {ours.ratio(other):.2f} x {name} ({other.micros:.1f} µs)"
