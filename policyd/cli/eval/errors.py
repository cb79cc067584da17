"""Print expressions that do not compile for people; ``--jsonl`` prints the text of Kubernetes."""

from policyd.cli.shared.output import styled
from policyd.errors import CelCompileError


def compile_error(error: CelCompileError) -> str:
    """Return each problem with its place, the line with a caret, and a hint."""
    lines: list[str] = []
    for problem in error.problems:
        place = f"{problem.line}:{problem.column}: " if problem.excerpt else ""
        lines.append(f"{styled('error', fg='red')}: {place}{problem.text}")
        if problem.excerpt:
            lines.append(problem.excerpt)
        if problem.hint:
            lines.append(f"  {styled('hint', fg='cyan')}: {problem.hint}")
    return "\n".join(lines)
