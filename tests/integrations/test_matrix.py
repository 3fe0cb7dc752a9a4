"""The table of integrations: no cell without a test, no test that is not there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")


def rows(first: str) -> list[list[str]]:
    """The cells of the table that begins with a header cell, header included."""
    lines = PAGE.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {first}"))
    table = [line for line in lines[start:] if line.startswith("|")]
    stop = next((at for at, line in enumerate(lines[start:]) if not line), len(lines))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[:stop]]


def test_each_cell_is_held_by_a_test() -> None:
    header, _, *frameworks = rows("| lossless")
    cells = {(row[0], name) for row in frameworks for name in header[1:]}
    assert len(cells) == 4 * 7
    _, _, *held = rows("framework")
    assert {(framework, name) for framework, name, _ in held} == cells


def test_each_named_test_is_there() -> None:
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)
    assert len(named) == 4 * 7
    for file, name in named:
        text = (Path(__file__).parent / file).read_text(encoding="utf-8")
        assert re.search(rf"^(?:async )?def {name}\(", text, re.M), (file, name)
