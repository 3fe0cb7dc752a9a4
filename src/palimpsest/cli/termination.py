"""SIGTERM, taken as an interrupt is: what is under way is cancelled, and cleans up."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def terminated() -> Generator[Callable[[], bool]]:
    """Let SIGTERM cancel the present task as an interrupt does; tell whether it came."""
    came: list[bool] = []
    if sys.platform == "win32":
        yield lambda: bool(came)
        return
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None

    def cancel() -> None:
        came.append(True)
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, cancel)
    try:
        yield lambda: bool(came)
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
