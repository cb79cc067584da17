"""The formats of a summary: tables for terminals, JSON for programs, a page for people."""
