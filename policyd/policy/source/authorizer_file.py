"""Authorizer rules in a separate file, with the fields of a suite's ``authorizer``.

The authorizer that applies them is in a higher package.
"""

from dataclasses import replace
from typing import Any

from policyd.errors import PolicySchemaError, Problem
from policyd.policy.model.base import Model
from policyd.policy.model.findings import FormProblem, schema_findings
from policyd.policy.model.shapes import Many
from policyd.policy.model.suite import AuthorizerRule
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.splitting import read_located

_HINT = "write one rule per list item: - {user: bob, verb: create, resource: pods}"


class _Rules(Model):
    authorizer: Many[AuthorizerRule] = ()


def load_rules(data: bytes, name: str) -> tuple[AuthorizerRule, ...]:
    """Return the rules of a YAML or JSON document: a list, or an object with only ``authorizer``.

    Raises ``PolicySchemaError`` with every problem and its place.
    """
    values, problems = read_located(name, data)
    if not problems and len(values) != 1:
        message = f"expected one list of rules, got {len(values)} documents"
        problems = [Problem(message, file=name, hint=_HINT)]
    if problems:
        raise PolicySchemaError(problems)
    value, origin = values[0]
    alone = isinstance(value, list)
    raw: Any = {"authorizer": value} if alone else value
    document = Document("", "", "", "", name, 0, {}, origin=origin)
    if not isinstance(raw, dict) or "kind" in raw:
        given = f", got a {raw['kind']}" if isinstance(raw, dict) else ""
        wrong = FormProblem((), f"expected a list of rules{given}", _HINT)
        raise PolicySchemaError([document.problem(wrong)])
    found, faults = _Rules.read(raw)
    if not faults:
        return found.authorizer
    findings = schema_findings(faults, _Rules)
    if alone:  # the paths of a plain list start with the index of the rule
        findings = [replace(each, path=each.path[1:]) for each in findings]
    raise PolicySchemaError([document.problem(each) for each in findings])
