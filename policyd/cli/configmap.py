"""``policyd configmap``: packs policies into the ConfigMap of a cluster. Applies nothing."""

import gzip
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from policyd._core.match.labels import key_errors, value_errors
from policyd.cli.shared.output import within
from policyd.cli.shared.settings import EXISTING_OR_STDIN, option
from policyd.cli.shared.version import version_option
from policyd.errors import ConfigError, file_errors
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.model.kinds import POLICY_KINDS
from policyd.policy.model.names import dns_subdomain
from policyd.policy.source.files import is_json, without_packing
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.source.loader import load
from policyd.policy.source.splitting import split
from policyd.policy.source.yaml_output import dump
from policyd.versions import KubernetesVersion

# Kubernetes' limit on the values of a ConfigMap (core/v1 types, MaxSecretSize), and that on
# annotations, in which `kubectl apply` keeps a copy of the object.
MAX_BYTES = 1024 * 1024
MAX_ANNOTATION_BYTES = 256 * 1024
_BAD_IN_KEY = re.compile(r"[^-._a-zA-Z0-9]+")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)
_HEAD = "# Written by policyd configmap: change the policies and run it again.\n"
_EPILOG = """\b
Examples:
  policyd configmap policies/ | kubectl apply --server-side -f -
  policyd configmap policies/ --output deploy/policies.yaml
  policyd configmap policies/ namespaces.yaml \\
      --name team-policies --namespace shop
  policyd configmap policies/ --name team-shop -l policyd.dev/policies=true

Exit status: 0 on success, 2 if a policy is invalid, there is none, or they do not fit.
"""


@dataclass(frozen=True, slots=True)
class PackedFile:
    """The content of one key: a file without its suites."""

    file: str
    suffix: str
    text: str
    policies: tuple[str, ...]


@click.command("configmap", epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True, type=EXISTING_OR_STDIN)
@option("--name NAME", "Set the name of the ConfigMap.", default="policyd-policies")
@option("-n, --namespace NAME", "Set the namespace of the ConfigMap.", default="policyd")
@option(
    "-l, --label KEY=VALUE...",
    "Set a label of the ConfigMap; may be repeated. `policyd serve --policy-configmaps` "
    "selects by labels.",
    to="labels",
)
@option(
    "--gzip",
    "Compress each key, for policies that would not fit otherwise; policyd reads both.",
    to="compressed",
)
@option("-o, --output FILE", "Write the ConfigMap to this file instead of standard output.")
@version_option()
def command(
    *,
    paths: tuple[Path, ...],
    name: str,
    namespace: str,
    labels: tuple[str, ...],
    compressed: bool,
    output: Path | None,
    version: KubernetesVersion,
) -> None:
    """Pack policies into the ConfigMap that policyd mounts in a cluster, and print it as YAML.

    PATHS are files and directories of YAML or JSON; - is standard input. They are loaded and
    compiled first, so that no broken policy is packed. Every document is kept as it is written,
    with its comments: policies, bindings, parameters, CustomResourceDefinitions. Suites and their
    fixtures are left out.

    A file with one policy becomes the key POLICY.yaml, any other file a key made from its path.
    """
    for flag, value in (("--name", name), ("--namespace", namespace)):
        wrong = list(dns_subdomain(value))
        if wrong:
            raise click.BadParameter(f"{value!r} is not valid: {'; '.join(wrong)}", param_hint=flag)
    labelled = dict(map(_label, labels))
    sources = load(paths, version=version)
    compiler.compile_strict(sources)
    packed = list(_files(sources))
    if not any(each.policies for each in packed):
        raise ConfigError(f"no policies {within(paths)}")
    metadata: JSONObject = {"name": name, "namespace": namespace}
    if labelled:
        metadata["labels"] = labelled
    text = _config_map(_keyed(packed, paths), metadata, compressed=compressed)
    if output is None:
        click.echo(text, nl=False)
    else:
        with file_errors(output):
            output.write_text(text, encoding="utf-8")
        click.echo(f"wrote {output}", err=True)
    if len(text) > MAX_ANNOTATION_BYTES:
        click.echo("note: too large for kubectl apply without --server-side", err=True)


def _files(sources: Sources) -> Iterator[PackedFile]:
    by_file: dict[str, list[Document]] = {}
    for document in sources.documents:
        if not (document.is_policy and document.kind == "PolicyTest"):
            by_file.setdefault(document.file, []).append(document)
    for file, documents in by_file.items():
        # The items of a List and the documents of a JSON stream share one chunk of their file.
        chunks = {id(each.origin.chunk): each.origin.chunk.text for each in documents}
        parts = [text if text.endswith("\n") else f"{text}\n" for text in chunks.values()]
        for index, part in enumerate(parts[1:], 1):
            if not part.startswith("---"):
                parts[index] = f"---\n{part}"
        yield PackedFile(
            file=file,
            suffix=".json" if is_json(file) else ".yaml",
            text=_readable(file, "".join(parts)),
            policies=tuple(
                each.name for each in documents if each.is_policy and each.kind in POLICY_KINDS
            ),
        )


def _readable(file: str, text: str) -> str:
    """Strip trailing blanks, which YAML cannot write in a block, unless a value changes."""
    stripped = _TRAILING.sub("", text.replace("\r\n", "\n")).replace("\t", "    ")
    return stripped if _values(file, stripped) == _values(file, text) else text


def _values(file: str, text: str) -> list[JSONObject]:
    return [each.raw for each in split(file, text.encode())[0]]


def _keyed(packed: Iterable[PackedFile], paths: tuple[Path, ...]) -> dict[str, str]:
    """Map keys to their texts. Raises ConfigError for two files of one key."""
    files = list(packed)
    short = {each.file: each.policies[0] for each in files if len(set(each.policies)) == 1}
    uses = Counter(short.values())
    keyed: dict[str, str] = {}
    for each in files:
        stem = short.get(each.file, "")
        if uses[stem] != 1:
            stem = _stem(each.file, paths)
        key = stem + each.suffix
        if key in keyed:
            raise ConfigError(f"{each.file}: a second file for the key {key}; rename it")
        keyed[key] = each.text
    return keyed


def _stem(file: str, paths: tuple[Path, ...]) -> str:
    """Return the path of a file in its directory as a key: ``a/b.yaml`` is ``a.b``."""
    if file == "-":
        return "stdin"
    path = Path(without_packing(file)).with_suffix("")
    directory = next((each for each in paths if each.is_dir() and path.is_relative_to(each)), None)
    inner = path.name if directory is None else ".".join(path.relative_to(directory).parts)
    return _BAD_IN_KEY.sub("-", inner).lstrip(".")


def _label(text: str) -> tuple[str, str]:
    key, equal, value = text.partition("=")
    wrong = [*key_errors(key), *value_errors(value)] if equal else ["expected KEY=VALUE"]
    if wrong:
        message = f"{text!r} is not valid: {'; '.join(wrong)}"
        raise click.BadParameter(message, param_hint="--label")
    return key, value


def _config_map(keyed: dict[str, str], metadata: JSONObject, *, compressed: bool) -> str:
    """Return the ConfigMap as YAML. Raises ConfigError if it would be too large."""
    packed = {
        f"{key}.gz" if compressed else key: gzip.compress(raw, mtime=0) if compressed else raw
        for key, raw in sorted((key, text.encode()) for key, text in keyed.items())
    }
    size = sum(map(len, packed.values()))
    if size > MAX_BYTES:
        remedy = "split them over several ConfigMaps" if compressed else "use --gzip"
        raise ConfigError(f"{size >> 10} KiB of policies do not fit a ConfigMap of 1 MiB: {remedy}")
    field, read = ("binaryData", b64encode) if compressed else ("data", bytes)
    data = {key: read(raw).decode() for key, raw in packed.items()}
    return _HEAD + dump(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, field: data}
    )
