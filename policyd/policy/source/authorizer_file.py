"""The rules of an authorizer in a file of their own: those that a suite has under ``authorizer``.

Who answers by them stands above.
"""

from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from policyd.errors import PolicySchemaError, Problem
from policyd.policy.model.base import Many, Model
from policyd.policy.model.findings import FormProblem, schema_findings
from policyd.policy.model.suite import AuthorizerRule
from policyd.policy.source.documents import Document
from policyd.policy.source.splitting import read_located

_HINT = "write one rule per list item: - {user: bob, verb: create, resource: pods}"


class _Rules(Model):
    authorizer: Many[AuthorizerRule] = ()


def load_rules(data: bytes, name: str) -> tuple[AuthorizerRule, ...]:
    """The rules in a YAML or JSON text: a list, alone or as the only field, ``authorizer``.

    Raises ``PolicySchemaError`` with every fault and its place.
    """
    values, problems = read_located(name, data)
    if not problems and len(values) != 1:
        message = f"expected one list of rules, got {len(values)} documents"
        problems = [Problem(message, file=name, hint=_HINT)]
    if problems:
        raise PolicySchemaError(problems)
    value, origin = values[0]
    alone = isinstance(value, list)
    raw: dict[str, Any] = {"authorizer": value} if alone else value
    document = Document("", "", "", "", name, 0, {}, origin=origin)
    if not isinstance(raw, dict):
        raise PolicySchemaError(
            [document.problem(FormProblem((), "expected a list of rules", _HINT))]
        )
    try:
        return _Rules.model_validate(raw).authorizer
    except ValidationError as error:
        findings = schema_findings(error, _Rules)
    if alone:  # then the paths begin with the number of the rule
        findings = [replace(each, path=each.path[1:]) for each in findings]
    raise PolicySchemaError([document.problem(each) for each in findings])
