"""What a session costs, without a clock: calls of Python functions, and bytes that it holds."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType, ModuleType

_SHARED = (type, ModuleType, FunctionType, CodeType, FrameType)


@dataclass
class Work:
    """Python functions entered and generators resumed, in this thread."""

    calls: int = 0


@contextmanager
def counted(only: FunctionType | None = None) -> Generator[Work]:
    """Count the calls of a block, or those of one function in it."""
    work = Work()

    def count(frame: FrameType, event: str, argument: object) -> None:
        del argument
        if event == "call" and (only is None or frame.f_code is only.__code__):
            work.calls += 1

    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()  # a collection runs the finalizers of garbage that others left
    sys.setprofile(count)
    try:
        yield work
    finally:
        sys.setprofile(None)
        if was_enabled:
            gc.enable()


def held_bytes(*roots: object) -> int:
    """Sum the sizes of all objects that can be reached, code apart."""
    seen: set[int] = set()
    return sum(sys.getsizeof(item) for item in _reached(list(roots), seen))


def _reached(left: list[object], seen: set[int]) -> Iterator[object]:
    while left:
        item = left.pop()
        if id(item) in seen or isinstance(item, _SHARED):
            continue
        seen.add(id(item))
        yield item
        left += gc.get_referents(item)
