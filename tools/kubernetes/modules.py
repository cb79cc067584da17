"""What the Go modules of a Kubernetes version publish: OpenAPI documents and Go types.

    for group_version, document in openapi("1.37"):
        ...

The documents are those in k8s.io/kubernetes, ``api/openapi-spec/v3``: those of an API server with
all API versions and feature gates. No API server is built or started. The go command downloads the
modules from its proxy, and verifies them.
"""

import json
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from policyd.json_types import JSONObject
from tests import kubernetes

# The releases that the tables of each version are read from; the newest comes last. Every minor
# version that policyd supports has one.
RELEASES = {
    "1.30": "1.30.14",
    "1.31": "1.31.14",
    "1.32": "1.32.13",
    "1.33": "1.33.13",
    "1.34": "1.34.4",
    "1.35": "1.35.4",
    "1.36": "1.36.3",
    "1.37": "1.37.2",
    "1.38": "1.38.0-beta.0",
}
GOTYPES = Path(__file__).parent / "gotypes"
# The optional parts of ``gotypes``: a file, and the module that it needs.
PARTS = {
    "apiextensions": "k8s.io/apiextensions-apiserver",
    "apiregistration": "k8s.io/kube-aggregator",
}
# Modules of a version that the module proxy does not serve, and what stands for them.
REPLACED = {
    "1.38": ("sigs.k8s.io/structured-merge-diff/v7=sigs.k8s.io/structured-merge-diff/v7@v7.0.0",),
}
_DOCUMENT = "_openapi.json"


def openapi(version: str) -> Iterator[tuple[str, JSONObject]]:
    """Yield each group and version, such as ``apps/v1``, with its OpenAPI document."""
    for name, content in published(version, "api/openapi-spec/v3/"):
        if name.endswith(_DOCUMENT):
            path = name.removesuffix(_DOCUMENT).replace("__", "/")
            yield path.removeprefix("apis/").removeprefix("api/"), json.loads(content)


def published(version: str, folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files in a folder of k8s.io/kubernetes, in the order of their names."""
    module = f"k8s.io/kubernetes@v{RELEASES[version]}"
    prefix = f"{module}/{folder}"
    with zipfile.ZipFile(downloaded(module, version)) as packed:
        for name in sorted(packed.namelist()):
            if name.startswith(prefix):
                yield name.removeprefix(prefix), packed.read(name)


def downloaded(module: str, version: str) -> str:
    """Return the path of a module's zip file; kubernetes.Unavailable if it cannot be downloaded."""
    answer = json.loads(go(Path(), version, "mod", "download", "-json", module))
    if "Zip" not in answer:
        raise kubernetes.Unavailable(f"{module}: {answer.get('Error')}")
    path: str = answer["Zip"]
    return path


def go_types(version: str) -> tuple[dict[str, JSONObject], dict[str, str]]:
    """Return the fields of the Go structs by the name of their OpenAPI definition; and the parts of
    ``gotypes`` that cannot be built for the version, with the reason.
    """
    found, reason = built_types(version, PARTS)
    if found is not None:
        return found, {}
    missing = {}
    for part, path in PARTS.items():
        alone, reason = built_types(version, {part: path})
        if alone is None:
            missing[part] = reason
    found, reason = built_types(version, {p: PARTS[p] for p in PARTS if p not in missing})
    if found is None:
        raise kubernetes.Unavailable(reason)
    return found, missing


def built_types(version: str, parts: Mapping[str, str]) -> tuple[dict[str, JSONObject] | None, str]:
    """Return what ``gotypes`` prints with these parts; None and the reason if it does not build."""
    staging = "v0." + RELEASES[version].removeprefix("1.")
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder)
        for name in ("main", *parts):
            shutil.copy(GOTYPES / f"{name}.go", module)
        try:
            go(module, version, "mod", "init", "policyd.dev/gotypes")
            for replacement in REPLACED.get(version, ()):
                go(module, version, "mod", "edit", f"-replace={replacement}")
            paths = ("k8s.io/client-go", *parts.values())
            go(module, version, "get", *(f"{path}@{staging}" for path in paths))
            printed = go(module, version, "run", "-mod=mod", ".")
        except kubernetes.Unavailable as reason:
            return None, str(reason)
    structs = map(json.loads, printed.splitlines())
    return {definition_name(each["name"]): each for each in structs}, ""


def go(folder: Path, version: str, *arguments: str) -> str:
    """Return what the go command of a version prints; kubernetes.Unavailable if it fails."""
    ran = subprocess.run(
        [kubernetes.go_command(), *arguments],
        cwd=folder,
        env=kubernetes.go_environment(version),
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode and not ran.stdout:
        raise kubernetes.Unavailable(f"go {' '.join(arguments)}: {ran.stderr.strip()[-300:]}")
    return ran.stdout


def definition_name(go_name: str) -> str:
    """``k8s.io/api/core/v1.PodSpec`` -> ``io.k8s.api.core.v1.PodSpec``."""
    host, _, rest = go_name.partition("/")
    return ".".join([*reversed(host.split(".")), *rest.split("/")])
