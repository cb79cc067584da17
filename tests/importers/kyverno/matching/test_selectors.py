"""The grammar of ``kinds``: the table is that of Kyverno's own test, TestParseKindSelector."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.importers.kyverno.matching.kinds import selected

TABLE = {
    "*": ("*", "*", "*", ""),
    "*.*": ("*", "*", "*", "*"),
    "*/*": ("*", "*", "*", "*"),
    "Pod": ("*", "*", "Pod", ""),
    "v1/Pod": ("*", "v1", "Pod", ""),
    "v10/Gadget": ("*", "v10", "Gadget", ""),
    "v1beta10/Pod": ("*", "v1beta10", "Pod", ""),
    "storage.k8s.io/v1beta10/CSIDriver": ("storage.k8s.io", "v1beta10", "CSIDriver", ""),
    "v1alpha12/Pod/status": ("*", "v1alpha12", "Pod", "status"),
    "batch/*/CronJob": ("batch", "*", "CronJob", ""),
    "tekton.dev/v1beta1/TaskRun/status": ("tekton.dev", "v1beta1", "TaskRun", "status"),
    "v1/Pod.status": ("*", "v1", "Pod", "status"),
    "v1/Pod/status": ("*", "v1", "Pod", "status"),
    "Pod.status": ("*", "*", "Pod", "status"),
    "Pod/status": ("*", "*", "Pod", "status"),
    "apps/v1/Deployment/scale": ("apps", "v1", "Deployment", "scale"),
    "*/ReplicationController/scale": ("*", "*", "ReplicationController", "scale"),
    "*/Deployment.scale": ("*", "*", "Deployment", "scale"),
    "*/Pod/exec": ("*", "*", "Pod", "exec"),
    "apps/v1/Deployment.scale": ("apps", "v1", "Deployment", "scale"),
    "v1.demo/v1/Demo": ("v1.demo", "v1", "Demo", ""),
    "*/scale": ("*", "*", "*", "scale"),
    "*/Scale": ("*", "*", "Scale", ""),
    "Pod/*": ("*", "*", "Pod", "*"),
    "*/*/*": ("*", "*", "*", "*"),
    "*/*/*/*": ("*", "*", "*", "*"),
    # Not a version, though it begins like one.
    "v1beta/Pod": ("*", "*", "v1beta", "Pod"),
    "v1beta1x/Pod": ("*", "*", "v1beta1x", "Pod"),
    "V1/Pod": ("*", "*", "V1", "Pod"),
    "v/Pod": ("*", "*", "v", "Pod"),
    # All dots of the last part separate.
    "Pod.status.x": ("Pod", "status", "x", ""),
}


@pytest.mark.parametrize(("text", "parts"), TABLE.items())
def test_a_selector(text: str, parts: tuple[str, ...]) -> None:
    assert selected(text) == parts


@pytest.mark.parametrize("text", ["", "v1/", "a/b/c/d/e", "*/*/*/*/*", "apps/v1/a.b.c"])
def test_what_names_no_kind_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="does not name a kind"):
        selected(text)


KINDS = st.from_regex(r"[A-Z][A-Za-z0-9]{0,5}\*?|\*", fullmatch=True)
VERSIONS = st.from_regex(r"v[0-9]{1,3}((alpha|beta)[0-9]{1,3})?", fullmatch=True) | st.just("*")
GROUPS = st.sampled_from(["*", "apps", "v1.demo", "example.com", "*.example.com"])
SUBRESOURCES = st.sampled_from(["", "status", "scale", "exec", "*"])


@given(GROUPS, VERSIONS, KINDS, SUBRESOURCES, st.sampled_from("/."))
def test_what_is_written_is_what_is_selected(
    group: str, version: str, kind: str, subresource: str, separator: str
) -> None:
    wanted = (group, version, kind, subresource)
    last = f"{kind}{separator}{subresource}" if subresource else kind
    # A first part that is no version cannot be a group of two or three parts.
    assert selected(f"{group}/{version}/{last}") == wanted or (group == "*" and not subresource)
    # `*/*` is every subresource, too.
    assert selected(f"{version}/{last}") == ("*", version, kind, subresource) or (
        (version, kind, subresource) == ("*", "*", "")
    )
    assert selected(last) == ("*", "*", kind, subresource)


@given(st.text(alphabet="*/.vV1aPo?", max_size=12))
def test_nothing_of_a_selector_is_lost(text: str) -> None:
    try:
        found = selected(text)
    except ValueError:
        return
    written = [each for each in text.replace(".", "/").split("/") if each != "*"]
    kept = [each for each in found if each != "*"]
    assert sorted(filter(None, written)) == sorted(
        each for part in kept for each in part.replace(".", "/").split("/") if each not in ("", "*")
    )
