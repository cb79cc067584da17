"""Hints for people: what a mistake in an expression means, and what to write instead.

Kubernetes' own error texts are not changed here. A row is added to the table of its family:
``operators``, ``words`` and ``literals`` (syntax), ``function_names`` and ``variable_names``,
``overloads`` and ``results`` (types).
"""
