"""The names of what an import writes: valid, different from each other, and the same whatever the
order of the sources is. Converts nothing.

A policy keeps its name. One of a namespace has the namespace before it, since a Policy has none.
If two have one name, the later one by kind, namespace, name and file has its kind after it, then
its file.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import PurePath

from policyd.importers.model import Imported, ImportedDocument, ImportRemark
from policyd.importers.provenance import Provenance, annotated, provenance
from policyd.policy.source.loaded_documents import Document

LONGEST = 253  # characters: the limit of names in Kubernetes
_FOREIGN = re.compile(r"[^a-z0-9.-]+")
_DIGITS = 8  # of a digest in a name


def valid_name(text: str) -> str:
    """Return a text as the name of an object: in lower case, of letters, digits, dashes and dots.

    >>> valid_name("No latest_tag."), valid_name("a.-b")
    ('no-latest-tag', 'a.b')
    """
    labels = (label.strip("-") for label in _FOREIGN.sub("-", text.lower()).split("."))
    name = ".".join(filter(None, labels)) or "policy"
    if len(name) <= LONGEST:
        return name
    kept = name[: LONGEST - _DIGITS - 1].rstrip("-.")
    return f"{kept}-{digest(text)}"


def digest(text: str) -> str:
    """Return the mark of a string among others, short enough for a name."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def named(
    imports: Sequence[Imported], described: Callable[[Document], Provenance] = provenance
) -> list[Imported]:
    """Return imports with documents of different names, which say where they come from as
    ``described``; one whose source is there twice has a remark.
    """
    taken: set[str] = set()
    known: dict[tuple[str, ...], Document] = {}
    found: dict[int, Imported] = {}
    for at in sorted(range(len(imports)), key=lambda at: _order(imports[at].source)):
        each = imports[at]
        if each.documents:
            each = _named(each, taken, described(each.source))
            source = each.source
            identity = (source.group, source.kind, source.namespace, source.name)
            other = known.setdefault(identity, source)
            if other is not each.source:
                each = replace(each, remarks=(*each.remarks, _again(each.source, other)))
        found[at] = each
    return [found[at] for at in range(len(imports))]


def _named(one: Imported, taken: set[str], source: Provenance) -> Imported:
    """Return an import with the first names of its documents that are not taken, and take them."""
    written = one.source.name
    rests = [each.name.removeprefix(written) for each in one.documents]
    for base in _bases(one.source):
        names = list(_different(valid_name(f"{base}{rest}") for rest in rests))
        if taken.isdisjoint((base, *names)):
            taken.update((base, *names))
            return _renamed(one, base, names, source)
    raise AssertionError("there are names without end")


def _bases(source: Document) -> Iterator[str]:
    """Yield names for a source policy, the best one first."""
    namespaced = source.kind == "Policy" or source.kind.startswith("Namespaced")
    within = f"{source.namespace}-" if namespaced and source.namespace else ""
    own = f"{within}{source.name}"
    kind = f"{own}-{source.kind}"
    file = PurePath(_file(source)).with_suffix("").as_posix()
    yield from map(valid_name, (own, kind, f"{kind}-{file.replace('/', '-')}"))
    for number in count(1):
        yield valid_name(f"{own}-{digest(f'{_order(source)} {number}')}")


def _different(names: Iterable[str]) -> Iterator[str]:
    """Yield names of one import, each once: a number distinguishes two."""
    seen: set[str] = set()
    for name in names:
        ways = (valid_name(f"{name}-{number}") for number in count(2))
        found = name if name not in seen else next(each for each in ways if each not in seen)
        seen.add(found)
        yield found


def _renamed(one: Imported, base: str, names: Sequence[str], source: Provenance) -> Imported:
    # Two documents of one name are both meant by the rules that mean it.
    now: dict[str, tuple[str, ...]] = {}
    for document, name in zip(one.documents, names, strict=True):
        now[document.name] = (*now.get(document.name, ()), name)
    rules = {
        rule: tuple(dict.fromkeys(name for each in meant for name in now[each]))
        for rule, meant in one.rules.items()
    }
    documents = tuple(
        _document(document, name, source, rules)
        for document, name in zip(one.documents, names, strict=True)
    )
    return replace(one, base=base, documents=documents, rules=rules)


def _document(
    document: ImportedDocument, name: str, source: Provenance, rules: Mapping[str, Sequence[str]]
) -> ImportedDocument:
    rule = next((rule for rule, names in rules.items() if name in names), "")
    metadata = {**document.raw["metadata"], "name": name}
    raw = {**document.raw, "metadata": annotated(metadata, source, rule)}
    return replace(document, raw=raw)


def _again(source: Document, other: Document) -> ImportRemark:
    place = f"{_file(other)}:{other.place()[0]}"
    message = f"the sources have it twice, the other is in {place}: a cluster has only one of them"
    return ImportRemark("metadata.name", message)


def _order(source: Document) -> tuple[str | int, ...]:
    return source.kind, source.namespace, source.name, _file(source), source.index


def _file(source: Document) -> str:
    return relative_file(source) or PurePath(source.file).name


def relative_file(source: Document) -> str:
    """Return the file of a source, below the directory that was given; empty if none was."""
    if not source.root or source.file == "-":
        return ""
    return os.path.relpath(os.path.realpath(source.file), source.root)
