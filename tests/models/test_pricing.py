"""Prices, windows, and where they come from."""

from __future__ import annotations

import pytest
from genai_prices import Usage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import Provider
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.errors import InvalidSettingError
from palimpsest.models.pricing import (
    PRICED_AT,
    Pricing,
    choose_pricing,
    find_pricing,
    resolve_window,
)

_TOKENS = st.integers(0, 2_000_000)
_PROVIDERS = [
    provider
    for provider in get_snapshot().providers
    if provider.id in {"anthropic", "deepseek", "google", "openai"}
]


@pytest.mark.parametrize(
    "name", ["anthropic:claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"]
)
def test_a_model_is_found_with_and_without_its_provider(name: str) -> None:
    pricing = find_pricing(name)
    assert pricing is not None
    assert pricing.name == "anthropic:claude-sonnet-4-5"
    assert resolve_window(None, pricing) == (
        pricing.window,
        "price table, anthropic:claude-sonnet-4-5",
    )


def test_a_cached_token_costs_a_tenth_and_a_written_one_a_quarter_more() -> None:
    pricing = find_pricing("anthropic:claude-opus-4-5")
    assert pricing is not None
    # 5 USD a million; reads 0.50, writes 6.25, answers 25.
    cost = pricing.cost_usd(cache_read=100_000, cache_write=10_000, output=1_000)
    assert cost == pytest.approx(0.05 + 0.0625 + 0.025)


def test_an_unknown_model_is_an_error_only_where_it_was_asked_for() -> None:
    assert choose_pricing(asked=None, recorded=None) is None
    assert choose_pricing(asked=None, recorded="no-such-model") is None
    with pytest.raises(InvalidSettingError, match="no-such-model"):
        choose_pricing(asked="no-such-model", recorded="claude-opus-4-5")
    assert resolve_window(7_000, None) == (7_000, "as asked")
    assert resolve_window(None, None)[0] == 128_000


@given(
    st.sampled_from(_PROVIDERS),
    st.data(),
    _TOKENS,
    _TOKENS,
    _TOKENS,
)
def test_rates_give_what_the_table_gives(
    known: Provider, data: st.DataObject, read: int, write: int, output: int
) -> None:
    model = data.draw(st.sampled_from(known.models))
    pricing = Pricing(known, model)
    usage = Usage(
        input_tokens=read + write,
        cache_read_tokens=read,
        cache_write_tokens=write,
        output_tokens=output,
    )
    table = model.calc_price(usage, known, genai_request_timestamp=PRICED_AT)
    for _ in range(2):
        cost = pricing.cost_usd(cache_read=read, cache_write=write, output=output)
        assert cost == pytest.approx(float(table.total_price))
