"""What each request of a session took: context and cost over time, for the chart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic_ai.messages import ModelMessage, ModelResponse

from palimpsest.core.records import Checkpoint
from palimpsest.session.accounts import Accounts
from palimpsest.web.wire import RequestUsage


def request_usage(
    messages: Iterable[ModelMessage], checkpoints: Iterable[Checkpoint]
) -> Iterator[RequestUsage]:
    """Yield a row for each reply of a history whose provider counted, oldest first."""
    accounts = Accounts()
    made_at = sorted(checkpoint.history_message_count for checkpoint in checkpoints)
    passed = 0
    for index, message in enumerate(messages):
        if not isinstance(message, ModelResponse):
            continue
        accounts.count_reply(message)
        before = passed
        while passed < len(made_at) and made_at[passed] <= index:
            passed += 1
        if message.usage.input_tokens:
            yield RequestUsage(
                index=index,
                input_tokens=message.usage.input_tokens,
                output_tokens=message.usage.output_tokens,
                cost_usd=accounts.totals.cost_usd,
                after_compaction=passed > before,
            )
