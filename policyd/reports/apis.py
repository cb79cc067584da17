"""The two APIs of reports, and which of them a cluster serves. Writes nothing."""

from dataclasses import dataclass
from http import HTTPStatus

from policyd.cluster.listing import ApiReader, ApiReadError
from policyd.errors import ConfigError
from policyd.policy.live.reach import Served


@dataclass(frozen=True, slots=True)
class ReportApi:
    """An API of reports: the resource of namespaced objects and that of the others."""

    namespaced: Served
    cluster: Served

    @property
    def api_version(self) -> str:
        """Return the apiVersion of its reports."""
        return self.namespaced.api_version

    def resource(self, namespace: str) -> Served:
        """Return the resource of the reports about objects in a namespace; "": cluster-scoped."""
        return self.namespaced if namespace else self.cluster


OPENREPORTS = ReportApi(
    Served("openreports.io", "v1alpha1", "reports", "Report", True),
    Served("openreports.io", "v1alpha1", "clusterreports", "ClusterReport", False),
)
WG_POLICY = ReportApi(
    Served("wgpolicyk8s.io", "v1alpha2", "policyreports", "PolicyReport", True),
    Served("wgpolicyk8s.io", "v1alpha2", "clusterpolicyreports", "ClusterPolicyReport", False),
)
# In the order of preference.
APIS = {each.api_version: each for each in (OPENREPORTS, WG_POLICY)}
_HINT = (
    "install the CustomResourceDefinitions of one of them: reports.openreports.io and "
    "clusterreports.openreports.io (github.com/openreports/reports-api), or "
    "policyreports.wgpolicyk8s.io and clusterpolicyreports.wgpolicyk8s.io (also part of Kyverno)"
)


def served_api(reader: ApiReader, wanted: str = "") -> ReportApi:
    """Return the API that the cluster serves, or ``wanted`` (an apiVersion) if it does.

    Raises ConfigError if it does not.
    """
    names = (wanted,) if wanted else tuple(APIS)
    for name in names:
        if _is_served(reader, APIS[name]):
            return APIS[name]
    missing = f"does not serve {wanted}" if wanted else f"serves neither {' nor '.join(names)}"
    raise ConfigError(f"the cluster {missing}\n  hint: {_HINT}")


def _is_served(reader: ApiReader, api: ReportApi) -> bool:
    try:
        found = reader.get(f"/apis/{api.api_version}")
    except ApiReadError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return False
        raise ConfigError(f"cannot discover {api.api_version}: {error}") from None
    names = {each.get("name") for each in found.get("resources") or ()}
    return {api.namespaced.resource, api.cluster.resource} <= names
