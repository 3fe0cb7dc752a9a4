"""What a session used so far, as a value and as the JSON that its header keeps."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields

from palimpsest.core.record_codec import JsonObject
from palimpsest.storage.framing import MalformedError, count_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Tokens and money: replies and summaries apart, failed summaries included.

    Attributes:
        requests: replies of the agent's model.
        input_tokens: of these, the cache included.
        summaries: generations that called a model.
        cost_usd: of replies and summaries whose model had a known price when they were made.
        unpriced: replies and summaries whose model had none.
    """

    requests: int = 0
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    summary_input_tokens: int = 0
    summary_output_tokens: int = 0
    summaries: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0


NO_TOTALS = Totals()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Totals, and what they are of: all before it need not be looked at again.

    Attributes:
        messages: the first so many of the history.
        records: the first so many of the records.
    """

    messages: int = 0
    records: int = 0
    totals: Totals = NO_TOTALS

    def dump(self) -> JsonObject:
        """Give the JSON object."""
        return {"messages": self.messages, "records": self.records, **asdict(self.totals)}


NOTHING_COUNTED = Counted()


def read_counted(value: JsonObject) -> Counted:
    """Read what ``Counted.dump`` gave.

    Raises:
        MalformedError: naming the key.
    """
    counts = {
        item.name: count_of(value, item.name) for item in fields(Totals) if item.name != "cost_usd"
    }
    return Counted(
        messages=count_of(value, "messages"),
        records=count_of(value, "records"),
        totals=Totals(**counts, cost_usd=_cost_of(value)),
    )


def _cost_of(value: JsonObject) -> float:
    cost = value.get("cost_usd")
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < math.inf:
        raise MalformedError("'cost_usd' is no finite number, zero or more")
    return cost
