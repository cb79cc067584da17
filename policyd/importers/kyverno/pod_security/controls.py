"""The controls of the Pod Security Standards by Kyverno's names, and the checks of each.

From kyverno pkg/pss/utils/mapping.go. Only data.
"""

CHECKS = {
    "Capabilities": ("capabilities_baseline", "capabilities_restricted"),
    "Seccomp": ("seccompProfile_baseline", "seccompProfile_restricted"),
    "Privileged Containers": ("privileged",),
    "Host Ports": ("hostPorts",),
    "/proc Mount Type": ("procMount", "procMount_restricted"),
    "Host Probes / Lifecycle Hooks": ("hostProbesAndHostLifecycle",),
    "HostProcess": ("windowsHostProcess",),
    "SELinux": ("seLinuxOptions",),
    "Host Namespaces": ("hostNamespaces",),
    "HostPath Volumes": ("hostPathVolumes",),
    "Sysctls": ("sysctls",),
    "AppArmor": ("appArmorProfile",),
    "Privilege Escalation": ("allowPrivilegeEscalation",),
    "Running as Non-root": ("runAsNonRoot",),
    "Running as Non-root user": ("runAsUser",),
    "Volume Types": ("restrictedVolumes",),
}
# Controls about the Pod only, and about its containers only; all others are about both.
OF_PODS = frozenset({"Host Namespaces", "HostPath Volumes", "Sysctls", "Volume Types"})
OF_CONTAINERS = frozenset(
    {
        "Capabilities",
        "Privileged Containers",
        "Host Ports",
        "/proc Mount Type",
        "Privilege Escalation",
        "Host Probes / Lifecycle Hooks",
    }
)
# Checks of the level restricted that are stricter than one of baseline: only they count.
REPLACED = {
    "capabilities_restricted": "capabilities_baseline",
    "procMount_restricted": "procMount",
    "seccompProfile_restricted": "seccompProfile_baseline",
    "restrictedVolumes": "hostPathVolumes",
}
