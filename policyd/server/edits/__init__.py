"""Edits of policies, checked before they are stored."""
