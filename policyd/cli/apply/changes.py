"""The changes of mutations as a unified diff. Evaluates no policy."""

import difflib
from collections.abc import Iterator

from policyd.cli.apply.checked import CheckedObject
from policyd.policy.source.yaml_output import dump


def diff_lines(checked: CheckedObject) -> Iterator[str]:
    """Yield the lines of the diff of a manifest, without line breaks; none if nothing changed."""
    if not checked.admission.patch:
        return
    document = checked.document
    name = f"{document.file}: {document.label}" if document.file else document.label
    yield from difflib.unified_diff(
        dump(document.raw).splitlines(),
        dump(checked.result).splitlines(),
        name,
        f"{name} (mutated)",
        lineterm="",
    )


def diff_text(checked: CheckedObject) -> str:
    """Return the diff as a string; empty if nothing changed."""
    return "".join(f"{line}\n" for line in diff_lines(checked))
