"""Declarative validation: compile a YAML tree with marks and operators into checks of the core.

``compiler`` reads the notation when a policy loads; ``_core/pattern/checks.pyx`` checks requests.
Overlays share the marks and, for their conditions, the patterns.
"""

from policyd._core.pattern.checks import AnyPattern, Pattern
from policyd.pattern.compiler import compile_any_pattern, compile_pattern
from policyd.pattern.faults import Fault, PatternError

__all__ = [
    "AnyPattern",
    "Fault",
    "Pattern",
    "PatternError",
    "compile_any_pattern",
    "compile_pattern",
]
