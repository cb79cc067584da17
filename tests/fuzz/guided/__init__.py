"""Coverage-guided fuzzing: hostile bytes for everything that reads input of others.

Each target is a file of ``targets`` and a line in ``table.py``. ``make fuzz`` runs them with atheris
(libFuzzer), over policyd's Python and its instrumented core; ``test_guided.py`` replays the corpus
and all findings in ``make test``, where nothing is instrumented.
"""
