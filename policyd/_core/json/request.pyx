"""The request of an AdmissionReview, validated.

It is compiled because it runs for every request. An invalid request raises ReviewError.
"""

cimport cython

from policyd.errors import ReviewError

cdef enum:
    MAX_UID_CHARS = 1024  # in the response and in each log line; API servers send 36

cdef dict TYPES = {
    dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "nothing"
}


@cython.final
cdef class AdmissionRequest:
    """``raw`` is the decoded dict; the other attributes are read from it. Immutable.

    ``kind`` is (group, version, kind) and ``resource`` (group, version, resource), both as sent to
    the webhook; ``request_kind`` and ``request_resource`` are the client's originals. Missing
    strings are "", missing objects None.
    """
    #: kind: tuple[str, str, str]
    #: resource: tuple[str, str, str]
    #: request_kind: tuple[str, str, str]
    #: request_resource: tuple[str, str, str]
    #: user_info: dict[str, Any]
    #: object: dict[str, Any] | None
    #: old_object: dict[str, Any] | None
    #: options: dict[str, Any] | None
    #: raw: dict[str, Any]

    def __init__(self, dict raw not None, str unreadable not None=""):
        #: (dict[str, Any], str) -> None
        self.unreadable = unreadable
        self.uid = string_member(raw, "uid")
        if not self.uid:
            raise ReviewError("request.uid is missing")
        if len(self.uid) > MAX_UID_CHARS:
            raise ReviewError(f"request.uid has more than {MAX_UID_CHARS} characters")
        self.operation = operation(raw.get("operation"))
        dry_run = raw.get("dryRun")
        if dry_run is not None and type(dry_run) is not bool:
            raise ReviewError(f"request.dryRun must be true or false, not {json_type(dry_run)}")
        self.dry_run = dry_run is True
        if raw.get("requestKind") is not None:
            self.request_kind = group_version(raw, "requestKind", "kind")
        if raw.get("requestResource") is not None:
            self.request_resource = group_version(raw, "requestResource", "resource")
        string_member(raw, "requestSubResource")
        self.name = string_member(raw, "name")
        self.namespace = string_member(raw, "namespace")
        self.kind = group_version(raw, "kind", "kind")
        self.resource = group_version(raw, "resource", "resource")
        if self.request_kind is None:
            self.request_kind = self.kind
        if self.request_resource is None:
            self.request_resource = self.resource
        self.sub_resource = string_member(raw, "subResource")
        self.user_info = user_info(raw.get("userInfo"))
        self.object = mapping(raw, "object")
        self.old_object = mapping(raw, "oldObject")
        self.options = mapping(raw, "options")
        self.raw = raw

    cpdef dict shown(self):
        #: () -> dict[str, Any]
        """``request`` as CEL sees it: without uid, object, oldObject and empty strings.

        Fields that Kubernetes always sets are added: requestKind, requestResource, dryRun,
        userInfo.
        """
        if self.seen is None:
            self.seen = self.without_objects()
        return self.seen

    cdef dict without_objects(self):
        cdef dict shown = self.raw.copy()
        shown.pop("uid")
        shown.pop("object", None)
        shown.pop("oldObject", None)
        for name in ("subResource", "requestSubResource", "name", "namespace"):
            if not shown.get(name, True):
                del shown[name]
        if shown.get("requestKind") is None:
            shown["requestKind"] = shown["kind"]
        if shown.get("requestResource") is None:
            shown["requestResource"] = shown["resource"]
        if shown.get("dryRun") is None:
            shown["dryRun"] = False
        if shown.get("userInfo") is None:
            shown["userInfo"] = {}
        shown.setdefault("options", None)
        return shown

    @property
    def is_namespace(self):
        #: () -> bool
        """Whether the client's object is a Namespace; its namespace here is its own name."""
        return self.request_kind == ("", "v1", "Namespace")


cdef str operation(object value):
    if type(value) is str and value in ("CREATE", "UPDATE", "DELETE", "CONNECT"):
        return value
    raise ReviewError(
        f"request.operation must be CREATE, UPDATE, DELETE or CONNECT, not {shown_value(value)}"
    )


cdef str string_member(dict request, str key):
    value = request.get(key)
    if type(value) is str:
        return value
    if value is None:
        return ""
    raise ReviewError(f"request.{key} must be a string, not {json_type(value)}")


cdef dict mapping(dict request, str key):
    value = request.get(key)
    if value is None or type(value) is dict:
        return value
    raise ReviewError(f"request.{key} must be an object, not {json_type(value)}")


cdef tuple group_version(dict request, str key, str name):
    value = request.get(key)
    if type(value) is not dict:
        raise ReviewError(f"request.{key} must be an object, not {json_type(value)}")
    cdef dict parts = <dict>value
    group, version, last = parts.get("group", ""), parts.get("version"), parts.get(name)
    if type(group) is str and type(version) is str and type(last) is str and last:
        return group, version, last
    raise ReviewError(f"request.{key} must have the strings group, version and {name}")


cdef dict user_info(object value):
    """userInfo, after a check of its members' types."""
    if value is None:
        return {}
    if type(value) is not dict:
        raise ReviewError(f"request.userInfo must be an object, not {json_type(value)}")
    cdef dict user = <dict>value
    for key in ("username", "uid"):
        if type(user.get(key, "")) is not str:
            raise ReviewError(f"request.userInfo.{key} must be a string")
    if not are_strings(user.get("groups")):
        raise ReviewError("request.userInfo.groups must be a list of strings")
    extra = user.get("extra")
    if extra is None:
        return user
    if type(extra) is dict:
        for texts in (<dict>extra).values():
            if not are_strings(texts):
                break
        else:
            return user
    raise ReviewError("request.userInfo.extra must be an object of lists of strings")


cdef bint are_strings(object value):
    if value is None:
        return True
    if type(value) is not list:
        return False
    for each in <list>value:
        if type(each) is not str:
            return False
    return True


cdef str json_type(object value):
    """The JSON type of ``value``, with its article."""
    return TYPES.get(type(value), "a number")


cdef str shown_value(object value):
    """A string (cut if it is long), or the type of anything else."""
    return repr(value[:80]) if type(value) is str else json_type(value)
