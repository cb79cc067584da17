"""The advice of ``policyd lint``: one file for each subject of lint rules."""
