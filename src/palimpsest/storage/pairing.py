"""Tool calls and their results: which calls are open, and what may not stand in a history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from palimpsest.core.errors import InvalidMessageError
from palimpsest.core.outline import MessageOutline


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCalls:
    """Tool calls without a result so far: the message that made each, by call id."""

    by_id: Mapping[str, int] = field(default_factory=dict[str, int])

    def after(self, index: int, message: MessageOutline) -> OpenCalls:
        """Give the open calls once message ``index`` stands behind the others."""
        by_id = dict(self.by_id)
        for part in message.parts:
            if part.kind == "tool_call":
                by_id[part.call_id] = index
            elif part.kind == "tool_return":
                by_id.pop(part.call_id, None)
        return OpenCalls(by_id=by_id)

    def require_call_for_each_result(self, index: int, message: MessageOutline) -> None:
        """Refuse results that answer no open call, or one that was answered before them.

        Raises:
            InvalidMessageError: naming ``index``, where the message is to stand.
        """
        answered = [part.call_id for part in message.parts if part.kind == "tool_return"]
        if len(set(answered)) < len(answered) or not self.by_id.keys() >= set(answered):
            raise InvalidMessageError(index, "holds a tool result that answers no call")

    def require_answers_before(self, index: int) -> None:
        """Refuse calls that messages before ``index`` made and that have no result.

        Raises:
            InvalidMessageError: naming the oldest such message.
        """
        oldest = min(self.by_id.values(), default=index)
        if oldest < index:
            raise InvalidMessageError(oldest, "holds a tool call that has no result")
