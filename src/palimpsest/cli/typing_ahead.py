"""What is typed while the program loads is kept, and shown once, in the input."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def keeping_what_is_typed() -> Generator[None]:
    """Keep the terminal from echoing, and from turning Enter into a line feed, until the end.

    The terminal is as it was afterwards, whatever happened. Windows keeps keys by itself.
    """
    if sys.platform == "win32":
        yield
        return
    import termios

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    quiet = termios.tcgetattr(descriptor)
    quiet[0] &= ~termios.ICRNL
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(descriptor, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
