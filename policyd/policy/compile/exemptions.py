"""The requests that a policy skips, and until when: the ``exceptions`` of a Policy, and the
PolicyExceptions that name a policy. Nothing else.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache, partial
from hashlib import sha256
from typing import NamedTuple

from policyd._core.match.selectors import Selector
from policyd._core.pattern.strings import Wildcard
from policyd.policy.model.exceptions import (
    ExceptedResource,
    Exception_,
    ExceptionSubject,
    PolicyException,
)
from policyd.policy.model.kinds import AnyPolicy, MutatingAdmissionPolicy, Policy, PolicySpec
from policyd.policy.source.loaded_documents import Document, Sources

Today = Callable[[], datetime]
_NOW: Today = partial(datetime.now, UTC)
Test = Callable[[str], bool]
_Place = tuple[str, str]
_NAME, _NAMESPACE = "name", "namespace"
_ANYWHERE = ("", "")


def wildcard(patterns: tuple[str, ...]) -> Test | None:
    """Return a test whether any of the ``*`` and ``?`` patterns matches; None without patterns."""
    if not patterns:
        return None
    tests = tuple(Wildcard(pattern).matches for pattern in patterns)
    return lambda text: any(test(text) for test in tests)


class ExemptionInput(NamedTuple):
    """The view that exceptions have of a request. ``name`` may be ``unfinished``
    (``policy/kinds/generated_names.py``). ``labels`` are the labels of the object that the policy
    evaluates (None: they cannot be read, and no selector matches). ``is_namespace``: the object is
    a Namespace, whose namespace is its own name.
    """

    operation: str
    namespace: str
    name: str
    user: Mapping[str, object]
    labels: dict[str, str] | None
    kind: tuple[str, str, str] = ("", "", "")
    is_namespace: bool = False


@dataclass(frozen=True, slots=True)
class ExemptedObjects:
    """Objects and operations; all criteria that are set must hold. ``kinds`` is given GROUP/KIND,
    where the core group is ``core``. ``places``: names, or namespaces, without wildcards, one of
    which an object has to have; empty: any.
    """

    kinds: Test | None = None
    namespaces: Test | None = None
    names: Test | None = None
    operations: frozenset[str] = frozenset()
    selector: Selector | None = None
    places: frozenset[_Place] = frozenset()

    def include(self, asked: ExemptionInput) -> bool:
        """Whether the request is about such an object."""
        if self.operations and asked.operation not in self.operations:
            return False
        if self.kinds is not None:
            group, _, kind = asked.kind
            if not self.kinds(f"{group or 'core'}/{kind}"):
                return False
        if self.namespaces is not None and not self.namespaces(asked.namespace):
            return False
        if self.names is not None and not self.names(asked.name):
            return False
        if self.selector is None:
            return True
        return asked.labels is not None and self.selector.matches(asked.labels)


def _in_group(user: Mapping[str, object], wanted: Test) -> bool:
    groups = user.get("groups")
    return isinstance(groups, list) and any(map(wanted, groups))


@dataclass(frozen=True, slots=True, eq=False)
class Exemption:
    """One exception; all criteria that are set must hold, and one of ``objects``.

    ``validations`` are the indexes of the skipped validations; empty: the whole policy, with its
    mutations. ``ends`` is the time (UTC) when it expires: the end of the day ``until``.
    ``document`` is the PolicyException that it is from, empty for an exception of a Policy;
    ``confined`` is the only namespace of it, in which cluster-scoped objects are not.
    """

    name: str
    reason: str = ""
    users: Test | None = None
    groups: Test | None = None
    validations: frozenset[int] = frozenset()
    ends: datetime | None = None
    now: Today = _NOW
    objects: tuple[ExemptedObjects, ...] = ()
    subjects: Callable[[Mapping[str, object]], bool] | None = None
    document: str = ""
    confined: str = ""

    @property
    def places(self) -> frozenset[_Place]:
        """Return names and namespaces, one of which an object has to have; empty: any."""
        if self.confined:
            return frozenset({(_NAMESPACE, self.confined)})
        if not all(each.places for each in self.objects):
            return frozenset()
        return frozenset[_Place]().union(*(each.places for each in self.objects))

    def applies(self, asked: ExemptionInput) -> bool:
        """Whether this exception covers a request."""
        if self.ends is not None and self.now() >= self.ends:
            return False
        if self.confined and (asked.namespace != self.confined or asked.is_namespace):
            return False
        if self.users is not None and not self.users(str(asked.user.get("username", ""))):
            return False
        if self.groups is not None and not _in_group(asked.user, self.groups):
            return False
        if self.subjects is not None and not self.subjects(asked.user):
            return False
        return not self.objects or any(each.include(asked) for each in self.objects)


class ExemptionIndex:
    """Exemptions by the names and namespaces of their objects: a request tries few of them."""

    def __init__(self, exemptions: tuple[Exemption, ...]) -> None:
        self._all = exemptions
        self._at: dict[_Place, list[int]] = {}
        for number, each in enumerate(exemptions):
            for place in each.places or (_ANYWHERE,):
                self._at.setdefault(place, []).append(number)

    def near(self, namespace: str, name: str) -> list[Exemption]:
        """Return those that may apply to an object, in their order."""
        places = (_ANYWHERE, (_NAMESPACE, namespace), (_NAME, name))
        found = {number for place in places for number in self._at.get(place, ())}
        return [self._all[number] for number in sorted(found)]


# Cached: most policies have none or the same.
indexed = lru_cache(maxsize=64)(ExemptionIndex)


def end_of(day: date) -> datetime:
    """Return the time at which a day ends in UTC."""
    return datetime.combine(day + timedelta(days=1), time(), UTC)


def own_exemptions(spec: PolicySpec) -> tuple[Exemption, ...]:
    """Return the exceptions of a Policy."""
    names = {item.name: i for i, item in enumerate(spec.validations) if item.name}
    return tuple(
        Exemption(
            name=item.name,
            reason=item.reason,
            users=wildcard(item.users or ()),
            groups=wildcard(item.groups or ()),
            validations=frozenset(names[name] for name in item.validations or ()),
            ends=_end(item.until),
            objects=(_objects(item),),
        )
        for item in spec.exceptions
    )


class NamedPolicies(NamedTuple):
    """One entry of ``policies``: a test of names, and the validations (None: the whole policy)."""

    names: Test
    validations: tuple[str | int, ...] | None


@dataclass(frozen=True, slots=True)
class AttachedException:
    """A PolicyException: the policies that it names, and its exemption from a whole policy."""

    policies: tuple[NamedPolicies, ...]
    exemption: Exemption
    made_of: bytes = field(repr=False)

    def lifted(self, policy: Document) -> frozenset[int] | None:
        """Return the validations of a policy that it lifts, empty for the whole policy; None if it
        lifts nothing of it.
        """
        entries = [each for each in self.policies if each.names(policy.name)]
        if any(each.validations is None for each in entries):
            return frozenset()
        known = validations_of(policy.model)
        wanted = {name for each in entries for name in each.validations or ()}
        return frozenset(known[name] for name in wanted if name in known) or None


class Attachments:
    """The PolicyExceptions among the documents, by the policies that they name. One with problems
    exempts nothing.
    """

    def __init__(self, sources: Sources) -> None:
        self._all = [
            _attached(document, document.model)
            for document in sources.documents
            if isinstance(document.model, PolicyException)
        ]

    def of(self, policy: Document) -> tuple[tuple[Exemption, ...], bytes]:
        """Return the exemptions of a policy that are not its own, and a hash of them; empty
        without any.
        """
        found: list[Exemption] = []
        made_of: list[bytes] = []
        for each in self._all:
            lifted = each.lifted(policy)
            if lifted is not None:
                made = replace(each.exemption, validations=lifted) if lifted else each.exemption
                found.append(made)
                made_of += each.made_of, repr(sorted(lifted)).encode()
        return tuple(found), sha256(b"".join(made_of)).digest() if found else b""


def ends_of(sources: Sources) -> tuple[datetime | None, ...]:
    """Return when each exception expires, if it does: of Policies and PolicyExceptions."""
    found: list[date | None] = []
    for document in sources.documents:
        if isinstance(document.model, Policy):
            found += [each.until for each in document.model.spec.exceptions]
        elif isinstance(document.model, PolicyException):
            found.append(document.model.spec.until)
    return tuple(map(_end, found))


def validations_of(policy: object) -> dict[str | int, int]:
    """Return the index of each validation of a policy, by index and by name."""
    if not isinstance(policy, AnyPolicy) or isinstance(policy, MutatingAdmissionPolicy):
        return {}
    found: dict[str | int, int] = {i: i for i in range(len(policy.spec.validations))}
    if isinstance(policy, Policy):
        named = enumerate(policy.spec.validations)
        found |= {item.name: index for index, item in named if item.name}
    return found


def label_of(document: Document) -> str:
    """Return the name of a PolicyException in logs: a team's begins with its namespace."""
    return f"{document.confined}/{document.name}" if document.confined else document.name


def _attached(document: Document, model: PolicyException) -> AttachedException:
    spec, label = model.spec, label_of(document)
    policies = tuple(
        NamedPolicies(Wildcard(each.name).matches, each.validations) for each in spec.policies
    )
    exemption = Exemption(
        name=label,
        reason=spec.reason,
        ends=_end(spec.until),
        objects=tuple(_objects(each) for each in spec.resources or ()),
        subjects=None if spec.subjects is None else _any_of(spec.subjects),
        document=document.file,
        confined=document.confined,
    )
    made_of = sha256(repr((label, document.file, document.confined, spec)).encode()).digest()
    return AttachedException(policies, exemption, made_of)


def _objects(resource: Exception_ | ExceptedResource) -> ExemptedObjects:
    given = resource.kinds if isinstance(resource, ExceptedResource) else None
    kinds = (each if "/" in each else f"*/{each}" for each in given or ())
    operations, selector = resource.operations or (), resource.object_selector
    return ExemptedObjects(
        kinds=wildcard(tuple(kinds)),
        namespaces=wildcard(resource.namespaces or ()),
        names=wildcard(resource.names or ()),
        operations=frozenset(() if "*" in operations else operations),
        selector=None if selector is None else Selector(selector.plain()),
        places=_places(_NAME, resource.names) or _places(_NAMESPACE, resource.namespaces),
    )


def _places(kind: str, patterns: Iterable[str] | None) -> frozenset[_Place]:
    found = frozenset((kind, each) for each in patterns or ())
    return frozenset() if any("*" in each or "?" in each for _, each in found) else found


def _any_of(subjects: Iterable[ExceptionSubject]) -> Callable[[Mapping[str, object]], bool]:
    """Return a test whether the sender of a request is one of these."""
    users, groups = frozenset(_names(subjects, "User")), frozenset(_names(subjects, "Group"))
    return lambda user: (
        str(user.get("username", "")) in users or _in_group(user, groups.__contains__)
    )


def _names(subjects: Iterable[ExceptionSubject], kind: str) -> Iterator[str]:
    for each in subjects:
        if each.kind == kind:
            yield each.name
        elif each.kind == "ServiceAccount" and kind == "User":
            yield f"system:serviceaccount:{each.namespace}:{each.name}"


def _end(until: date | None) -> datetime | None:
    return None if until is None else end_of(until)
