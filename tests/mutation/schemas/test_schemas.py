"""The table of built-in kinds, the kinds of CRD documents, and what both say of lists."""

import pytest

from policyd.mutation.schemas.leaves import quantity
from policyd.mutation.schemas.schemas import Schemas, builtin_table
from policyd.versions import NEWEST
from tests.mutation.builders import POD, SCHEMAS, WIDGET

KEYS = [
    (POD, ("spec", "containers"), ("name",)),
    (POD, ("spec", "containers", 0, "ports"), ("containerPort", "protocol")),
    (POD, ("spec", "containers", 3, "args"), None),
    (POD, ("spec", "nowhere", "else"), None),
    (POD, ("metadata",), None),
    (WIDGET, ("spec", "endpoints"), ("port", "protocol")),
    (WIDGET, ("spec", "template", "spec", "containers"), None),
]


@pytest.mark.parametrize(("kind", "path", "keys"), KEYS)
def test_keys_of_lists(
    kind: tuple[str, str, str], path: tuple[str | int, ...], keys: tuple[str, ...] | None
) -> None:
    list_keys = SCHEMAS.list_keys(kind)
    assert list_keys is not None
    assert list_keys(path) == keys


def test_every_kind_of_the_table_can_be_built() -> None:
    table = builtin_table()
    schemas = Schemas.builtin()
    for key in table.kinds:
        group, version, kind = key.split("/")
        assert schemas.knows((group, version, kind)), key
    print(f"{len(table.kinds)} kinds of Kubernetes {table.version}")
    assert len(table.kinds) > 80


def test_kinds_that_only_subresources_have_do_not_merge() -> None:
    assert SCHEMAS.lookup("autoscaling", "v1", "Scale") is not None
    assert not SCHEMAS.knows(("autoscaling", "v1", "Scale"))


def test_unserved_versions_are_unknown() -> None:
    assert SCHEMAS.knows(WIDGET)
    assert not SCHEMAS.knows(("example.com", "v0", "Widget"))
    assert SCHEMAS.list_keys(("example.com", "v0", "Widget")) is None


def test_with_crds_leaves_the_former_schemas_alone() -> None:
    assert not Schemas.builtin().knows(WIDGET)


# (text, what kubectl get shows of it): ParseQuantity and String of apimachinery.
QUANTITIES = [
    ("1", "1"), ("1.5", "1500m"), ("0.5", "500m"), ("1.500", "1.500"), ("1024Mi", "1Gi"),
    ("1536Mi", "1536Mi"), ("1.5Gi", "1536Mi"), ("0.5Mi", "512Ki"), ("100m", "100m"), ("1000m", "1"),
    ("1e3", "1e3"), ("12e6", "12e6"), ("1000000", "1M"), ("0.0000000001", "1n"), ("-1.5", "-1500m"),
    ("0", "0"), ("0.0", "0"), ("1000Ki", "1000Ki"), (2, "2"), (0.25, "250m"), (None, "0"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "printed"), QUANTITIES)
def test_quantities_become_canonical(given: object, printed: str) -> None:
    assert quantity(given) == printed


@pytest.mark.parametrize("given", ["", "x", "1x", "1.2.3", "1KiB", True, [], "1Mii", "--1"])
def test_no_quantities(given: object) -> None:
    with pytest.raises(ValueError, match="quantit"):
        quantity(given)


@pytest.mark.parametrize(
    "gvk",
    [
        ("certificates.k8s.io", "v1beta1", "ClusterTrustBundle"),
        ("storagemigration.k8s.io", "v1beta1", "StorageVersionMigration"),
        ("resource.k8s.io", "v1beta2", "ResourceSlice"),
        ("admissionregistration.k8s.io", "v1alpha1", "MutatingAdmissionPolicy"),
    ],
)
def test_versions_that_are_not_served_by_default_are_known(gvk: tuple[str, str, str]) -> None:
    assert Schemas.builtin().knows(gvk)


def test_the_version_of_the_schemas_is_recorded() -> None:
    assert builtin_table().version.startswith(f"v{NEWEST}.")
