"""What every model of a document shares: the base class, object metadata and label selectors.

The models hold the shape (fields, types, enumerations); ``checks/`` holds what the values must
be. So required fields have empty defaults here, as they have in Go, and a document with several
faults gets all of them reported.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from inspect import get_annotations
from typing import Annotated, Any, ClassVar, Literal, NoReturn, Self

from policyd.json_types import JSON, object_in
from policyd.policy.model.shapes import (
    INVALID,
    MISSING,
    MODEL,
    UNKNOWN,
    Before,
    Check,
    Many,
    ShapeFault,
    below,
    check_of,
    inner_types,
)


def camel(name: str) -> str:
    """Return the name of a field in YAML: ``match_constraints`` is matchConstraints."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


# ``null`` where Go has a plain string is the empty text.
GoString = Annotated[str, Before(lambda value: "" if value is None else value, str)]
# The value of an absent map: shared, because nothing changes a model.
NOTHING: dict[str, Any] = {}
_REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class ModelField:
    """A field of a model: its names in YAML and in Python, its type, and its value if absent."""

    alias: str
    name: str
    annotation: Any
    default: Any

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is _REQUIRED


class ModelError(ValueError):
    """A value does not fit its model; ``faults`` are all reasons."""

    def __init__(self, model: str, faults: list[ShapeFault]) -> None:
        self.faults = faults
        named = (f"{'.'.join(map(str, each.path))}: {each.kind} {each.detail}" for each in faults)
        super().__init__(f"{model}: {'; '.join(each.strip() for each in named)}")


class Model:
    """A frozen, strict object of a document: unknown fields are errors, null means absent.

    Fields are the annotations of the class. An instance holds the fields that its document names;
    the others have the defaults of the class. Nothing changes either.
    """

    fields: ClassVar[Mapping[str, ModelField]] = {}
    ALIASES: ClassVar[Mapping[str, str]] = {}
    """The names in YAML that do not follow from the Python names."""

    def __init_subclass__(cls) -> None:
        found: dict[str, ModelField] = {}
        for base in reversed(cls.__mro__[1:]):  # a class with two bases has the fields of both
            found.update(base.__dict__.get("fields", {}))
        for name, annotation in get_annotations(cls).items():
            alias = cls.ALIASES.get(name, camel(name))
            found[name] = ModelField(alias, name, annotation, getattr(cls, name, _REQUIRED))
        cls.fields = found

    def __init__(self, **data: Any) -> None:
        """Make a model of its fields, by their names in YAML; raises ModelError."""
        self.__dict__.update(self.validated(data).__dict__)

    @classmethod
    def validated(cls, value: object) -> Self:
        """Return the model of a plain value; raises ModelError with every fault."""
        found, faults = cls.read(value)
        if faults:
            raise ModelError(cls.__name__, faults)
        return found

    @classmethod
    def read(cls, value: object) -> tuple[Self, list[ShapeFault]]:
        """Return the model of what a plain value has without faults, and every fault. A field with
        a fault is absent; an empty value stands in for an item of a list, so that the others keep
        their indexes.
        """
        faults: list[ShapeFault] = []
        found: Self = cls.checked(value, faults)
        return found, faults

    @classmethod
    def of_fields(cls, values: Mapping[str, Any]) -> Self:
        """Return the model of fields that are checked already, by their Python names."""
        made = cls.__new__(cls)
        made.__dict__.update(values)
        return made

    @classmethod
    def checked(cls, value: object, faults: list[ShapeFault]) -> Self:
        """Return the model of a value; append its faults in the order of the fields."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict):
            faults.append(ShapeFault((), MODEL, value))
            return cls.of_fields({})
        known = _checks(cls)
        given = _without_nulls(cls.prepared(value), known)
        start = len(faults)
        values: dict[str, Any] = {}
        for alias, (name, required, check) in known.items():
            if alias in given:
                before = len(faults)
                found = check(given[alias], faults)
                if len(faults) == before or not below(faults, before, alias):
                    values[name] = found
            elif required:
                faults.append(ShapeFault((alias,), MISSING, given))
        if not given.keys() <= known.keys():
            faults += [ShapeFault((key,), UNKNOWN, given[key]) for key in given if key not in known]
        made = cls.of_fields(values)
        wrong = "" if len(faults) > start else made.contradiction()
        if wrong:
            faults.append(ShapeFault((), INVALID, value, f"Value error, {wrong}"))
        return made

    @classmethod
    def prepared(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a value that has a short form; the value itself otherwise."""
        return value

    def contradiction(self) -> str:
        """Return why the fields cannot stand beside each other; empty if they can."""
        return ""

    def plain(self) -> dict[str, Any]:
        """The JSON value in camelCase, without fields that are absent."""
        values = ((field.alias, getattr(self, name)) for name, field in self.fields.items())
        return {alias: _plain(value) for alias, value in values if value is not None}

    def plain_given(self, exclude: Container[str]) -> dict[str, Any]:
        """The JSON value in camelCase of the fields that the document names, without some."""
        kept = {name: value for name, value in self.__dict__.items() if name not in exclude}
        return {
            self.fields[name].alias: (
                value.plain_given(()) if isinstance(value, Model) else _plain(value)
            )
            for name, value in kept.items()
        }

    @property
    def fields_given(self) -> frozenset[str]:
        """The fields that the document names, by their Python names."""
        return frozenset(self.__dict__)

    def given(self, field: str) -> bool:
        """Whether the document names the field (by its Python name)."""
        return field in self.__dict__

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be set")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.fields)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.fields))

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self.fields)
        return f"{type(self).__name__}({', '.join(shown)})"


def model_in(annotation: Any) -> type[Model] | None:
    """Return the model in the type of a field: ``Model``, ``Model | None`` or a list of them."""
    return next((each for each in inner_types(annotation) if issubclass(each, Model)), None)


def aliases(model: type[Model]) -> frozenset[str]:
    """The names that the fields of a model have in YAML."""
    return frozenset(_checks(model))


_CHECKS: dict[type[Model], Mapping[str, tuple[str, bool, Check]]] = {}


def _checks(model: type[Model]) -> Mapping[str, tuple[str, bool, Check]]:
    """Return for each field its Python name, whether it is required, and its check; by alias.

    Made when it is needed first: most commands never see a suite.
    """
    found = _CHECKS.get(model)
    if found is None:
        found = {
            field.alias: (name, field.required, check_of(field.annotation))
            for name, field in model.fields.items()
        }
        _CHECKS[model] = found
    return found


def _without_nulls(value: dict[str, Any], known: Mapping[str, object]) -> dict[str, Any]:
    """Exported documents say ``field: null``; of unknown fields that stays an error."""
    if None not in value.values():
        return value
    return {k: v for k, v in value.items() if v is not None or k not in known}


def _plain(value: Any) -> Any:
    """Return the JSON value of a field, of which nothing is shared with the model."""
    if type(value) is str:  # most are
        return value
    if isinstance(value, Model):
        return value.plain()
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, datetime):  # models hold times in UTC
        return value.replace(tzinfo=None).isoformat() + "Z"
    return value.isoformat() if isinstance(value, date) else value


def labels_of(obj: JSON) -> dict[str, str]:
    """Return the labels as strings; none for a non-object or without a map of labels."""
    return {key: str(value) for key, value in object_in(obj, "metadata", "labels").items()}


class ObjectMeta(Model):
    """Standard metadata. Fields that only a cluster writes are accepted and never looked at."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    labels: dict[str, GoString] = NOTHING
    annotations: dict[str, GoString] = NOTHING
    uid: Any = None
    self_link: Any = None
    resource_version: Any = None
    generation: Any = None
    creation_timestamp: Any = None
    deletion_timestamp: Any = None
    deletion_grace_period_seconds: Any = None
    owner_references: Any = None
    finalizers: Any = None
    managed_fields: Any = None


class Object(Model):
    """A whole document; ``status`` is what a cluster wrote there, of no interest here."""

    metadata: ObjectMeta = ObjectMeta()
    status: Any = None


class LabelSelectorRequirement(Model):
    """One condition on a label."""

    key: str = ""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = "Exists"
    values: Many[GoString] = ()


class LabelSelector(Model):
    """Selects objects by their labels; an empty one selects everything."""

    match_labels: dict[str, GoString] = NOTHING
    match_expressions: Many[LabelSelectorRequirement] = ()
