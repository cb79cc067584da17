"""Exceptions: the ones in a Policy, and PolicyException, a separate document. Only their fields."""

import re
from datetime import date
from typing import Annotated, Any, Literal

from policyd.policy.model.base import GoString, LabelSelector, Model, Object
from policyd.policy.model.match import Operation
from policyd.policy.model.shapes import Before, Many

_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def _date(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(_DATE, value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise ValueError("must be a date like 2027-03-31")


def _name_or_index(value: object) -> object:
    if isinstance(value, str) or (type(value) is int and value >= 0):
        return value
    raise ValueError("must be the name of a validation, or its index from 0")


Date = Annotated[date, Before(_date, Annotated[str, _DATE])]
NameOrIndex = Annotated[Any, Before(_name_or_index, int | str)]


class Exception_(Model):
    """Exempts requests from the policy: all given fields must match.

    ``until`` is inclusive, to 24:00 UTC. ``*`` and ``?`` are wildcards in names, namespaces,
    users and groups.
    """

    name: str = ""
    reason: str = ""
    namespaces: Many[GoString] | None = None
    names: Many[GoString] | None = None
    object_selector: LabelSelector | None = None
    users: Many[GoString] | None = None
    groups: Many[GoString] | None = None
    operations: Many[Operation] | None = None
    validations: Many[GoString] | None = None
    until: Date | None = None


class ExceptedPolicy(Model):
    """Policies by name, with wildcards; all of each, or some of its validations."""

    name: GoString = ""
    validations: Many[NameOrIndex] | None = None


class ExceptedResource(Model):
    """Objects and operations: all given fields must match."""

    kinds: Many[GoString] | None = None
    namespaces: Many[GoString] | None = None
    names: Many[GoString] | None = None
    object_selector: LabelSelector | None = None
    operations: Many[Operation] | None = None


class ExceptionSubject(Model):
    """A user, group or ServiceAccount, as in a RoleBinding."""

    api_group: GoString = ""
    kind: Literal["Group", "ServiceAccount", "User"] | None = None
    name: GoString = ""
    namespace: GoString = ""


class PolicyExceptionSpec(Model):
    """``spec`` of a PolicyException."""

    policies: Many[ExceptedPolicy] = ()
    resources: Many[ExceptedResource] | None = None
    subjects: Many[ExceptionSubject] | None = None
    reason: GoString = ""
    until: Date | None = None


class PolicyException(Object):
    """Exempts requests from policies: VAP, MAP and Policy alike."""

    api_version: Literal["policyd.dev/v1"]
    kind: Literal["PolicyException"]
    spec: PolicyExceptionSpec = PolicyExceptionSpec()
