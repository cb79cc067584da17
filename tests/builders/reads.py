"""Reads of policies, compiled, and what they find."""

from typing import NamedTuple

import orjson

from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.compiler import compile_sources
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.source import loader
from tests.builders.policies import PODS, demand, policy

CONFIG_MAPS_READ: JSONObject = {"name": "maps", "apiVersion": "v1", "kind": "ConfigMap"}
HOSTS = "item.data.hosts"


class Request(NamedTuple):
    """What of a request decides what it sees of reads."""

    namespace: str = "shop"
    name: str = "own"
    resource: tuple[str, str, str] = ("", "v1", "configmaps")


def reading(*expressions: str, **read: JSON) -> JSONObject:
    """A policy of Pods with one read, ``reads.maps``, and these validations."""
    return policy(
        "reader",
        PODS,
        reads=[{**CONFIG_MAPS_READ, **read}],
        validations=[demand(each, "no") for each in expressions or ("true",)],
    )


def compiled(*documents: JSONObject) -> CompiledPolicySet:
    """Policies, which must have no problems."""
    text = "\n---\n".join(orjson.dumps(each).decode() for each in documents)
    found = compile_sources(loader.load_text(text))
    assert found.problems == (), found.problems
    return found


def compiled_read(*expressions: str, **read: JSON) -> CompiledRead:
    """The read of such a policy."""
    (found,) = compiled(reading(*expressions, **read)).policies[0].reads
    return found


def config_map(name: str, namespace: str = "shop", hosts: JSON = None, **labels: str) -> JSONObject:
    """An object of the read."""
    metadata: JSONObject = {"name": name, "namespace": namespace, "labels": {**labels}}
    return {"metadata": metadata, "data": {"hosts": hosts if hosts is not None else []}}
