"""Reads: the objects of the cluster that a Policy sees beside the object of its request."""

from policyd.policy.model.base import LabelSelector, Model

# Values of ``namespace`` that name none: the request's, and all.
SAME, ANY = "same", "any"


# ``self`` is a name of Python.
_SELF = {"include_self": "self"}


class PolicyRead(Model):
    """Objects of one kind, which expressions see as ``reads.NAME``: a list, or with a ``key`` a map
    from each key to the list of its objects.
    """

    ALIASES = _SELF

    name: str = ""
    api_version: str = ""
    kind: str = ""
    namespace: str = SAME
    label_selector: LabelSelector | None = None
    key: str = ""
    include_self: bool = False
    max_staleness_seconds: float | None = None
