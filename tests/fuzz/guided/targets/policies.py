"""Policy documents: YAML becomes policies or located problems, and what compiles can be evaluated."""

from time import perf_counter_ns

from policyd.admission import engine
from policyd.admission.engine import Webhook
from policyd.admission.review import decode, encode
from policyd.errors import Problem
from policyd.policy.compile import compiler
from policyd.policy.lint.all import all_advice
from policyd.policy.lint.run import LintRun
from policyd.policy.source import loader
from policyd.policy.source.files import SourceFile
from policyd.versions import NEWEST
from tests import shared
from tests.builders.reviews import body
from tests.fuzz.guided import mutating
from tests.fuzz.guided.target import FuzzTarget
from tests.fuzz.guided.targets import reviews

NAME = "policy.yaml"
SECOND = 1_000_000_000
REVIEWS = (reviews.seeds()[0], body())
WEBHOOKS: tuple[Webhook, ...] = ("mutate", "validate")
# More would spend the time of the session on one document.
LONGEST = 6_000
WORDS = (
    "spec",
    "validations",
    "expression",
    "message",
    "messageExpression",
    "reason",
    "matchConditions",
    "variables",
    "failurePolicy",
    "Ignore",
    "Fail",
    "paramKind",
    "paramRef",
    "matchConstraints",
    "resourceRules",
    "pattern",
    "anyPattern",
    "mutations",
    "overlay",
    "jsonPatch",
    "applyConfiguration",
    "patchType",
    "exceptions",
    "podControllers",
    "auditAnnotations",
    "validationActions",
    "policyName",
    "namespaceSelector",
    "objectSelector",
    "matchExpressions",
    "In",
    "Exists",
    "*",
    "pods/*",
    "Warn",
    "Policy",
    "ValidatingAdmissionPolicy",
    "MutatingAdmissionPolicy",
    "policyd.dev/v1",
    "PolicyTest",
    "=(a)",
    "^(a)",
    "<(a)",
    "X(a)",
    "+(a)",
    "?*",
    "!a",
    "1..2",
    "&",
    "*anchor",
    "&anchor ",
    "<<",
    "|\n",
    "object.spec.containers.all(c, c.image == '')",
    "params.data.x",
    "variables.x",
    "Object{}",
    "[JSONPatch{op: 'add', path: '/a', value: 1}]",
    "authorizer",
    "has(object.a)",
    "dyn([1])",
)


def check(data: bytes) -> None:
    sources = loader.load_files([SourceFile(NAME, NAME, data)], [], version=NEWEST)
    policies = compiler.compile_sources(sources)
    for problem in policies.problems:
        located(problem, data)
    if sources.documents and not sources.problems:
        for advice in all_advice(LintRun(sources)):
            located(advice, data)
    again = loader.load_files([SourceFile(NAME, NAME, data)], [], version=NEWEST)
    assert compiler.compile_sources(again).problems == policies.problems, "not the same twice"
    for given in REVIEWS:
        for webhook in WEBHOOKS:
            request = decode(given)
            deadline = perf_counter_ns() + SECOND
            response = engine.review(policies, request, webhook=webhook, deadline=deadline)
            reviews.valid(encode(response), request)


def located(problem: Problem, data: bytes, name: str = NAME) -> None:
    """Every problem names the file, and a place in it."""
    assert problem.message and problem.file == name, problem
    # YAML has more line breaks than "\n".
    lines = data.decode("utf-8", "replace").splitlines()
    assert 0 <= problem.line <= len(lines) + 1, problem
    assert problem.column >= 0 and (problem.line or not problem.column), problem
    str(problem).encode()


def seeds() -> list[bytes]:
    found = sorted(shared.ROOT.glob("policies/**/policy.yaml"))[::3]
    found += sorted(shared.ROOT.glob("tools/bench/data/map/*-01.yaml"))
    texts = [each.read_bytes() for each in found]
    return [each for each in texts if len(each) <= LONGEST]


TARGET = FuzzTarget(check, seeds, mutating.yaml_mutation(WORDS, LONGEST))
