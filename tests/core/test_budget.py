from __future__ import annotations

from typing import Any

import pytest

from palimpsest.core.budget import Budget, Measure, default_max_output, output_reserve
from palimpsest.core.errors import InvalidSettingError
from tests.tables import own_cases, shared_cases, shared_table

NO_NUMBERS = [0, -1, 1.5, True, "nan", "inf", "1000", float("nan"), float("inf"), None]


@pytest.mark.parametrize("case", shared_cases("budget"))
def test_budget_table(case: dict[str, int]) -> None:
    budget = Budget(window=case["window"], reserved_output=case["reserved_output"])
    assert budget.safety == case["safety"]
    assert budget.input_limit == case["input_limit"]
    assert budget.largest_fitting == case["largest_fitting"]
    assert budget.retention == case["retention"]
    assert budget.pressured_at == case["pressured_at"]
    at = case["pressured_at"]
    assert budget.pressured(Measure(tokens=at, bytes=0))
    assert at == 0 or not budget.pressured(Measure(tokens=at - 1, bytes=0))
    fitting = case["largest_fitting"]
    assert budget.fits(Measure(tokens=fitting, bytes=0))
    assert not budget.fits(Measure(tokens=fitting + 1, bytes=0))


@pytest.mark.parametrize(
    "value", [*NO_NUMBERS, *shared_table("budget").get("invalid_window_or_max", [])]
)
def test_only_positive_whole_numbers_are_limits(value: Any) -> None:
    with pytest.raises(InvalidSettingError, match="positive whole number") as caught:
        Budget(window=value, reserved_output=1)
    assert caught.value.code == "invalid_setting"
    with pytest.raises(InvalidSettingError):
        Budget(window=1, reserved_output=value)
    with pytest.raises(InvalidSettingError):
        output_reserve(max_output=value)


@pytest.mark.parametrize("case", own_cases("bytes"))
def test_bytes_table(case: dict[str, Any]) -> None:
    budget = Budget(window=32_000, reserved_output=1_024, byte_limit=1_000)
    before = Measure(tokens=case["before"][0], bytes=case["before"][1])
    assert budget.pressured(before) is case["pressured"]
    assert budget.fits(before) is case["fits"]
    if "after" in case:
        after = Measure(tokens=case["after"][0], bytes=case["after"][1])
        assert budget.reduces(before, after) is case["reduces"]


@pytest.mark.parametrize(
    ("arguments", "reserve"),
    [
        ({"max_output": 4096}, 4096),
        ({"max_output": 4096, "cap": 1000}, 1000),
        ({"max_output": 4096, "cap": 9000}, 4096),
        ({"max_output": 4096, "cap": 1000, "thinking": 2000}, 3000),
        ({"max_output": 4096, "cap": 1000, "thinking": 9000}, 4096),
    ],
)
def test_output_reserve(arguments: dict[str, int], reserve: int) -> None:
    assert output_reserve(**arguments) == reserve


@pytest.mark.parametrize(("window", "output"), [(1, 1), (8000, 2000), (200_000, 16_384)])
def test_default_max_output(window: int, output: int) -> None:
    assert default_max_output(window) == output


def test_what_is_over_is_judged_by_what_is_known_best() -> None:
    budget = Budget(window=32_000, reserved_output=1_024, byte_limit=1_000)
    before, grown = Measure(tokens=20_000, bytes=1_001), Measure(tokens=20_500, bytes=900)
    assert budget.reduces(before, grown)
    known = Measure(tokens=30_000, bytes=1_001)
    assert not budget.reduces(before, grown, pressure=known)
    assert budget.reduces(before, Measure(tokens=19_999, bytes=900), pressure=known)
