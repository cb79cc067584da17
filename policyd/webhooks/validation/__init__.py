"""Validation of webhook configurations as the API server validates them, with its texts."""

from policyd.webhooks.validation.configurations import problems
from policyd.webhooks.validation.decoding import with_defaults
from policyd.webhooks.validation.field_problems import FieldProblem

__all__ = ["FieldProblem", "problems", "with_defaults"]
