from __future__ import annotations

import json
from typing import Any

import pytest

from palimpsest.core.errors import InvalidRecordError
from palimpsest.core.receipt import receipt_json
from palimpsest.core.receipt_reader import read_receipt
from tests.cli.chat.events import receipt


def stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(receipt_json(receipt())))
    return found


def test_what_was_written_is_read_back() -> None:
    assert read_receipt(stored()) == receipt()
    unpriced = stored()
    unpriced["figures"]["cost_usd"] = None
    assert read_receipt(unpriced).figures.cost_usd is None


@pytest.mark.parametrize(
    ("place", "value", "field"),
    [
        (("reduced",), 1, "reduced"),
        (("figures",), [], "figures"),
        (("figures", "trigger"), "moon", "trigger"),
        (("figures", "tokens_before"), True, "tokens_before"),
        (("figures", "warnings"), "x", "warnings"),
        (("files_read", "newest"), None, "newest"),
        (("commands", "total"), "1", "total"),
    ],
)
def test_what_is_no_receipt_is_refused(place: tuple[str, ...], value: object, field: str) -> None:
    found = stored()
    at = found
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    with pytest.raises(InvalidRecordError) as raised:
        read_receipt(found)
    assert raised.value.field == field
