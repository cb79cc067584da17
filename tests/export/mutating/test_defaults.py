"""The table of defaults has every default that policyd knows."""

from policyd.defaulting.rules import FUNCTIONS
from policyd.export.mutating.defaults import FIELDS

# Objects and parts of them whose rules are in DERIVED, because they read other fields.
DERIVED = frozenset(
    (
        "Pod",
        "PodStatus",
        "Service",
        "Secret",
        "Namespace",
        "PersistentVolume",
        "NodeSpec",
        "ReplicationController",
        "NetworkPolicy",
        "CustomResourceDefinition",
        "DaemonSet",
        "Job",
        "CustomResourceConversion",
        "StatefulSetSpec",
        "HorizontalPodAutoscaler",
    )
)


def test_types_with_rules_are_in_the_table() -> None:
    named = {definition.rpartition(".")[2] for definition in FUNCTIONS}
    assert named - FIELDS.keys() <= DERIVED
