"""Hints for people: what a mistake in an expression means, and what to write instead.

Kubernetes' own error texts are not changed here. A row is added to the table of its family:
``operators`` and ``syntax``, ``vocabulary`` and ``variable_names`` (names), ``overloads``,
``quantities`` and ``results`` (types).
"""
