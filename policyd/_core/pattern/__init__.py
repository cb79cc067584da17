"""Compiled patterns: trees of checks, and the report of what does not fit."""
