"""``python -m policyd``."""

from policyd.cli import main

main()
