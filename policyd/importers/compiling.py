"""Whether the result of an import loads. Evaluates nothing."""

from collections.abc import Iterable, Sequence

from policyd.importers.model import ImportedDocument, Refused
from policyd.policy.compile.compiler import check
from policyd.policy.source.documents import Document
from policyd.policy.source.loader import load_built
from policyd.versions import NEWEST


def require_loadable(
    results: Iterable[ImportedDocument], others: Sequence[Document], path: str = "spec"
) -> None:
    """Raise Refused, with the first problem, if policies would not load.

    The CustomResourceDefinitions among ``others`` are known.
    """
    definitions = [each.raw for each in others if each.kind == "CustomResourceDefinition"]
    sources = load_built([*(each.raw for each in results), *definitions], version=NEWEST)
    for problem in check(sources):
        if problem.severity == "error":
            where = f" ({problem.path})" if problem.path else ""
            hint = f"; {problem.hint}" if problem.hint else ""
            raise Refused(path, f"the result would not load: {problem.message}{where}{hint}")
