"""Figures of a soak are printed at its end, whatever became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.scale import SEED, SESSIONS, TURNS, WHOLE

_LINES: list[str] = []


@pytest.fixture
def figures() -> Iterator[Callable[[str], None]]:
    """Note a line to be printed at the end."""
    yield _LINES.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    extent = "whole" if WHOLE else "sampled"
    terminalreporter.section(
        f"soak figures ({extent}: seed {SEED}, {TURNS} turns, {SESSIONS} sessions)"
    )
    for line in _LINES:
        terminalreporter.write_line(line)
