"""Scripts for those who work on policyd."""
