"""The site of the documentation: docs/, and what its pages link to, built by MkDocs."""
