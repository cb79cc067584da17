"""Mutations of Pods as mutations of pod templates: the paths of JSON Patches, and the types of
ApplyConfigurations. ``policyd.export.controllers`` rewrites what expressions read.
"""

from collections.abc import Iterator

from policyd.cel.syntax.ast import Call, Expr, Literal, StructExpr, StructField
from policyd.cel.syntax.lexer import Token
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import nodes
from policyd.export.controllers import PodTemplate
from policyd.export.expressions.brackets import closing, tokens_of
from policyd.export.expressions.occurrences import Untranslatable, spliced
from policyd.policy.source.yaml_edit.edits import TextEdit
from policyd.versions import KubernetesVersion

_PATHS = frozenset({"path", "from"})


def with_template_paths(text: str, template: PodTemplate, version: KubernetesVersion) -> str:
    """Return a JSONPatch expression with the paths of the template.

    >>> from policyd.export.controllers import TEMPLATES
    >>> from policyd.versions import NEWEST
    >>> with_template_paths("JSONPatch{op: 'remove', path: '/spec/os'}", TEMPLATES[0], NEWEST)
    "JSONPatch{op: 'remove', path: '/spec/template/spec/os'}"

    Raises Untranslatable.
    """
    prefix = "".join(f"/{key}" for key in template.path)
    tokens = _Tokens(text)
    splices = []
    for node in _structs(text, version):
        if node.type_name != "JSONPatch":
            continue
        if not any(field.name == "path" for field in node.fields):
            raise Untranslatable("a JSONPatch without a path")
        for field in node.fields:
            if field.name in _PATHS:
                splices.append(TextEdit(*tokens.start_of(field), prefix))
    return spliced(text, splices)


def with_template_types(text: str, template: PodTemplate, version: KubernetesVersion) -> str:
    """Return an ApplyConfiguration expression with the types of the template.

    >>> from policyd.export.controllers import TEMPLATES
    >>> from policyd.versions import NEWEST
    >>> with_template_types("Object{spec: Object.spec{os: 'x'}}", TEMPLATES[0], NEWEST)[:51]
    'Object{spec: Object.spec{template: Object.spec.temp'

    Raises Untranslatable.
    """
    tokens = _Tokens(text)
    splices = []
    inner = ".".join(("Object", *template.path))
    for node in _structs(text, version):
        first, brace = tokens.type_before(node.pos)
        if node.type_name == "Object":
            _check_root(node)
            opening = _opening(template)
            splices.append(TextEdit(first.pos, brace.pos + 1, f"{opening}{{"))
            closing = tokens.closing(brace)
            splices.append(TextEdit(closing.pos, closing.pos + 1, "}" * (len(template.path) + 1)))
        elif node.type_name.startswith("Object."):
            splices.append(TextEdit(first.pos, first.pos + len(first.text), inner))
    return spliced(text, splices)


def _opening(template: PodTemplate) -> str:
    """Return the types around the template's."""
    found, kind = "Object", "Object"
    for key in template.path:
        kind = f"{kind}.{key}"
        found += f"{{{key}: {kind}"
    return found


def _check_root(node: StructExpr) -> None:
    for field in node.fields:
        if field.name == "spec":
            continue
        fields = field.value.fields if isinstance(field.value, StructExpr) else None
        if (
            fields is None
            or field.name != "metadata"
            or any(each.name == "namespace" for each in fields)
        ):
            raise Untranslatable(f"an ApplyConfiguration that sets {field.name} of the Pod")


def _structs(text: str, version: KubernetesVersion) -> Iterator[StructExpr]:
    for node in nodes(parse(text, version)):
        if isinstance(node, StructExpr):
            yield node


class _Tokens:
    """The tokens of an expression, found by their positions."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens_of(text)
        self._at = {token.pos: index for index, token in enumerate(self._tokens)}

    def start_of(self, field: StructField) -> tuple[int, int]:
        """Return the place behind the opening quote of a path, which must begin with a literal that
        shows the first two keys.
        """
        value: Expr = field.value
        whole = isinstance(value, Literal)
        while isinstance(value, Call) and value.function == "_+_" and len(value.args) == 2:
            value = value.args[0]
        token = self._tokens[self._at[field.pos] + 1]
        if not isinstance(value, Literal) or not isinstance(value.value, str):
            raise Untranslatable("a path whose beginning is computed")
        if not _is_inside(value.value, whole):
            raise Untranslatable(f"the path {value.value}, which is not inside the template")
        quote = min((token.text.find(each), each) for each in "'\"" if each in token.text)[1]
        if token.kind != "STRING":
            raise Untranslatable("a path whose beginning is computed")
        start = token.text.index(quote)
        length = 3 if token.text[start:].startswith(quote * 3) else 1
        return token.pos + start + length, token.pos + start + length

    def type_before(self, brace: int) -> tuple[Token, Token]:
        """Return the first token of the type of a message, and the brace behind it."""
        index = self._at[brace]
        first = index - 1
        while self._tokens[first - 1].text == "." and first > 1:
            first -= 2
        return self._tokens[first], self._tokens[index]

    def closing(self, brace: Token) -> Token:
        """Return the brace that closes another brace."""
        end = closing(self._tokens, self._at[brace.pos])
        assert end is not None
        return self._tokens[end]


def _is_inside(path: str, whole: bool) -> bool:
    """Return whether a path, or one that begins so, is a field of the Pod that its template has."""
    if path.startswith("/spec/"):
        return True
    if not path.startswith("/metadata/"):
        return False
    field, slash, _ = path.removeprefix("/metadata/").partition("/")
    return field not in ("", "namespace") and bool(slash or whole)
