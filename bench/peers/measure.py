"""Measures one library in a process of its own: ``python -m peers.measure MODULE LIBRARY``.

Prints one JSON object a line: each session and each growth that was measured.
"""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from typing import Literal

from peers.histories import CHARACTERS_PER_TOKEN, SHAPES, Item, Shape, Step, items, tool_text
from peers.library import Library, MakeLibrary

WINDOW = 64_000
"""Of the sessions, in tokens; a history of 2,000 messages outgrows it twenty times."""

MOST_SESSION_MESSAGES = 2_000
MOST_SESSION_S = 2.0
"""Processor seconds that a library gets for one whole session."""

MOST_MEASUREMENT_S = 40.0
"""Seconds on the clock that a single measurement gets, setting up included."""

MOST_WARM_S = 0.4
LEAST_RUNS, MOST_RUNS = 3, 15


@dataclass(frozen=True, slots=True)
class Warm:
    """What a library does before a request, in a conversation that stands and gains one step.

    Attributes:
        first_s: the first request, which makes the whole history fit.
        milliseconds: in the median.
    """

    messages: int
    turns: int
    usage: bool
    first_s: float
    milliseconds: float
    kind: Literal["warm"] = "warm"


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation from its first message to its last, a request after each of them.

    Attributes:
        requests: how many were made; fewer than asked for where the time was up.
        asked: how many the history has.
        cpu_s: processor time of what the library does before requests.
        compactions: changes that a program can see.
        breaks: requests that do not extend the one before.
        silent_breaks: those of them of which a program learns nothing.
        too_large: requests larger than the window.
        largest_after: of the requests right after a change, the largest, as a share of the window.
        kept: tool results of which the original is still held, as a share.
    """

    messages: int
    turns: int
    usage: bool
    requests: int
    asked: int
    cpu_s: float
    compactions: int
    breaks: int
    silent_breaks: int
    too_large: int
    largest_after: float
    kept: float
    kind: Literal["session"] = "session"


@dataclass(frozen=True, slots=True)
class NoResult:
    """A measurement that took too long, or in which the library raised an error."""

    messages: int
    turns: int
    usage: bool
    what: str
    kind: Literal["too_long", "failed"]
    reason: str = ""


async def warm(make: MakeLibrary, shape: Shape) -> Warm:
    """Time requests of a conversation that is taken up whole; each comes after one new step."""
    library = make(WINDOW)
    library.take(list(items(shape)))
    first = await timed(library)
    gc.collect()
    gc.freeze()
    times: list[float] = []
    until = time.monotonic() + MOST_WARM_S
    while len(times) < LEAST_RUNS or (time.monotonic() < until and len(times) < MOST_RUNS):
        tokens = tokens_of(library.sent()) if shape.usage else None
        library.take([Step(1_000_000 + len(times), tool_text(len(times)), tokens)])
        times.append(await timed(library))
    median_ms = statistics.median(times) * 1_000
    return Warm(shape.messages, shape.turns, shape.usage, first, median_ms)


async def timed(library: Library) -> float:
    """Processor seconds of one request; a busy machine does not show in them."""
    started = time.process_time()
    await library.manage()
    return time.process_time() - started


async def session(make: MakeLibrary, shape: Shape) -> Session:
    """Play a whole conversation, and look at every request."""
    library, taken = make(WINDOW), list[Item]()
    cpu_s, changes, largest_after = 0.0, 0, 0.0
    requests = breaks = silent = too_large = tokens = 0
    before: list[str] = []
    for item in items(shape):
        # A provider counts what it was sent, not what the history has become.
        counted = replace(item, input_tokens=tokens) if isinstance(item, Step) else item
        taken.append(counted if shape.usage else item)
        library.take(taken[-1:])
        cpu_s += await timed(library)
        requests += 1
        sent, declared = library.sent(), library.declared()
        tokens = tokens_of(sent)
        broken = sent[: len(before)] != before
        breaks += broken
        silent += broken and declared == changes
        too_large += tokens > WINDOW
        if declared != changes:
            largest_after = max(largest_after, tokens / WINDOW)
        before, changes = sent, declared
        if cpu_s > MOST_SESSION_S:
            break
    return Session(
        shape.messages,
        shape.turns,
        shape.usage,
        requests,
        sum(1 for _ in items(shape)),
        cpu_s,
        changes,
        breaks,
        silent,
        too_large,
        largest_after,
        kept(library, taken),
    )


def tokens_of(sent: list[str]) -> int:
    return sum(map(len, sent)) // CHARACTERS_PER_TOKEN


def kept(library: Library, taken: list[Item]) -> float:
    """The share of tool results that are held word for word."""
    held = set(library.held())
    results = [item.result for item in taken if isinstance(item, Step)]
    return sum(result in held for result in results) / len(results)


class TimeUp(BaseException):  # no library may catch it
    """A measurement took too long."""


def time_up(*_: object) -> None:
    raise TimeUp


def main(module: str, name: str) -> None:
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, time_up)
    make = import_module(f"peers.{module}").LIBRARIES[name]
    for shape in SHAPES:
        measured(warm, make, shape)
        if shape.messages <= MOST_SESSION_MESSAGES:
            measured(session, make, shape)


def measured(
    measure: Callable[[MakeLibrary, Shape], Coroutine[None, None, Warm | Session]],
    make: MakeLibrary,
    shape: Shape,
) -> None:
    """Print one result, or that there is none."""
    # Again each second: a task that a library does not wait for may swallow the first.
    signal.setitimer(signal.ITIMER_REAL, MOST_MEASUREMENT_S, 1.0)
    none = partial(NoResult, shape.messages, shape.turns, shape.usage, measure.__name__)
    result: Warm | Session | NoResult
    try:
        result = asyncio.run(measure(make, shape))
    except TimeUp:
        result = none("too_long")
    except Exception as error:  # whatever a library raises is its result
        result = none("failed", f"{shape}: {error}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        gc.unfreeze()
    print(json.dumps(asdict(result)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
