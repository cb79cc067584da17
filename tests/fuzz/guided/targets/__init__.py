"""The targets; each module has one, ``TARGET``."""
