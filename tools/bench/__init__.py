"""The figures that policyd is measured by; run with ``make bench``. No test has a time limit."""
