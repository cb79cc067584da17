"""Scripts for developing policyd."""
