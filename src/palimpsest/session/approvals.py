"""Asking the host before a tool runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from pydantic_ai import RunContext
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied

from palimpsest.formats.encodable import encodable
from palimpsest.session.events import ApprovalRequested, ApprovalResolved, SessionEvent
from palimpsest.session.permissions import PermissionPreset

DENIED = "The person did not allow this call."


class Approvals:
    """Open requests of a run; the first answer wins, and none survives the run.

    Attributes:
        preset: what tools may do without asking.
    """

    def __init__(
        self,
        emit: Callable[[SessionEvent], None],
        *,
        preset: PermissionPreset = "workspace-write",
    ) -> None:
        self.preset: PermissionPreset = preset
        self._emit = emit
        self._open: dict[str, tuple[ApprovalRequested, asyncio.Future[bool]]] = {}

    @property
    def requests(self) -> tuple[ApprovalRequested, ...]:
        """The open requests, oldest first."""
        return tuple(request for request, _ in self._open.values())

    def answer(self, request_id: str, *, approved: bool) -> bool:
        """Answer an open request; False where it is not open (any more)."""
        found = self._open.get(request_id)
        if found is None or found[1].done():
            return False
        found[1].set_result(approved)
        return True

    async def handle(
        self, context: RunContext[None], requests: DeferredToolRequests
    ) -> DeferredToolResults:
        """Ask for each call of a batch and wait for all answers."""
        del context
        loop = asyncio.get_running_loop()
        waiting: dict[str, asyncio.Future[bool]] = {}
        for call in requests.approvals:
            request = ApprovalRequested(
                request_id=call.tool_call_id,
                tool_name=call.tool_name,
                arguments=encodable(call).args_as_json_str(),
            )
            waiting[call.tool_call_id] = loop.create_future()
            self._open[call.tool_call_id] = (request, waiting[call.tool_call_id])
            self._emit(request)
        try:
            return DeferredToolResults(approvals=await self._answers(waiting))
        finally:
            for request_id in waiting:
                self._close(request_id)

    async def _answers(
        self, waiting: Mapping[str, asyncio.Future[bool]]
    ) -> dict[str, bool | ToolApproved | ToolDenied]:
        answers: dict[str, bool | ToolApproved | ToolDenied] = {}
        for request_id, answer in waiting.items():
            approved = await answer
            self._close(request_id)
            answers[request_id] = ToolApproved() if approved else ToolDenied(DENIED)
        return answers

    def _close(self, request_id: str) -> None:
        found = self._open.pop(request_id, None)
        if found is not None:
            answer = found[1]
            approved = answer.done() and not answer.cancelled() and answer.result()
            self._emit(ApprovalResolved(request_id=request_id, approved=approved))
