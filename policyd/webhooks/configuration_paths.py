"""Webhook configurations as an API server stores them: their resources and paths."""

API_VERSION = "admissionregistration.k8s.io/v1"
MUTATING, VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
# Mutations come first: validations may rely on them.
RESOURCES = {
    MUTATING: "mutatingwebhookconfigurations",
    VALIDATING: "validatingwebhookconfigurations",
}
# The webhook that checks edits of ConfigMaps with policies.
EDIT_PATH = "/policies/validate"


def path_of(kind: str, name: str = "") -> str:
    """Return the path of a configuration, or of all of a kind."""
    path = f"apis/{API_VERSION}/{RESOURCES[kind]}"
    return f"{path}/{name}" if name else path
