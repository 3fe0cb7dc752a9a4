from __future__ import annotations

import re
from pathlib import Path

import pytest

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "testing.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", _BLOCK.findall(_PAGE.read_text(encoding="utf-8")))
def test_every_example_runs(example: str) -> None:
    exec(compile(example, str(_PAGE), "exec"), {"__name__": "example"})


def test_there_are_examples() -> None:
    assert len(_BLOCK.findall(_PAGE.read_text(encoding="utf-8"))) == 5
