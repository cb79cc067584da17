"""The figures that policyd is measured by; run with ``make bench``. Never a time limit in a test."""
