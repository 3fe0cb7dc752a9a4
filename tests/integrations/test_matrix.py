"""The table of integrations: no cell without a test or a reason, no test that is not there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")


def rows(first: str) -> list[list[str]]:
    """The rows of the table that begins with a header cell, without header and rule."""
    lines = PAGE.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {first}"))
    stop = next((at for at in range(start, len(lines)) if not lines[at]), len(lines))
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:stop]]
    return [table[0], *table[2:]]


def cells() -> dict[tuple[str, str], str]:
    """What the table says, by framework and property."""
    header, *frameworks = rows("| lossless")
    return {
        (framework, name): said
        for framework, *line in frameworks
        for name, said in zip(header[1:], line, strict=True)
    }


def test_each_cell_is_held_by_a_test_or_has_a_reason() -> None:
    said = cells()
    assert len(said) == 4 * 8
    _, *held = rows("framework")
    assert [(framework, name) for framework, name, _ in held] == list(said)
    for framework, name, why in held:
        match said[framework, name]:
            case "yes":
                assert re.fullmatch(r"`test_\w+\.py::test_\w+`", why), (framework, name)
            case "–":
                assert re.fullmatch(r"– .{20,}\.", why), (framework, name)
            case other:
                raise AssertionError(f"{framework}, {name}: {other!r} is neither yes nor –")


def test_each_named_test_is_there() -> None:
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)
    assert len(named) == sum(said == "yes" for said in cells().values())
    for file, name in named:
        text = (Path(__file__).parent / file).read_text(encoding="utf-8")
        assert re.search(rf"^(?:async )?def {name}\(", text, re.M), (file, name)
