"""The corrections that ``policyd lint --fix`` makes."""
