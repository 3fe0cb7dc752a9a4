"""``python -m palimpsest``."""

from palimpsest.cli.main import run

run()
