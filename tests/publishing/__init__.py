"""Image and chart in a registry of this machine, signed and verified: ``make rehearsal``."""
