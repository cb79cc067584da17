"""Values of mutation expressions, written short, how they are applied, and the schemas that the tests
share.
"""

import json
from collections.abc import Callable
from typing import Any

import yaml

from policyd._core.patch.diff import diff
from policyd._core.plan.mutated_tree import MutatedTree
from policyd._core.plan.mutation import ExpressionStep
from policyd._core.values.read_trees import ReadTrees
from policyd._core.values.types import StructValue
from policyd.errors import MutationError, StatusError
from policyd.json_types import JSONObject
from policyd.mutation import KINDS, Schemas, Target
from tests.builders.objects import container, pod

CONFIG_MAP = ("", "v1", "ConfigMap")
POD = ("", "v1", "Pod")
DEPLOYMENT = ("apps", "v1", "Deployment")
SERVICE = ("", "v1", "Service")
WIDGET = ("example.com", "v1", "Widget")

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v0
    served: false
    schema: {openAPIV3Schema: {type: object}}
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              text: {type: string}
              count: {type: integer}
              port: {x-kubernetes-int-or-string: true}
              nullable: {type: string, nullable: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              plain: {type: array, items: {type: string}}
              atomic:
                type: object
                x-kubernetes-map-type: atomic
                additionalProperties: {type: string}
              closed: {type: object, properties: {a: {type: string}}}
              labels: {type: object, additionalProperties: {type: string}}
              endpoints:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, protocol]
                items:
                  type: object
                  properties:
                    port: {type: integer}
                    protocol: {type: string, default: TCP}
                    comment: {type: string}
              strange:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  properties:
                    name: {type: string, default: {}}
                    comment: {type: object, additionalProperties: {type: string}}
              template:
                type: object
                x-kubernetes-embedded-resource: true
                x-kubernetes-preserve-unknown-fields: true
"""
SCHEMAS = Schemas.builtin().with_crds([yaml.safe_load(CRD)])


def struct(name: str, /, **fields: Any) -> StructValue:
    return StructValue(name, fields)


def nested(path: str, /, **fields: Any) -> StructValue:
    """``nested("spec.template", x=1)``: Object{spec: Object.spec{template: Object.spec.template{...}}}."""
    names = path.split(".")
    value = StructValue(".".join(["Object", *names]), fields)
    for depth in range(len(names) - 1, -1, -1):
        value = StructValue(".".join(["Object", *names[:depth]]), {names[depth]: value})
    return value


def patch(op: str, path: str, /, **fields: Any) -> StructValue:
    """``source`` is the operation's ``from``."""
    if "source" in fields:
        fields["from"] = fields.pop("source")
    return StructValue("JSONPatch", {"op": op, "path": path, **fields})


def two_containers(image: str = "a:1", **fields: Any) -> JSONObject:
    """A Pod whose containers have lists with keys; ``fields`` are those of ``pod``."""
    app = container("app", image, ports=[{"containerPort": 80, "protocol": "TCP"}])
    side = container("side", "s:1", env=[{"name": "A", "value": "1"}])
    return pod(app, side, namespace=None, **fields)


def mutated(
    kind: str, value: object, obj: JSONObject, target: Target, sources: tuple[object, ...]
) -> JSONObject:
    """The object after a mutation with this value. The direct form and the general one must give the
    same: object, order of its keys, operations, error.
    """
    mutator = KINDS[kind].mutator
    assert mutator is not None
    root = None if target.schema is None else target.schema.root
    tree = MutatedTree(obj, root)
    general = outcome(lambda: mutator.apply(value, obj, target, ReadTrees(sources)))
    step = ExpressionStep(0, mutator)
    found = outcome(lambda: step.apply(value, obj, target, ReadTrees(sources), tree))
    if isinstance(general, Exception):
        assert (type(found), str(found)) == (type(general), str(general))
        raise general
    assert not isinstance(found, Exception), found
    assert json.dumps(found) == json.dumps(general)
    if tree.accept(found) is None:
        operations = diff(obj, general, None if root is None else root.list_keys)
        assert (tree.operations if tree.changes else []) == operations
    return found


def outcome(work: Callable[[], JSONObject]) -> JSONObject | MutationError | StatusError:
    try:
        return work()
    except (MutationError, StatusError) as error:
        return error
