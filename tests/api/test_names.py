"""What ``import policyd`` promises: these names, imported when they are used, and no others."""

import inspect
import subprocess
import sys

import pytest

import policyd

NAMES = [
    "AccessDecision",
    "Attributes",
    "Authorizer",
    "Failure",
    "KubernetesVersion",
    "Lookups",
    "PolicyError",
    "PolicySet",
    "PolicyViolation",
    "PolicydError",
    "Problem",
    "ReviewError",
    "ReviewResult",
    "StaticAuthorizer",
    "__version__",
    "asgi",
    "build_review",
]
METHODS = {
    "load",
    "from_text",
    "from_documents",
    "generation",
    "kubernetes_version",
    "names",
    "enforced",
    "review",
    "review_bytes",
    "evaluate",
    "reading",
    "areview",
    "aevaluate",
}


def test_these_names_are_public_and_no_others() -> None:
    assert sorted(policyd.__all__) == NAMES
    assert dir(policyd) == NAMES
    for name in NAMES:
        assert getattr(policyd, name) is not None
    with pytest.raises(AttributeError, match="module 'policyd' has no attribute 'Engine'"):
        _ = policyd.Engine  # type: ignore[attr-defined]


def test_a_policy_set_has_these_methods_and_no_others() -> None:
    assert {name for name in dir(policyd.PolicySet) if not name.startswith("_")} == METHODS


@pytest.mark.parametrize("name", [each for each in NAMES if each != "__version__"])
def test_every_public_name_is_documented(name: str) -> None:
    value = getattr(policyd, name)
    assert inspect.getdoc(value)
    public = [each for each in vars(value).items() if not each[0].startswith("_")]
    for member, found in public if inspect.isclass(value) else ():
        if callable(found) or isinstance(found, property | classmethod):
            assert inspect.getdoc(found), f"{name}.{member}"


IMPORTS = [
    ("policyd", ["policyd."]),
    ("policyd.PolicyError, policyd.ReviewError, policyd.Problem", ["policyd.admission", "yaml"]),
    ("policyd.PolicySet, policyd.build_review", ["policyd.http", "starlette", "policyd.cluster"]),
    ("policyd.asgi", ["starlette", "hypercorn", "uvloop", "prometheus_client", "lightkube"]),
]


@pytest.mark.parametrize(("used", "absent"), IMPORTS)
def test_nothing_is_imported_before_it_is_used(used: str, absent: list[str]) -> None:
    code = f"import policyd, sys; {used}; print([m for m in sys.modules if m.startswith({tuple(absent)})])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
