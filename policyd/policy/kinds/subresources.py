"""The kinds of objects that only requests to a subresource have, with the resource of each."""

from typing import NamedTuple


class Subresource(NamedTuple):
    """The target of a request, and its operation. ``resource`` is empty if many have the
    subresource.
    """

    resource: str
    subresource: str
    operation: str = "CONNECT"


# (apiVersion, kind) -> the subresource; the resources are in the core group, v1.
SUBRESOURCES: dict[tuple[str, str], Subresource] = {
    ("v1", "PodExecOptions"): Subresource("pods", "exec"),
    ("v1", "PodAttachOptions"): Subresource("pods", "attach"),
    ("v1", "PodPortForwardOptions"): Subresource("pods", "portforward"),
    ("v1", "PodProxyOptions"): Subresource("pods", "proxy"),
    ("v1", "ServiceProxyOptions"): Subresource("services", "proxy"),
    ("v1", "NodeProxyOptions"): Subresource("nodes", "proxy"),
    ("v1", "Binding"): Subresource("pods", "binding", "CREATE"),
    ("policy/v1", "Eviction"): Subresource("pods", "eviction", "CREATE"),
    ("authentication.k8s.io/v1", "TokenRequest"): Subresource("serviceaccounts", "token", "CREATE"),
    ("autoscaling/v1", "Scale"): Subresource("", "scale", "UPDATE"),
}
