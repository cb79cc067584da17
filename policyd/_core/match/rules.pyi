from collections.abc import Callable, Container, Sequence
from typing import Any, final

from policyd._core.json.request import AdmissionRequest
from policyd._core.match.equivalents import Equivalents, GvkTuple, Gvr

@final
class Hit:
    """A policy matches: the kind and resource that it sees, and the state of the objects."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Raises TypeError: hits are created by a match."""

    @property
    def kind(self) -> GvkTuple: ...
    @property
    def resource(self) -> Gvr: ...
    @property
    def api_version(self) -> str:
        """The apiVersion that object and oldObject must get first; "": none."""

    @property
    def mismatch(self) -> str:
        """Why object and oldObject cannot be read ("needs V, was sent W"); "": they can."""

    @property
    def error(self) -> str:
        """The match fails as in the API server (a malformed selector); "": it does not."""

@final
class MatchInput:
    """One request as the matcher sees it: built from the ``request`` of an AdmissionReview.

    ``namespace_labels(name)`` returns the labels of a namespace, None if the namespace is unknown,
    or a string: why the labels are not known. That is an error of each match that needs them. It
    is called only if a namespaceSelector needs the labels; an exception from it ends the match.
    ``object`` and ``old_object`` replace those of the request for the objectSelector. ``never``:
    the groups and resources that nothing matches; without it, those that no policy does.
    """

    def __init__(
        self,
        request: dict[str, Any],
        namespace_labels: Callable[[str], dict[str, str] | str | None],
        object: object = ...,
        old_object: object = ...,
        *,
        equivalents: Equivalents = ...,
        never: Container[tuple[str, str]] = ...,
    ) -> None: ...
    @property
    def operation(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def sub_resource(self) -> str: ...
    @property
    def kind(self) -> GvkTuple: ...
    @property
    def resource(self) -> Gvr: ...
    @property
    def request_kind(self) -> GvkTuple: ...
    @property
    def request_resource(self) -> Gvr: ...
    @property
    def object(self) -> Any: ...
    @property
    def old_object(self) -> Any: ...
    @property
    def never_matched(self) -> bool: ...
    def labels_for_namespace_selector(self) -> dict[str, str]:
        """The labels for a namespaceSelector, of the namespace or Namespace."""

def input_of(
    request: AdmissionRequest,
    namespace_labels: Callable[[str], dict[str, str] | str | None],
    object: Any,
    old_object: Any,
    equivalents: Equivalents,
) -> MatchInput:
    """The same as MatchInput, for a request that has been read, with these objects."""

@final
class ResourceRule:
    def __init__(self, rule: dict[str, Any]) -> None: ...
    @property
    def groups(self) -> tuple[str, ...]: ...
    @property
    def versions(self) -> tuple[str, ...]: ...
    @property
    def resources(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def operations(self) -> tuple[str, ...]: ...

@final
class MatchRules:
    """MatchResources of Kubernetes, from dicts with camelCase keys.

    Without ``resource_rules`` every resource matches (as in a binding).
    """

    def __init__(
        self,
        resource_rules: Sequence[dict[str, Any]] = ...,
        exclude_resource_rules: Sequence[dict[str, Any]] = ...,
        namespace_selector: dict[str, Any] | None = ...,
        object_selector: dict[str, Any] | None = ...,
        match_policy: str = ...,
    ) -> None: ...
    @property
    def written(self) -> dict[str, Any]:
        """The MatchResources as plain JSON, with its defaults."""

    @property
    def rules(self) -> tuple[ResourceRule, ...]: ...
    @property
    def excludes(self) -> tuple[ResourceRule, ...]: ...
    @property
    def equivalent(self) -> bool: ...
    @property
    def selects_namespaces(self) -> bool:
        """Whether labels of namespaces other than the name decide."""

    @property
    def selects(self) -> bool:
        """Whether any labels decide."""

    def match(self, request: MatchInput) -> Hit | None:
        """The hit if this matches the request, otherwise None."""
