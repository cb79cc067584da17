"""Parsing of Kubernetes versions as people and API servers write them."""

import pytest

from policyd import versions
from policyd.cel.syntax.macros import INTRODUCED
from policyd.config import resolve
from policyd.errors import ConfigError
from policyd.versions import (
    ESCAPED_IDENTIFIERS,
    LATEST,
    NEWEST,
    OLDEST,
    RECORDED,
    SUPPORTED,
    TWO_VARIABLE_MACROS,
    Feature,
    KubernetesVersion,
    nearest,
    supported,
)
from tools.version_table import FEATURES


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.37", "1.37"),
        ("v1.37.1", "1.37"),
        ("v1.36.3-gke.100", "1.36"),
        ("v1.33.0+k3s1", "1.33"),
        (" 1.30 ", "1.30"),
        ("1.9", "1.9"),
    ],
)
def test_versions_are_read(text: str, version: str) -> None:
    assert str(KubernetesVersion.parse(text)) == version


@pytest.mark.parametrize("text", ["", "1", "1.x", "latest", "1.37x", "-1.2", "1.37\n1.36"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"a Kubernetes version, 1\.30 to 1\.38"):
        KubernetesVersion.parse(text)


def test_only_supported_versions_may_be_named() -> None:
    assert supported("v1.30.2") == OLDEST
    for text in ("1.29", "1.39", "2.0"):
        with pytest.raises(ValueError, match=r"1\.30 to 1\.38"):
            supported(text)


def test_versions_are_ordered_by_number() -> None:
    assert KubernetesVersion(1, 9) < OLDEST < NEWEST < KubernetesVersion(1, 100)
    assert set(RECORDED) <= set(SUPPORTED)
    assert NEWEST in RECORDED


def test_a_cluster_of_another_version_is_treated_as_the_next_one_with_a_warning() -> None:
    assert nearest(KubernetesVersion(1, 34)) == (KubernetesVersion(1, 34), "")
    version, warning = nearest(KubernetesVersion(1, 40))
    assert version == LATEST
    assert "Kubernetes 1.40, which is newer than supported (1.30 to 1.38)" in warning
    version, warning = nearest(KubernetesVersion(1, 28))
    assert version == OLDEST
    assert "Kubernetes 1.28, which is older than supported (1.30 to 1.38)" in warning


def test_features_say_since_when_and_where() -> None:
    assert NEWEST.has(ESCAPED_IDENTIFIERS)
    assert not KubernetesVersion(1, 36).has(ESCAPED_IDENTIFIERS)
    assert not KubernetesVersion(1, 31).has(TWO_VARIABLE_MACROS)
    features = {each for each in vars(versions).values() if isinstance(each, Feature)}
    assert features == {*FEATURES, *INTRODUCED.values()}
    for each in features:
        assert each.since in SUPPORTED
        assert each.about
        assert each.source


def test_the_setting_of_servers() -> None:
    assert resolve({}, {}).kubernetes_version is None
    flags = {"kubernetes_version": "1.36"}
    assert resolve(flags, {}).kubernetes_version == KubernetesVersion(1, 36)
    variables = {"POLICYD_KUBERNETES_VERSION": "v1.35.1"}
    assert resolve({}, variables).kubernetes_version == KubernetesVersion(1, 35)
    with pytest.raises(ConfigError, match=r"--kubernetes-version: expected a Kubernetes version"):
        resolve({"kubernetes_version": "1.20"}, {})
    # YAML reads 1.30 as a number.
    written = resolve({}, {}, {"kubernetesVersion": "1.30"}, "policyd.yaml")
    assert written.kubernetes_version == OLDEST
