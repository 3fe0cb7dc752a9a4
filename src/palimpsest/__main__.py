"""``python -m palimpsest``."""

from palimpsest.cli.entry import run

run()
