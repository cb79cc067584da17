"""The real Kyverno and Gatekeeper beside ``policyd compare`` and ``policyd import``."""
