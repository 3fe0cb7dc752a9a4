"""How much of what can be tested is tested: a seeded sample, or all of it in ``make soak``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from random import Random
from typing import TypeVar

T = TypeVar("T")

WHOLE = os.environ.get("SOAK_WHOLE") == "1"
"""Every crash point, every await, every byte."""

SEED = int(os.environ.get("SOAK_SEED", "1"))
TURNS = int(os.environ.get("SOAK_TURNS", "300"))
SESSIONS = int(os.environ.get("SOAK_SESSIONS", "1000"))


def sample(items: Iterable[T], most: int) -> list[T]:
    """Give all items in ``make soak``; else the first, the last and a seeded choice, in order."""
    every = list(items)
    if WHOLE or len(every) <= most:
        return every
    inner = Random(SEED).sample(range(1, len(every) - 1), most - 2)
    return [every[index] for index in sorted({0, len(every) - 1, *inner})]
