"""Compiled patterns: trees of checks, and the report of misfits."""
