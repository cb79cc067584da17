from policyd._core.eval.functions import Library

LIBRARY: Library

def clause_at(pattern: str, at: int) -> tuple[str, int]: ...
