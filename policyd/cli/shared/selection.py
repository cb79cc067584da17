"""The option ``--select``: one of the objects in a file. Reads no files."""

from collections.abc import Sequence
from typing import NamedTuple

import click

from policyd.cli.shared.manifests import Requester
from policyd.errors import ConfigError
from policyd.policy.source.loaded_documents import Document

_SHOWN = 10  # objects named in a message; the others are counted


class Selection(NamedTuple):
    """The kind, in any case, and name of an object; ``namespace`` empty: of any namespace."""

    kind: str
    namespace: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "Selection":
        """Return the selection ``Kind/name`` or ``Kind/namespace/name``; raises ValueError."""
        parts = text.split("/")
        if len(parts) not in (2, 3) or not all(parts):
            raise ValueError(f"expected Kind/name or Kind/namespace/name, got {text!r}")
        return cls(parts[0], parts[1] if len(parts) == 3 else "", parts[-1])

    def of(self, documents: Sequence[Document], requester: Requester, file: str) -> list[Document]:
        """Return the objects that are selected. Raises ConfigError if there are none."""
        found = [each for each in documents if self._selects(each, requester)]
        if not found:
            raise ConfigError(
                f"--select {self}: no such object in {file}; there are: {selectors(documents)}"
            )
        return found

    def _selects(self, document: Document, requester: Requester) -> bool:
        namespace = requester.identity(document)[2]
        return (
            document.kind.casefold() == self.kind.casefold()
            and object_name(document) == self.name
            and self.namespace in ("", namespace)
        )

    def __str__(self) -> str:
        return "/".join(filter(None, self))


def selectors(documents: Sequence[Document]) -> str:
    """Return the values of ``--select`` for several objects, for a message."""
    named = ", ".join(selector(each) for each in documents[:_SHOWN])
    return f"{named} and {len(documents) - _SHOWN} more" if len(documents) > _SHOWN else named


def selector(document: Document) -> str:
    """Return the value of ``--select`` for an object."""
    return "/".join(filter(None, (document.kind, document.namespace, object_name(document))))


def object_name(document: Document) -> str:
    """Return the name of an object, or the prefix that a name will be generated from."""
    metadata = document.raw.get("metadata")
    generated = metadata.get("generateName") if isinstance(metadata, dict) else None
    return document.name or (generated if isinstance(generated, str) else "")


def _parse(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> Selection | None:
    try:
        return None if text is None else Selection.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


SELECT = click.option(
    "--select",
    metavar="KIND/[NAMESPACE/]NAME",
    callback=_parse,
    help="Choose one of several objects in the file, as in Service/shop/web.",
)
