"""Expressions of imported policies in the form in which people read them. Changes no meaning."""
