"""Edits of policies: what is wrong with them, the process that checks them, and the webhook."""
