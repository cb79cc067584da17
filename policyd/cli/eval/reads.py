"""The variables ``reads.NAME`` of ``policyd eval``, from files. Evaluates no expression."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from policyd.errors import ConfigError
from policyd.json_types import JSONObject, object_in
from policyd.policy.compile.compiler import compile_strict
from policyd.policy.compile.params import KnownReads
from policyd.policy.compile.reads.compiled_reads import CompiledRead, compiled_read
from policyd.policy.kinds.mapping import ResourceMapper
from policyd.policy.model.reads import ANY, PolicyRead
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load
from policyd.versions import KubernetesVersion


class _Request(NamedTuple):
    """The parts of a request that decide which objects it sees."""

    namespace: str
    name: str
    resource: tuple[str, str, str]


def read_variables(
    paths: tuple[Path, ...], given: Mapping[str, Any], version: KubernetesVersion
) -> JSONObject:
    """Return what an expression sees of the objects in these files, by ``reads.NAME``: as the
    policies among them declare it, or, if none has reads, a list of each kind by its resource.
    """
    sources = load(paths, version=version)
    policies = compile_strict(sources)
    found: dict[str, CompiledRead] = {}
    declared = [read for policy in policies.policies for read in policy.reads]
    for read in declared or _listed(sources, policies.mapper):
        if found.setdefault(read.name, read) != read:
            raise ConfigError(
                f"--reads: there are different reads.{read.name}: give one policy that declares it"
            )
    known = KnownReads(policies.params, policies.mapper)
    request = _request(given, policies.mapper)
    return {
        f"reads.{name}": known.table(read).shown_to(request) for name, read in sorted(found.items())
    }


def _listed(sources: Sources, mapper: ResourceMapper) -> Iterator[CompiledRead]:
    """Yield a read of all objects of each kind."""
    others = [each for each in sources.documents if not each.is_policy]
    for api_version, kind in sorted({(str(each.raw["apiVersion"]), each.kind) for each in others}):
        name = mapper.of(api_version, kind).resource
        read = {"name": name, "apiVersion": api_version, "kind": kind, "namespace": ANY}
        yield compiled_read(PolicyRead.validated(read), None, ())


def _request(given: Mapping[str, Any], mapper: ResourceMapper) -> _Request:
    """Return the request that the variables ``request`` and ``object`` describe."""
    request, sent = object_in(given, "request"), object_in(given, "object")
    metadata, resource = object_in(sent, "metadata"), object_in(request, "resource")
    mapped = mapper.of(str(sent.get("apiVersion", "")), str(sent.get("kind", "")))
    return _Request(
        str(request.get("namespace") or metadata.get("namespace") or ""),
        str(request.get("name") or metadata.get("name") or ""),
        (
            str(resource.get("group", mapped.group)),
            str(resource.get("version", mapped.version)),
            str(resource.get("resource", mapped.resource)),
        ),
    )
