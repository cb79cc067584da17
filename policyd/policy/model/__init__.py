"""The documents of policyd: their fields, names, findings and lint rules."""
