"""Translate patterns to CEL that means the same inside the API server, messages included.

The compiled checks (``policyd/pattern``) are what is translated, so the notation is read in one
place. ``verdicts`` says whether a value is admitted, ``places`` lists what does not match, and
``wording`` prints it as the core does.
"""
