"""What every model of a document shares: the base class, object metadata and label selectors.

The models hold the shape (fields, types, enumerations); ``checks/`` holds what the values must
be. So required fields have empty defaults here, as they have in Go, and a document with several
faults gets all of them reported.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

Item = TypeVar("Item")
# A JSON list; kept as a tuple because models are immutable.
Many = Annotated[tuple[Item, ...], Field(strict=False)]


def _go_string(value: object) -> object:
    """``null`` where Go has a plain string is the empty text."""
    return "" if value is None else value


GoString = Annotated[str, BeforeValidator(_go_string, json_schema_input_type=str)]


class Model(BaseModel):
    """A frozen, strict object of a document: unknown fields are errors, null means absent."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=False,
        validate_by_alias=True,
        serialize_by_alias=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: object) -> object:
        """Exported documents say ``field: null``; of unknown fields that stays an error."""
        if isinstance(data, dict) and None in data.values():
            known = aliases(cls)
            return {k: v for k, v in data.items() if v is not None or k not in known}
        return data

    def plain(self) -> dict[str, Any]:
        """The JSON value in camelCase, without fields that are absent."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def given(self, field: str) -> bool:
        """Whether the document names the field (by its Python name)."""
        return field in self.model_fields_set


_ALIASES: dict[type[BaseModel], frozenset[str]] = {}


def aliases(model: type[BaseModel]) -> frozenset[str]:
    """The names that the fields of a model have in YAML."""
    found = _ALIASES.get(model)
    if found is None:
        fields = model.model_fields.items()
        found = frozenset(field.alias or name for name, field in fields)
        _ALIASES[model] = found
    return found


class ObjectMeta(Model):
    """Standard metadata. Fields that only a cluster writes are accepted and never looked at."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    labels: dict[str, GoString] = {}
    annotations: dict[str, GoString] = {}
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

    match_labels: dict[str, GoString] = {}
    match_expressions: Many[LabelSelectorRequirement] = ()
