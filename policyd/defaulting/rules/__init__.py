"""The defaults of Kubernetes' types, by the names of their definitions in OpenAPI.

``VALUES`` (``fixed.json``) has fields with a fixed default. A function in ``FUNCTIONS``, or in
``VERSIONED`` if not all versions have it, takes a decoded value and sets defaults that depend on
other fields. All follow ``pkg/apis/GROUP/VERSION/defaults.go``.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from policyd.defaulting.rules import core, groups, pod_resources, pods, workloads
from policyd.json_types import JSON, JSONObject
from policyd.versions import OLDEST, KubernetesVersion

DefaultRule = Callable[[JSONObject], None]
_PARTS = (core, pods, workloads, groups)
VALUES: Mapping[str, Mapping[str, JSON]] = json.loads(
    Path(__file__).with_name("fixed.json").read_bytes()
)
FUNCTIONS: Mapping[str, tuple[DefaultRule, ...]] = {
    name: functions for part in _PARTS for name, functions in part.FUNCTIONS.items()
}


class VersionedRule(NamedTuple):
    """A rule that Kubernetes has from version ``since`` on, or before version ``before``."""

    rule: DefaultRule
    since: KubernetesVersion = OLDEST
    before: KubernetesVersion | None = None

    def holds(self, version: KubernetesVersion) -> bool:
        """Whether this version has the rule."""
        return self.since <= version and (self.before is None or version < self.before)


_V1_37, _V1_38 = KubernetesVersion(1, 37), KubernetesVersion(1, 38)
_SCHEDULING = "io.k8s.api.scheduling."
VERSIONED: Mapping[str, VersionedRule] = {
    "io.k8s.api.core.v1.Pod": VersionedRule(pod_resources.pod_resources, before=_V1_37),
    "io.k8s.api.apps.v1.StatefulSetUpdateStrategy": VersionedRule(
        workloads.unavailable_replica, since=_V1_37
    ),
    "io.k8s.api.storage.v1.CSIDriverSpec": VersionedRule(groups.csi_scheduling, since=_V1_37),
    "io.k8s.api.storage.v1.CSINode": VersionedRule(groups.csi_node_status, since=_V1_37),
    **dict.fromkeys(
        (
            f"{_SCHEDULING}v1alpha3.CompositePodGroupSpec",
            f"{_SCHEDULING}v1alpha3.PodGroupSpec",
            f"{_SCHEDULING}v1beta1.PodGroupSpec",
        ),
        VersionedRule(groups.preempt_lower_priority, before=_V1_38),
    ),
}
