"""Print expressions that do not compile for people; ``--jsonl`` prints the text of Kubernetes."""

from policyd.cli.shared.output import problem_details, styled
from policyd.errors import CelCompileError


def compile_error(error: CelCompileError) -> str:
    """Return each problem with its place, the line with a caret, and a hint."""
    lines: list[str] = []
    for problem in error.problems:
        place = f"{problem.line}:{problem.column}: " if problem.excerpt else ""
        lines.append(f"{styled('error', fg='red')}: {place}{problem.summary or problem.message}")
        lines += problem_details(problem)
    return "\n".join(lines)
