"""Log lines about policies with errors, and about a server that cannot start."""

from policyd.errors import PolicydError, PolicyError
from policyd.http.policies_in_use import Reload
from policyd.observability.logs import Log
from policyd.server.policies.store import Store


def report(log: Log, store: Store, attempt: Reload, last_good: str) -> None:
    """Log the result of a load; ``last_good`` names the place of the last good policies."""
    if not attempt.succeeded:
        kept = policies_in_use(store, attempt, last_good)
        log.write(
            "error",
            "reload",
            f"the policies have errors ({len(attempt.errors)}); {kept}",
            generation=attempt.generation,
            errors=list(attempt.errors),
            quarantined=quarantined(store),
            held=list(attempt.held),
        )
        return
    log.write("info", "reload", "policies loaded", generation=attempt.generation)
    if not store.current.policies:
        log.write("warning", "empty", "no policies are loaded; every request is allowed")


def policies_in_use(store: Store, attempt: Reload, last_good: str) -> str:
    """Describe the policies in use after a load with errors; ``last_good`` names that place."""
    if attempt.at_start and store.serves_last_good:
        return f"the last good policies, kept in {last_good}, are served"
    if not store.current.policies:
        return "there are no policies to serve"
    if attempt.held:
        names = ", ".join(attempt.held)
        return f"the previous content of {names} stays in use; other changes are loaded"
    if attempt.at_start:
        return "policies without errors are served; broken ones follow their failurePolicy"
    return "the loaded policies stay in use"


def quarantined(store: Store) -> list[str]:
    """Return the names of the policies in use that are broken."""
    policies = store.current.policies
    return [policy.name for policy in policies if policy.state == "quarantined"]


def cannot_start(log: Log, error: PolicydError) -> None:
    """Log why the server cannot start."""
    if isinstance(error, PolicyError):
        errors = [str(problem) for problem in error.problems]
        message = "no policy could be loaded, so there is nothing to serve"
        log.write("error", "start", message, errors=errors)
    else:
        log.write("error", "start", str(error))
