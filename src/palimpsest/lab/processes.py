"""Work in several processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from typing import NoReturn, TypeVar

from palimpsest.core.errors import WorkerLostError

Item = TypeVar("Item")
Result = TypeVar("Result")

_PLACE = "this machine"


@contextmanager
def processes(
    work: Callable[[Item], Iterable[Result]], jobs: int
) -> Generator[Callable[[Item], Callable[[], list[Result]]]]:
    """Give a function that hands an item to a process and returns what waits for its results.

    Where a process ended by itself, that raises ``WorkerLostError``.
    """
    others = multiprocessing.active_children()
    executor = ProcessPoolExecutor(
        jobs,
        # Forking a process that draws a progress bar from a thread may hang: start afresh.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
    )

    def submit(item: Item) -> Callable[[], list[Result]]:
        try:
            with _interrupts_held():  # it may start a process
                future = executor.submit(all_results, work, item)
        except BrokenProcessPool:
            return _lost  # told in its turn: results before it are missing, too
        return partial(_taken, future)

    try:
        yield submit
    except BaseException:
        # Whoever stops does not wait for what has been begun.
        for child in multiprocessing.active_children():
            if child not in others:
                child.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _taken(future: Future[list[Result]]) -> list[Result]:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise WorkerLostError(_PLACE) from error


def _lost() -> NoReturn:
    raise WorkerLostError(_PLACE)


def all_results(work: Callable[[Item], Iterable[Result]], item: Item) -> list[Result]:
    """Do the work on one item to its end."""
    return list(work(item))


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Nobody else ends these processes when the one that started them is killed."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _interrupts_held() -> Generator[None]:
    """Keep a terminal's Ctrl+C from processes that start here, before they can ignore it.

    They inherit the block; this process takes the interrupt afterwards, and ends them.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
