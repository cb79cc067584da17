"""Suites (PolicyTest): a file is refused with located problems, or each of its cases has a result."""

from policyd.cli.test.run import RunOptions, run
from policyd.errors import ConfigError, PolicyError
from policyd.policy.source import loader
from policyd.policy.source.files import SourceFile
from policyd.versions import NEWEST
from tests import shared
from tests.fuzz.guided import mutating
from tests.fuzz.guided.target import FuzzTarget
from tests.fuzz.guided.targets import policies

NAME = "suite.yaml"
LONGEST = 5_000
FOLDER = shared.ROOT / "policies/best-practices/required-labels"
WORDS = (
    "cases",
    "name",
    "object",
    "oldObject",
    "expect",
    "allowed",
    "admit",
    "deny",
    "message",
    "warnings",
    "patch",
    "policies",
    "policy.yaml",
    "../x",
    "request",
    "review",
    "operation",
    "UPDATE",
    "user",
    "groups",
    "namespace",
    "params",
    "namespaces",
    "defaults",
    "authorizer",
    "template",
    "vary",
    "table",
    "idempotent",
    "code",
    "reason",
    "base",
    "file",
    "operations",
    "subResource",
    "dryRun",
    "after",
    "causes",
    "violations",
    "kind",
    "apiVersion",
)


def check(data: bytes) -> None:
    beside = {NAME: data, "policy.yaml": (FOLDER / "policy.yaml").read_bytes()}
    files = [SourceFile(name, name, content, beside=beside) for name, content in beside.items()]
    sources = loader.load_files(files, [], version=NEWEST)
    for problem in sources.problems:
        policies.located(problem, data, NAME)
    suites = sources.of_kind("PolicyTest")
    try:
        for ran in run(sources, suites, RunOptions(explain=False)).suites:
            for each in ran.cases:
                assert each.result.error or each.result.answer is not None, each
    except (PolicyError, ConfigError) as error:
        assert str(error)


def seeds() -> list[bytes]:
    found = [FOLDER / NAME, *sorted(shared.ROOT.glob("policies/**/suite.yaml"))[::9]]
    return [data for each in found if len(data := each.read_bytes()) <= LONGEST]


TARGET = FuzzTarget(check, seeds, mutating.yaml_mutation(WORDS, LONGEST))
