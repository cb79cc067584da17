"""Defaults of the other groups: networking, rbac, storage, scheduling, admission, resource and
more.
"""

from policyd.json_types import JSONObject

_API = "io.k8s.api."
_NETWORK = _API + "networking.v1."
_RBAC = "rbac.authorization.k8s.io"
_CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."


def network_policy(obj: JSONObject) -> None:
    """Ingress always, Egress if there are rules for it."""
    spec: JSONObject = obj["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def subject(obj: JSONObject) -> None:
    """Users and groups have the API group of RBAC."""
    if not obj.get("apiGroup") and obj.get("kind") in ("User", "Group"):
        obj["apiGroup"] = _RBAC


def device_request(obj: JSONObject) -> None:
    """One device, unless the request is for all."""
    obj["allocationMode"] = obj.get("allocationMode") or "ExactCount"
    if obj["allocationMode"] == "ExactCount":
        obj["count"] = obj.get("count") or 1


def class_request(obj: JSONObject) -> None:
    """The same, for a request that names a class."""
    if obj.get("deviceClassName"):
        device_request(obj)


def device(obj: JSONObject) -> None:
    """This version has in ``basic`` the fields that later versions have in the device itself."""
    obj.setdefault("basic", {})


def custom_resource_definition(obj: JSONObject) -> None:
    """Names derived from the kind, and the stored version."""
    names: JSONObject = obj["spec"]["names"]
    kind = names.get("kind") or ""
    names["singular"] = names.get("singular") or kind.lower()
    if kind:
        names["listKind"] = names.get("listKind") or f"{kind}List"
    if not obj["status"].get("storedVersions"):
        stored = [each for each in obj["spec"].get("versions") or () if each.get("storage")]
        if stored:
            obj["status"]["storedVersions"] = [stored[0].get("name") or ""]


def conversion(obj: JSONObject) -> None:
    """A webhook without any field is none."""
    webhook = obj.get("webhook")
    if webhook is None or webhook.get("clientConfig"):
        return
    if webhook.get("conversionReviewVersions") is None:
        del obj["webhook"]


def csi_scheduling(obj: JSONObject) -> None:
    obj.setdefault("preventPodSchedulingIfMissing", False)


def csi_node_status(obj: JSONObject) -> None:
    """A field that is present even if empty."""
    obj.setdefault("status", {})


def preempt_lower_priority(spec: JSONObject) -> None:
    """The policy of a group of Pods without one."""
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")


FUNCTIONS = {
    _NETWORK + "NetworkPolicy": (network_policy,),
    _API + "rbac.v1.Subject": (subject,),
    _CRD + "CustomResourceDefinition": (custom_resource_definition,),
    _CRD + "CustomResourceConversion": (conversion,),
    _API + "resource.v1beta1.Device": (device,),
    _API + "resource.v1beta1.DeviceRequest": (class_request,),
    **{
        f"{_API}resource.{version}.{name}": (device_request,)
        for version in ("v1", "v1beta1", "v1beta2")
        for name in ("ExactDeviceRequest", "DeviceSubRequest")
    },
}
