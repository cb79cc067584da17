"""The compiled core: CEL evaluation, matching, patching. Imports no third party but
the regex engine.
"""
