"""Policies of ``policies/`` that do what a template of the Gatekeeper library does in Rego.

The names are those of the templates. Policies are written apart, so messages and parameters differ.
"""

from collections.abc import Mapping

EQUIVALENTS: Mapping[str, str] = {
    "k8sallowedrepos": "best-practices/allowed-registries",
    "k8sallowedreposv2": "best-practices/allowed-registries",
    "k8sblocknodeport": "best-practices/disallow-node-port",
    "k8scontainerlimits": "best-practices/require-requests-limits",
    "k8scontainerrequests": "best-practices/require-requests-limits",
    "k8sdisallowanonymous": "best-practices/restrict-anonymous-bindings",
    "k8sdisallowedtags": "best-practices/disallow-latest-tag",
    "k8sexternalips": "best-practices/disallow-external-ips",
    "k8shorizontalpodautoscaler": "best-practices/autoscaler-bounds",
    "k8shttpsonly": "best-practices/require-ingress-tls",
    "k8spoddisruptionbudget": "best-practices/pod-disruption-budget",
    "k8spspallowprivilegeescalationcontainer": "pod-security/restricted/allow-privilege-escalation",
    "k8spspallowedusers": "pod-security/restricted/run-as-non-root",
    "k8spspapparmor": "pod-security/baseline/app-armor-profile",
    "k8spspautomountserviceaccounttokenpod": "best-practices/restrict-automount-token",
    "k8spspcapabilities": "pod-security/restricted/capabilities",
    "k8spspforbiddensysctls": "pod-security/baseline/sysctls",
    "k8spsphostfilesystem": "pod-security/baseline/host-path-volumes",
    "k8spsphostnamespace": "pod-security/baseline/host-namespaces",
    "k8spsphostnetworkingports": "pod-security/baseline/host-ports",
    "k8spsphostprobeslifecycle": "pod-security/baseline/host-probes",
    "k8spsphostprocess": "pod-security/baseline/windows-host-process",
    "k8spspprivilegedcontainer": "pod-security/baseline/privileged",
    "k8spspprocmount": "pod-security/baseline/proc-mount",
    "k8spspreadonlyrootfilesystem": "best-practices/read-only-root-filesystem",
    "k8spspseccomp": "pod-security/baseline/seccomp-profile",
    "k8spspseccompv2": "pod-security/baseline/seccomp-profile",
    "k8spspselinuxv2": "pod-security/baseline/se-linux-options",
    "k8spspvolumetypes": "pod-security/restricted/volume-types",
    "k8sreplicalimits": "best-practices/minimum-replicas",
    "k8srequiredlabels": "best-practices/required-labels",
    "k8srequiredprobes": "best-practices/require-probes",
    "k8sstorageclass": "best-practices/allowed-storage-classes",
    "k8suniqueingresshost": "best-practices/unique-ingress-hosts",
}


def refusal(template: str) -> str:
    """Return why a template without CEL is not imported, and what does the same, if anything."""
    text = "it is written in Rego only, which is not translated"
    same = EQUIVALENTS.get(template)
    return text if same is None else f"{text}; policies/{same} is about the same"
