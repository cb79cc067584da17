"""Contract: imports only go down the layers of the table, and every part has a layer."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from tools.check_layout.imports import Import
from tools.check_layout.table import PLACE

INIT = "__init__"
REST = "*"
Lines = Sequence[Sequence[str]]


def problems(
    layers: Mapping[str, Lines], modules: Mapping[str, str], imports: Sequence[Import]
) -> Iterator[str]:
    """Packages and parts without a layer, layers without a part, then imports that go up."""
    parts = parts_of(modules)
    yield from misplaced(layers, modules, parts)
    for each in imports:
        if each.inside:
            package, above, below = parting(each.importer, each.imported, parts)
            if package in layers:
                yield from upward(each, layers[package], package, above, below)


def parts_of(modules: Collection[str]) -> dict[str, set[str]]:
    """The names of the modules and packages in each package."""
    parts: dict[str, set[str]] = {}
    for module in modules:
        while "." in module:
            package, _, name = module.rpartition(".")
            parts.setdefault(package, set()).add(name)
            module = package  # noqa: PLW2901 - a package may hold nothing but packages
    return parts


def misplaced(
    layers: Mapping[str, Lines], modules: Mapping[str, str], parts: Mapping[str, set[str]]
) -> Iterator[str]:
    for package, names in sorted(parts.items()):
        nested = sorted(name for name in names if f"{package}.{name}" in parts)
        if package not in layers:
            # The top package always needs layers; others need them once they contain packages.
            if nested or "." not in package:
                yield f"{PLACE}: {package} holds packages and has no row in [layers]; add one"
            continue
        listed = {part for line in layers[package] for part in line}
        for name in sorted(names - listed):
            if REST not in listed or name in nested:
                file = modules.get(f"{package}.{name}", package.replace(".", "/") + f"/{name}")
                yield f"{file}:1: {name} has no place in the layers of {package}; add it to {PLACE}"
        for name in sorted(listed - names - {INIT, REST}):
            yield f"{PLACE}: the layers of {package} name {name}, which is not there; delete it"
    for package in sorted(layers.keys() - parts.keys()):
        yield f"{PLACE}: [layers] has a row for {package}, which is not there; delete it"


def parting(importer: str, imported: str, parts: Mapping[str, set[str]]) -> tuple[str, str, str]:
    """The innermost package that contains both modules, and the part that each belongs to."""
    above = [*importer.split("."), *([INIT] if importer in parts else [])]
    below = [*imported.split("."), *([INIT] if imported in parts else [])]
    common = 0
    while above[common] == below[common]:
        common += 1
    return ".".join(above[:common]), above[common], below[common]


def lines_of(lines: Lines, names: Collection[str]) -> dict[str, int]:
    """The line of each part, counted from the top; ``__init__`` may be above all."""
    places = {INIT: -1, **{part: i for i, line in enumerate(lines) for part in line}}
    if REST in places:
        places.update(dict.fromkeys(set(names) - places.keys(), places[REST]))
    return places


def upward(each: Import, lines: Lines, package: str, above: str, below: str) -> Iterator[str]:
    listed = {part for line in lines for part in line}
    together = REST in listed and not {above, below} & {*listed, INIT}
    places = lines_of(lines, {above, below})
    if together or above not in places or below not in places or places[above] < places[below]:
        return  # a part without a layer was reported before
    relation = "stands beside" if places[above] == places[below] else "is above"
    yield (
        f"{each.place}: {each.importer} imports {each.imported}, but {below} {relation} {above} in"
        f" the layers of {package} ({PLACE}); move what it needs down, or pass it as an argument"
    )
