"""Policies that read image names read them as Kubernetes does: which registry, which repository."""

from hypothesis import given
from hypothesis import strategies as st

from policyd import PolicySet
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import container, pod
from tests.policies.mutating import mutated, together
from tests.shared import ROOT

MIRRORS = {
    "docker.io": "mirror.example.com/docker.io",
    "quay.io": "mirror.example.com/quay.io",
    "registry.k8s.io": "mirror.example.com/k8s",
}
HOSTS = st.sampled_from(
    [
        "docker.io",
        "index.docker.io",
        "quay.io",
        "registry.k8s.io",
        "localhost",
        "a.b",
        "a:5000",
        "docker.io:443",
        "Host",
        "quay.io.example.com",
        "mirror.example.com",
    ]
)
FOLDERS = st.sampled_from(["library", "team", "docker", "localhosts", "a-b", "0"])
NAMES = st.lists(st.one_of(HOSTS, FOLDERS), min_size=1, max_size=4).map("/".join)
SUFFIXES = st.sampled_from(["", ":1", ":latest", "@sha256:0011", ":1.2@sha256:0011"])


def parts(image: str) -> tuple[str, str]:
    """The registry and the repository of a name, by the rules of the reference grammar."""
    first, slash, rest = image.partition("/")
    is_host = slash and (set(".:") & set(first) or first == "localhost" or first != first.lower())
    host, repository = (first, rest) if is_host else ("docker.io", image)
    if host == "index.docker.io":
        host = "docker.io"
    if host == "docker.io" and "/" not in repository:
        repository = f"library/{repository}"
    return host, repository


MIRROR = together([ROOT / "policies/mutation/registry-mirror"])
ALLOWED = PolicySet.load([ROOT / "policies/best-practices/allowed-registries"])


@given(NAMES, SUFFIXES)
def test_a_mirror_stands_in_the_place_of_the_registry(name: str, suffix: str) -> None:
    image = name + suffix
    host, repository = parts(image)
    expected = f"{MIRRORS[host]}/{repository}" if host in MIRRORS else image
    once = mutated(MIRROR, build_review(pod(container(image=image))))
    assert once.object["spec"]["containers"][0]["image"] == expected
    assert once.told == []


@given(NAMES, SUFFIXES)
def test_denials_name_the_registry(name: str, suffix: str) -> None:
    host, repository = parts(name + suffix)
    response = ALLOWED.review(build_review(pod(container(image=name + suffix))))["response"]
    assert response["allowed"] is (host == "registry.k8s.io")
    if not response["allowed"]:
        assert response["status"]["message"].endswith(f": {host}/{repository}")
