"""Find the webhooks that the API server calls for a request, in order, and why not the others."""

from policyd.webhooks.calls.calling import called
from policyd.webhooks.calls.model import Calls, Hook, HookCall, NotCalled, Rejection, hooks_of

__all__ = ["Calls", "Hook", "HookCall", "NotCalled", "Rejection", "called", "hooks_of"]
