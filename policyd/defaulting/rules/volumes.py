"""Defaults of volumes."""

from policyd.defaulting.rules.images import pull_policy
from policyd.json_types import JSONObject

_CORE = "io.k8s.api.core.v1."
_MODE = 0o644
_RBD = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
_SCALE_IO = {"storageMode": "ThinProvisioned", "fsType": "xfs"}


def volume(obj: JSONObject) -> None:
    """A volume without a source is an emptyDir; the pull policy of an image follows its tag."""
    if set(obj) <= {"name"}:
        obj["emptyDir"] = {}
    image = obj.get("image")
    if image is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(image.get("reference") or "")


VALUES = {
    _CORE + "SecretVolumeSource": {"defaultMode": _MODE},
    _CORE + "ConfigMapVolumeSource": {"defaultMode": _MODE},
    _CORE + "DownwardAPIVolumeSource": {"defaultMode": _MODE},
    _CORE + "ProjectedVolumeSource": {"defaultMode": _MODE},
    _CORE + "ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    _CORE + "HostPathVolumeSource": {"type": ""},
    _CORE + "RBDVolumeSource": _RBD,
    _CORE + "RBDPersistentVolumeSource": _RBD,
    _CORE + "ISCSIVolumeSource": {"iscsiInterface": "default"},
    _CORE + "ISCSIPersistentVolumeSource": {"iscsiInterface": "default"},
    _CORE + "AzureDiskVolumeSource": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
    _CORE + "ScaleIOVolumeSource": _SCALE_IO,
    _CORE + "ScaleIOPersistentVolumeSource": _SCALE_IO,
}
FUNCTIONS = {_CORE + "Volume": (volume,)}
