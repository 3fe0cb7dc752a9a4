"""One operation at a time: begun, cancelled, and settled exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, TypeVar, cast

import anyio
from pydantic_ai.exceptions import ModelAPIError

from palimpsest.core.errors import NothingToCompactError, PalimpsestError, SessionBusyError
from palimpsest.models.provider_failure import provider_failure
from palimpsest.session.events import Operation, Outcome, Settled

_T = TypeVar("_T")

_INSIDE: ContextVar[object] = ContextVar("_INSIDE", default=None)
"""Whose operation this code is part of: a tool runs in a task, or a thread, of its own."""


class OneAtATime:
    """Runs the operations of one session.

    Attributes:
        operation: what is under way, or None.
        outcome: of the last operation.
        error: of the last operation, a sentence, or empty.
    """

    def __init__(self, on_settled: Callable[[Settled], None]) -> None:
        self.operation: Operation | None = None
        self.outcome: Outcome = "idle"
        self.error = ""
        self._on_settled = on_settled
        self._task: asyncio.Task[Any] | None = None
        self._scope = anyio.CancelScope()

    def refuse_busy(self) -> None:
        """Raise ``SessionBusyError`` while an operation is under way."""
        if self.operation is not None:
            raise SessionBusyError(self.operation)

    async def run(
        self, operation: Operation, work: Callable[[], Coroutine[object, object, _T]]
    ) -> _T:
        """Run an operation to its end; a cancelled caller aborts it and waits until it settled."""
        self.operation = operation
        self._scope = anyio.CancelScope()
        task = asyncio.ensure_future(self._within(work))
        # A callback and no ``finally``: a task cancelled before its first step runs neither.
        task.add_done_callback(lambda done: self._settle(operation, done))
        self._task = task
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._scope.cancel()
            while not task.done():
                with suppress(asyncio.CancelledError):  # again: it is being aborted already
                    await asyncio.wait([task])
            raise

    async def abort(self) -> None:
        """Cancel what is under way and wait until it settled; from inside it, only cancel."""
        task = self._task
        if task is None or task.done():
            return
        # A scope and not the task: what the agent loop started is then cancelled until it is gone.
        self._scope.cancel()
        if _INSIDE.get() is not self:
            await asyncio.wait([task])

    async def wait(self) -> None:
        """Return once nothing is under way."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    async def _within(self, work: Callable[[], Coroutine[object, object, _T]]) -> _T:
        _INSIDE.set(self)
        with self._scope:
            return await work()
        raise asyncio.CancelledError

    def _settle(self, operation: Operation, task: asyncio.Future[_T]) -> None:
        """Note how an operation ended; runs before anybody who waits for it goes on."""
        error = None if task.cancelled() else task.exception()
        outcome: Outcome = "cancelled" if task.cancelled() else "error" if error else "success"
        if isinstance(error, NothingToCompactError):
            outcome, error = "idle", None
        self.operation = None
        self.outcome = outcome
        self.error, code = ("", "") if error is None else _described(error)
        self._on_settled(
            Settled(operation=operation, outcome=outcome, error=self.error, error_code=code)
        )


def _described(error: BaseException) -> tuple[str, str]:
    """Give a sentence and a code; of a group, the last error is the one that waits to be healed."""
    if isinstance(error, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", error).exceptions
        described = [_described(member) for member in members]
        return " ".join(text for text, _ in described), described[-1][1]
    match error:
        case PalimpsestError():
            return str(error), error.code
        case ModelAPIError():
            failure = provider_failure(error)
            return failure.sentence, failure.code
        case _:
            return str(error) or type(error).__name__, "failed"
