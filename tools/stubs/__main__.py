"""``python -m tools.stubs [--check]``: write the .pyi of each .pyx, or fail if one is not current.

What Cython cannot say is in comments that begin with ``#:``. After a ``def`` it is the types of its
arguments, without self, and of its result; in a class an attribute's type, which is else its C
type, or ``(BASES)``; outside of them a line of the .pyi. A module without ``#:`` has no .pyi.
"""

import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.stubs.reading import Class, Function, Module, Unclear, attributes, read

_SOURCES = Path("policyd/_core")
_KNOWN = {
    "typing": "Any Final Generic NoReturn Protocol TypedDict TypeVar final type_check_only",
    "collections.abc": "Callable Collection Container Iterable Iterator Mapping Sequence",
    "enum": "IntFlag",
    "types": "GenericAlias",
}
_FROM = {name: module for module, names in _KNOWN.items() for name in names.split()}


def pyi(source: Path) -> str | None:
    """Return the .pyi of a .pyx, or None: it needs none. Raises Unclear."""
    module = read(source)
    if "#:" not in source.read_text():
        return None
    public = attributes(source) | attributes(source.with_suffix(".pxd"))
    body = []
    for each in module.items:
        if isinstance(each, str):
            body.append(each)
        elif not (each.name.startswith("_") or (isinstance(each, Class) and each.internal)):
            body.append(
                _class(each, public.get(each.name, {})) if isinstance(each, Class) else _stub(each)
            )
    return _imports("\n".join(body), module) + "\n".join(body) + "\n"


def _stub(function: Function) -> str:
    if not function.types:
        raise Unclear(f"{function.name} has no types after #:")
    return function.line()


def _class(one: Class, public: dict[str, tuple[str, str]]) -> str:
    bases, rows, own = one.bases, list[str](), dict(public)
    for line in one.lines:
        name = line.partition(":")[0]
        if line.startswith("("):
            bases = line.strip("()")
        elif name in own:
            own[name] = own[name][0], line.partition(":")[2].strip()
        else:
            rows.append(line)
    bases = re.sub(r"\b[a-z]\w*\.", "", bases)
    for each in one.functions:
        if each.types or not each.name.startswith("_"):
            rows.extend(_stub(each).split("\n"))
    for name, (access, kind) in own.items():
        if not name.startswith("_"):
            rows += (
                [f"{name}: {kind}"]
                if access == "public"
                else ["@property", f"def {name}(self) -> {kind}: ..."]
            )
    head = (
        ("@final\n" if one.final else "") + f"class {one.name}" + (f"({bases}):" if bases else ":")
    )
    return head + "".join(f"\n    {row}" for row in rows or ["..."])


def _imports(body: str, module: Module) -> str:
    """Return the imports of the names in a .pyi that it does not define."""
    nodes = [*ast.walk(ast.parse(body))]
    own = {each.name for each in nodes if isinstance(each, ast.ClassDef)}
    own |= {
        each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    own |= {
        name.asname or name.name
        for each in nodes
        if isinstance(each, ast.ImportFrom)
        for name in each.names
    }
    used = dict.fromkeys(each.id for each in nodes if isinstance(each, ast.Name))
    known = module.imports | _FROM
    return "".join(
        f"from {known[name]} import {name}\n" for name in used if name in known and name not in own
    )


def formatted(folder: Path) -> None:
    """Sort the imports and format."""
    ruff = [str(Path(sys.executable).with_name("ruff"))]
    config = ["--config", "pyproject.toml", "-q"]
    subprocess.run([*ruff, "check", *config, "--select", "I", "--fix", str(folder)], check=True)
    subprocess.run([*ruff, "format", *config, str(folder)], check=True)


def main(check: bool) -> int:
    """Write or compare the stubs, and return the exit status."""
    wanted: dict[Path, str] = {}
    for source in sorted(_SOURCES.rglob("*.pyx")):
        try:
            text = pyi(source)
        except Unclear as reason:
            print(f"{source}: {reason}", file=sys.stderr)
            return 1
        if text is not None:
            wanted[source.with_suffix(".pyi")] = text
    with tempfile.TemporaryDirectory(prefix="policyd-stubs-") as folder:
        for path, text in wanted.items():
            copy = Path(folder, path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
        formatted(Path(folder))
        wanted = {path: Path(folder, path).read_text() for path in wanted}
    there = {path: path.read_text() for path in _SOURCES.rglob("*.pyi")}
    stale = sorted(path for path, text in wanted.items() if text != there.get(path))
    for path in stale:
        if check:
            print(f"{path} is not what its .pyx says: run python -m tools.stubs", file=sys.stderr)
        else:
            path.write_text(wanted[path])
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
