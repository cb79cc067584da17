"""Expressions with Kyverno's own functions mean the same without them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.cel.env import Environment
from policyd.importers.kyverno.cel.rewriting import Rewriting
from policyd.importers.model import Refused
from policyd.json_types import JSON

_ENVIRONMENT = Environment.kubernetes()
PODS = Rewriting(pods=True, allowed={"allowedValues": "['a']"})
USER = "system:serviceaccount:shop:builder"
OBJECT = {
    "spec": {
        "containers": [{"name": "web", "image": "quay.io/web:1"}],
        "volumes": [{"name": "models", "image": {"reference": "models:2"}}, {"name": "tmp"}],
    }
}


def value(expression: str) -> JSON:
    text = PODS.rewritten(expression, "")
    request = {"userInfo": {"username": USER}}
    return _ENVIRONMENT.compile(text).evaluate({"object": OBJECT, "request": request})


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("images.containers", ["quay.io/web:1"]),
        ("images.initContainers", []),
        ("images.imageVolumes.size()", 1),
        ("images.containers.map(image, image)", ["quay.io/web:1"]),
        ("'a' in exceptions.allowedValues", True),
        ("parseServiceAccount(request.userInfo.username).Namespace", "shop"),
        ("parseServiceAccount(request.userInfo.username).Name", "builder"),
        ("parseServiceAccount('system:admin').Name", ""),
        ("object.spec.containers.orValue([]).size()", 1),
        ("object.spec.?containers.orValue([]).size()", 1),
        ("object.spec.?missing.orValue([]).size()", 0),
        ("object.spec.containers.map(c, image(c.image).registry())", ["quay.io"]),
    ],
)
def test_functions_of_kyverno(expression: str, expected: JSON) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("written", "rewritten"),
    [
        ("image(c).registry() == 'quay.io'", "c.startsWith('quay.io/')"),
        ('image(c).registry() != "localhost"', '!c.startsWith("localhost/")'),
        ("image('a' + c).registry() == 'a:5000'", "('a' + c).startsWith('a:5000/')"),
    ],
)
def test_a_registry_that_is_compared(written: str, rewritten: str) -> None:
    assert Rewriting().rewritten(written, "") == rewritten


@pytest.mark.parametrize(
    "image", ["quay.io/a", "quay.io:80/a", "docker.io/a", "a/b", "quay.io", "localhost/a", "corp/a"]
)
@pytest.mark.parametrize(
    "compared",
    ["== 'quay.io'", "!= 'quay.io'", "== 'localhost'", "== 'index.docker.io'", "== 'corp'"],
)
def test_a_compared_registry_is_that_of_the_image(image: str, compared: str) -> None:
    whole = value(f"(image('{image}').registry()) {compared}")
    assert value(f"image('{image}').registry() {compared}") == whole
    assert value(f"'x' + image('{image}').registry() {compared}") == (compared[:2] == "!=")


# Values of github.com/google/go-containerregistry pkg/name.
@pytest.mark.parametrize(
    ("image", "registry", "tag", "digest", "identifier"),
    [
        ("nginx", "index.docker.io", "latest", "", "latest"),
        ("nginx:1.2", "index.docker.io", "1.2", "", "1.2"),
        ("library/nginx", "index.docker.io", "latest", "", "latest"),
        ("docker.io/nginx", "index.docker.io", "latest", "", "latest"),
        ("localhost/nginx:1", "localhost", "1", "", "1"),
        ("registry:5000/a/b", "registry:5000", "latest", "", "latest"),
        ("quay.io/a/b:v1", "quay.io", "v1", "", "v1"),
        ("quay.io/a@sha256:0f", "quay.io", "", "sha256:0f", "sha256:0f"),
    ],
)
def test_parts_of_images(image: str, registry: str, tag: str, digest: str, identifier: str) -> None:
    parts = {
        "registry": registry,
        "tag": tag,
        "digest": digest,
        "identifier": identifier,
        "containsDigest": bool(digest),
    }
    found = {name: value(f"image('{image}').{name}()") for name in parts}
    assert found == parts


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (
            "resource.Post('v1', 'pods', {}) == null",
            "resource.Post() of Kyverno does more",
        ),
        ("globalReference.a == null", "the variable globalReference of Kyverno does"),
        ("http.Get('https://x') == null", "http.Get() of Kyverno calls another service"),
        ("image.GetMetadata('x').config == null", "image.GetMetadata() of Kyverno reads an image"),
        ("time.now() > timestamp('2020-01-01T00:00:00Z')", "time.now() of Kyverno depends on"),
        ("json.unmarshal('{}') == null", "json.unmarshal() of Kyverno is no function"),
        ("sha256('a') == 'b'", "sha256() of Kyverno is no function"),
        ("random() == 'a'", "random() of Kyverno depends on chance"),
        ("image('a').repository() == 'b'", "image() of Kyverno is no function"),
        ("images.other == []", "the variable images of Kyverno holds"),
        ("exceptions == null", "the variable exceptions of Kyverno holds"),
    ],
)
def test_what_cel_cannot_say_is_refused_by_name(expression: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        PODS.rewritten(expression, "spec.validations[0].expression")
    assert refused.value.finding.message.startswith(reason)
    assert refused.value.finding.path == "spec.validations[0].expression"


def test_images_are_those_of_pods_only() -> None:
    with pytest.raises(Refused):
        Rewriting().rewritten("images.containers == []", "")


@pytest.mark.parametrize("name", ["image", "images", "resource", "time", "json", "http"])
def test_variables_of_macros_are_no_libraries(name: str) -> None:
    expression = f"object.spec.containers.all({name}, {name}.image.startsWith('quay.io/'))"
    assert PODS.rewritten(expression, "") == expression


@given(st.text("variables.ab()[]{}'\"+&|!=,: \n", max_size=30))
def test_any_text_is_rewritten_or_refused(text: str) -> None:
    try:
        PODS.with_variable("a", "1").without_variables(text, "")
    except Refused as refused:
        assert refused.finding.message
