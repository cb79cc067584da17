"""Defaults of volumes."""

from policyd.defaulting.rules.images import pull_policy
from policyd.json_types import JSONObject

_CORE = "io.k8s.api.core.v1."


def volume(obj: JSONObject) -> None:
    """A volume without a source is an emptyDir; the pull policy of an image follows its tag."""
    if set(obj) <= {"name"}:
        obj["emptyDir"] = {}
    image = obj.get("image")
    if image is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(image.get("reference") or "")


FUNCTIONS = {_CORE + "Volume": (volume,)}
