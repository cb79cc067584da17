"""``apiServerToken`` of the chart: the flags of both profiles, and values that cannot work."""

import pytest

from tests.deploy.rendering import CHART, chart, container, flags, helm, named

VALIDATING = "ValidatingWebhookConfiguration"
KEYS = ("apiServerToken.keysConfigMap=keys", "apiServerToken.issuer=https://issuer.example")


def test_reviews_need_a_token_if_that_is_required() -> None:
    off, on = chart(), chart("apiServerToken.required=true")
    added = flags(on).items() - flags(off).items()
    assert added == {("require-api-server-token", "")}
    static = chart("static.enabled=true", "apiServerToken.required=true", *KEYS, release="mine")
    given = flags(static)
    assert {name: given[name] for name in given if name.startswith("token")} == {
        "token-keys": "/token-keys/jwks.json",
        "token-issuer": "https://issuer.example",
    }
    hook = named(static, VALIDATING, "mine-policyd")
    service = hook["webhooks"][0]["clientConfig"]["service"]
    assert given["webhook-name"] == hook["metadata"]["name"]
    assert (given["webhook-service"], given["namespace"]) == (service["name"], service["namespace"])
    mounts = {each["name"]: each["mountPath"] for each in container(static)["volumeMounts"]}
    assert mounts["token-keys"] == "/token-keys"


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (("static.enabled=true",), "set apiServerToken.keysConfigMap or static.clusterLookups"),
        (KEYS[:1], "apiServerToken.keysConfigMap needs apiServerToken.issuer"),
    ],
)
def test_tokens_need_keys(values: tuple[str, ...], complaint: str) -> None:
    sets = [part for each in ("apiServerToken.required=true", *values) for part in ("--set", each)]
    done = helm("template", "policyd", str(CHART), *sets)
    assert done.returncode != 0
    assert complaint in done.stderr
