"""Where the ``palimpsest`` command begins: an interrupt is quiet even while modules load."""

from __future__ import annotations

import sys


def run() -> None:
    """Load the command line and run it.

    Raises:
        SystemExit: always.
    """
    try:
        from palimpsest.cli import main

        main.run()
    except KeyboardInterrupt:
        sys.exit(130)
