"""Work that a cancellation must not cut in two."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

_T = TypeVar("_T")


async def finish(work: Awaitable[_T]) -> tuple[_T, bool]:
    """Wait for work to finish even if this task is cancelled meanwhile.

    Returns:
        The work's result, and whether a cancellation arrived; the caller decides when to act on it.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
    return task.result(), cancelled
