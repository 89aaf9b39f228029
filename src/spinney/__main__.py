"""``python -m spinney``."""

from spinney.cli.main import main

main()
