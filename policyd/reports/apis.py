"""The two APIs of reports, and discovery of the one that a cluster serves. Writes nothing."""

from dataclasses import dataclass
from http import HTTPStatus

from policyd.cluster.listing import ApiReader, ApiReadError
from policyd.errors import ConfigError
from policyd.policy.kinds.served_resource import Served


@dataclass(frozen=True, slots=True)
class ReportApi:
    """An API of reports: the resources for namespaced and for cluster-scoped objects."""

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
# The CustomResourceDefinitions of each, from the releases that policyd is tested with.
_KYVERNO = "https://raw.githubusercontent.com/kyverno/kyverno/v1.19.1/config/crds/policyreport"
INSTALL = {
    OPENREPORTS.api_version: (
        "https://github.com/openreports/reports-api/releases/download/v0.2.1/install.yaml",
    ),
    WG_POLICY.api_version: (
        f"{_KYVERNO}/wgpolicyk8s.io_policyreports.yaml",
        f"{_KYVERNO}/wgpolicyk8s.io_clusterpolicyreports.yaml",
    ),
}


def served_api(reader: ApiReader, wanted: str = "") -> ReportApi:
    """Return the API that the cluster serves, or ``wanted`` (an apiVersion) if it does.

    Raises ConfigError if it does not.
    """
    names = (wanted,) if wanted else tuple(APIS)
    missing: list[str] = []
    for name in names:
        api = APIS[name]
        served = _served(reader, api)
        lacking = [
            each.resource for each in (api.namespaced, api.cluster) if each.resource not in served
        ]
        if not lacking:
            return api
        missing += [f"{name} without {lacking[0]}"] if served else []
    found = f"serves neither {' nor '.join(names)}"
    if missing:
        found = f"serves {' and '.join(missing)}"
    elif wanted:
        found = f"does not serve {wanted}"
    install = "\n    ".join(f"kubectl apply -f {each}" for each in INSTALL[names[0]])
    raise ConfigError(
        f"the cluster {found}\n  hint: install the CustomResourceDefinitions of reports:\n"
        f"    {install}\n  policyd apply --cluster checks the same objects without them"
    )


def _served(reader: ApiReader, api: ReportApi) -> frozenset[str]:
    """Return the resources of an API that the cluster serves."""
    try:
        found = reader.get(f"/apis/{api.api_version}")
    except ApiReadError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return frozenset()
        raise ConfigError(f"cannot discover {api.api_version}: {error}") from None
    return frozenset(str(each.get("name")) for each in found.get("resources") or ())
