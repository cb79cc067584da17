"""Validation of webhook configurations as the API server validates them, with its texts."""

from policyd.webhooks.validation.configurations import problems, problems_of_update, warnings
from policyd.webhooks.validation.defaults import with_defaults
from policyd.webhooks.validation.field_problems import FieldProblem

__all__ = ["FieldProblem", "problems", "problems_of_update", "warnings", "with_defaults"]
