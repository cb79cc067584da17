"""The Pod Security policies in each version, the functions of Kubernetes they answer for, and pods."""

import shutil
from functools import cache
from pathlib import Path
from typing import Any

from policyd import PolicySet
from policyd.policy.suite.reviews import build_review
from tests.shared import ROOT

FOLDER = ROOT / "policies" / "pod-security"
CHECK = "policyd.dev/pod-security-check"

# Kubernetes' function of each version of each check: its name in the recorded rows, the check's id,
# and the first and the last minor release that it decides for (None: still).
FUNCTIONS: list[tuple[str, str, int, int | None]] = [
    ("allowPrivilegeEscalation_1_8", "allowPrivilegeEscalation", 8, 24),
    ("allowPrivilegeEscalation_1_25", "allowPrivilegeEscalation", 25, None),
    ("appArmorProfile_1_0", "appArmorProfile", 0, None),
    ("capabilitiesBaseline_1_0", "capabilities_baseline", 0, None),
    ("capabilitiesRestricted_1_22", "capabilities_restricted", 22, 24),
    ("capabilitiesRestricted_1_25", "capabilities_restricted", 25, None),
    ("hostNamespaces_1_0", "hostNamespaces", 0, None),
    ("hostPathVolumes_1_0", "hostPathVolumes", 0, None),
    ("hostPorts_1_0", "hostPorts", 0, None),
    ("hostProbesAndHostLifecycleV1Dot34", "hostProbesAndHostLifecycle", 34, None),
    ("privileged_1_0", "privileged", 0, None),
    ("procMount_1_0", "procMount", 0, 34),
    ("procMount1_35baseline", "procMount", 35, None),
    ("procMount_1_0", "procMount_restricted", 35, None),
    ("restrictedVolumes_1_0", "restrictedVolumes", 0, None),
    ("runAsNonRoot_1_0", "runAsNonRoot", 0, 34),
    ("runAsNonRoot1_35", "runAsNonRoot", 35, None),
    ("runAsUser_1_23", "runAsUser", 23, 34),
    ("runAsUser1_35", "runAsUser", 35, None),
    ("seLinuxOptions1_0", "seLinuxOptions", 0, 30),
    ("seLinuxOptions1_31", "seLinuxOptions", 31, None),
    ("seccompProfileBaseline_1_0", "seccompProfile_baseline", 0, 18),
    ("seccompProfileBaseline_1_19", "seccompProfile_baseline", 19, None),
    ("seccompProfileRestricted_1_19", "seccompProfile_restricted", 19, 24),
    ("seccompProfileRestricted_1_25", "seccompProfile_restricted", 25, None),
    ("sysctlsV1Dot0", "sysctls", 0, 26),
    ("sysctlsV1Dot27", "sysctls", 27, 28),
    ("sysctlsV1Dot29", "sysctls", 29, 31),
    ("sysctlsV1Dot32", "sysctls", 32, 36),
    ("sysctlsV1Dot37", "sysctls", 37, None),
    ("windowsHostProcess_1_0", "windowsHostProcess", 0, None),
]
CHECKS = {check for _, check, _, _ in FUNCTIONS}
# What is in the table without a row: nothing of these was recorded.
UNRECORDED = {"runAsNonRoot_1_0", "runAsUser_1_23", "seLinuxOptions1_0"}
NEWEST_MINOR = 37
LATEST = "latest"
Deciders = dict[str, PolicySet]


class Pinned:
    """The policies with their param ``version`` set: each check, and the levels."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cache  # noqa: B019 (one object, of the session's length)
    def files(self, version: str) -> Path:
        """A copy of the folder for a version, its links followed."""
        target = self._folder / version
        shutil.copytree(FOLDER, target)
        for file in target.rglob("policy.yaml"):
            text = file.read_text(encoding="utf-8")
            pinned = text.replace("version: latest", f"version: {version}")
            file.write_text(pinned, encoding="utf-8")
        return target

    @cache  # noqa: B019
    def check(self, check: str, version: str = LATEST) -> PolicySet:
        """The one policy of a check."""
        for file in self.files(version).rglob("policy.yaml"):
            if f"{CHECK}: {check}\n" in file.read_text(encoding="utf-8"):
                return PolicySet.load([file])
        raise LookupError(check)

    @cache  # noqa: B019
    def level(self, level: str, version: str = LATEST) -> PolicySet:
        """All policies of a level, by its one folder."""
        return PolicySet.load([self.files(version) / level])


def complete(pod: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, **pod}


def answer(policies: PolicySet, pod: dict[str, Any]) -> dict[str, Any]:
    response: dict[str, Any] = policies.review(build_review(complete(pod)))["response"]
    return response
