"""Advice about policies: one file for each subject of rules."""
