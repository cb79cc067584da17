"""Validates webhook configurations like the API server, with its messages."""

from policyd.webhooks.validation.configurations import problems
from policyd.webhooks.validation.decoding import with_defaults
from policyd.webhooks.validation.field_problems import FieldProblem

__all__ = ["FieldProblem", "problems", "with_defaults"]
