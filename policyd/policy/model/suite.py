"""The model of a suite, kind PolicyTest: cases of a request and what is expected of its answer."""

from typing import Annotated, Any, Literal

from policyd.policy.model.base import NOTHING, GoString, Model, Object
from policyd.policy.model.shapes import Before, Many

Webhook = Literal["validate", "mutate"]
# The rollouts of the policies that a case tests: everyone is over, or as configured before `until`.
RolloutStage = Literal["over", "staged"]


class UserInfo(Model):
    """The sender of the request."""

    username: str = ""
    uid: str = ""
    groups: Many[GoString] = ()
    extra: dict[str, Many[GoString]] = NOTHING


class GroupVersionKind(Model):
    """A kind of object."""

    group: str = ""
    version: str = ""
    kind: str = ""


class GroupVersionResource(Model):
    """A resource of the API."""

    group: str = ""
    version: str = ""
    resource: str = ""


class SuiteRequest(Model):
    """An AdmissionRequest in short: what is left out follows from the object.

    ``namespaceLabels`` are the labels of the request's namespace. ``review`` is a whole
    AdmissionReview (or its request) instead; the ``…File`` fields name files beside the suite.
    """

    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"] | None = None
    object: dict[str, Any] | None = None
    object_file: str | None = None
    old_object: dict[str, Any] | None = None
    old_object_file: str | None = None
    name: str | None = None
    namespace: str | None = None
    namespace_labels: dict[str, GoString] | None = None
    user_info: UserInfo | None = None
    kind: GroupVersionKind | None = None
    resource: GroupVersionResource | None = None
    sub_resource: str | None = None
    request_kind: GroupVersionKind | None = None
    request_resource: GroupVersionResource | None = None
    request_sub_resource: str | None = None
    uid: str | None = None
    dry_run: bool | None = None
    options: dict[str, Any] | None = None
    review: dict[str, Any] | None = None
    review_file: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is an AdmissionReview rather than built from manifests."""
        return self.review is not None or self.review_file is not None


# A single text stands for a list of one.
Texts = Annotated[
    Many[str],
    Before(lambda value: (value,) if isinstance(value, str) else value, str | list[str]),
]


class Expect(Model):
    """The expected answer; only the keys given are compared.

    ``message``, ``warnings`` and ``causes`` hold texts of which each must be part of the answer's
    (``[]``: there are none); ``auditAnnotations`` are entries that must be there. Without ``error``
    a denial that only errors cause is not an expected one, unless ``message`` or ``causes`` names
    the error.
    """

    allowed: bool | None = None
    error: bool | None = None
    code: int | None = None
    reason: str | None = None
    message: Texts | None = None
    causes: Texts | None = None
    warnings: Texts | None = None
    audit_annotations: dict[str, str] | None = None
    patched: dict[str, Any] | None = None
    patch: Many[dict[str, Any]] | None = None


class AuthorizerRule(Model):
    """The decision of the ``authorizer`` for the checks that match.

    A field that is left out fits anything; of ``groups`` the user has at least one. ``path`` is for
    paths of the API server, the fields from ``group`` to ``name`` for resources. A rule with an
    ``error`` allows nothing.
    """

    user: str | None = None
    groups: Many[GoString] | None = None
    verb: str | None = None
    path: str | None = None
    group: str | None = None
    resource: str | None = None
    subresource: str | None = None
    namespace: str | None = None
    name: str | None = None
    allowed: bool = True
    reason: str = ""
    error: str = ""

    @property
    def is_about_resources(self) -> bool:
        """Whether it names a part of a resource, so that no path fits it."""
        parts = (self.group, self.resource, self.subresource, self.namespace, self.name)
        return any(part is not None for part in parts)

    def contradiction(self) -> str:
        if self.path is not None and self.is_about_resources:
            return "path excludes group, resource, subresource, namespace and name"
        return ""


class SuiteNamespace(Model):
    """A namespace of the cluster in which cases run."""

    name: str = ""
    labels: dict[str, GoString] = NOTHING
    annotations: dict[str, GoString] = NOTHING


class ClusterState(Model):
    """The state of the cluster for policies: params, objects of reads, namespaces and access rules.

    The state of a case comes before the state of its suite, and both before the documents of the
    policies.
    """

    params: Many[dict[str, Any]] = ()
    params_file: str | None = None
    reads: Many[dict[str, Any]] = ()
    reads_file: str | None = None
    namespaces: Many[SuiteNamespace] = ()
    authorizer: Many[AuthorizerRule] | None = None


# ``set`` is a type of Python.
_SET = {"changes": "set"}


class TableRow(ClusterState):
    """One variant of a case: its request with some fields changed.

    Paths of ``set`` and ``remove`` lead into the object: ``spec.containers[0].image``.
    ``defaults`` and ``rollout`` replace the case's.
    """

    ALIASES = _SET

    name: str = ""
    changes: dict[str, Any] = NOTHING
    remove: Many[str] = ()
    request: SuiteRequest = SuiteRequest()
    expect: Expect | None = None
    idempotent: bool | None = None
    defaults: bool | None = None
    rollout: RolloutStage | None = None


class Case(ClusterState):
    """One test, or with a ``table`` one test for each row.

    A mutated object is mutated once more, and that must change nothing; ``idempotent: false`` says
    that it does. ``defaults`` replaces the suite's. Cases test the end of rollouts, as if every one
    were over; with ``rollout: staged`` the rollouts are as configured, and none is over.
    """

    name: str = ""
    webhook: Webhook | None = None
    idempotent: bool = True
    defaults: bool | None = None
    rollout: RolloutStage | None = None
    request: SuiteRequest = SuiteRequest()
    expect: Expect | None = None
    table: Many[TableRow] | None = None

    @classmethod
    def prepared(cls, value: dict[str, Any]) -> dict[str, Any]:
        """``review`` and ``reviewFile`` may stand in the case itself, in place of ``request``."""
        if not isinstance(value.get("request"), dict):
            whole = {key: value[key] for key in ("review", "reviewFile") if value.get(key)}
            if whole:
                rest = {key: each for key, each in value.items() if key not in whole}
                return {**rest, "request": whole}
        return value


class PolicyTest(ClusterState, Object):
    """A suite. ``policies`` are files or directories relative to it; without them the whole set.

    ``authorizer`` answers the checks of expressions: the first rule that fits decides, and
    where none does, it is not allowed. Without it their checks are errors.

    The objects of requests get the defaults of the API server, but for whole reviews;
    ``defaults: false`` leaves them as they are.
    """

    api_version: Literal["policyd.dev/v1"]
    kind: Literal["PolicyTest"]
    policies: Many[GoString] | None = None
    defaults: bool = True
    cases: Many[Case] = ()
