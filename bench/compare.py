"""Other libraries beside Palimpsest: the same conversations, in one run, as Markdown.

Each library is measured in a process of its own, one for each core at a time; times are processor
time, so a busy machine changes them little.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from peers.measure import MOST_MEASUREMENT_S, MOST_SESSION_S

HERE = Path(__file__).parent
FEW, MANY = 2_000, 20_000
NO_RESULT = {"too_long": "too long", "failed": "error"}
COLUMNS = tuple((count, usage) for count in (FEW, MANY) for usage in (True, False))


@dataclass(frozen=True, slots=True)
class Peer:
    """One way of using one library."""

    module: str
    distribution: str
    name: str

    @property
    def title(self) -> str:
        return f"{self.distribution} {self.name}"


PALIMPSEST = Peer("palimpsest", "palimpsest-ai", "engine")
PEERS = (
    PALIMPSEST,
    Peer("pydantic_ai_harness", "pydantic-ai-harness", "ClearToolResults"),
    Peer("pydantic_ai_harness", "pydantic-ai-harness", "SummarizingCompaction"),
    Peer("langchain", "langchain", "ClearToolUsesEdit"),
    Peer("langchain", "langchain", "SummarizationMiddleware"),
    Peer("deepagents", "deepagents", "SummarizationMiddleware"),
    Peer("strands", "strands-agents", "SlidingWindow(40)"),
    Peer("inspect_ai", "inspect-ai", "CompactionEdit"),
    Peer("inspect_ai", "inspect-ai", "CompactionSummary"),
    Peer("openai_agents", "openai-agents", "ToolOutputTrimmer"),
    Peer("google_adk", "google-adk", "EventsCompactionConfig"),
    Peer("agent_framework", "agent-framework-core", "ContextWindowCompactionStrategy"),
    Peer("mnesis", "mnesis", "MnesisSession"),
)


@dataclass(frozen=True, slots=True)
class Results:
    """All that was measured of one peer."""

    peer: Peer
    found: tuple[dict[str, Any], ...]

    def of(self, kind: str, messages: int | None = None) -> list[dict[str, Any]]:
        return [
            one for one in self.found if one["kind"] == kind and messages in (None, one["messages"])
        ]

    def warm_ms(self, messages: int, *, usage: bool) -> float | None:
        """Median over the counts of turns."""
        times = [one["milliseconds"] for one in self.of("warm", messages) if one["usage"] is usage]
        return statistics.median(times) if times else None

    def growth(self, *, usage: bool) -> float | None:
        few, many = (self.warm_ms(count, usage=usage) for count in (FEW, MANY))
        if not few or not many:
            return None
        return math.log(many / few) / math.log(MANY / FEW)

    def first_s(self, messages: int) -> float | None:
        return max((one["first_s"] for one in self.of("warm", messages)), default=None)

    def cpu_s(self, *, usage: bool) -> float | None:
        """Of a whole session, over the counts of turns; what was stopped is extended."""
        spent = [
            one["cpu_s"] * one["asked"] / one["requests"]
            for one in self.of("session")
            if one["usage"] is usage
        ]
        return sum(spent) / len(spent) if spent else None

    def no_result(self, what: str, messages: int, *, usage: bool) -> str:
        """Why measurements gave no figure; empty where nothing kept them from it."""
        for kind, words in NO_RESULT.items():
            for one in self.of(kind, messages):
                if one["what"] == what and one["usage"] is usage:
                    return words
        return ""

    def total(self, key: str) -> int:
        return sum(one[key] for one in self.of("session"))

    def whole(self) -> bool:
        return all(one["requests"] == one["asked"] for one in self.of("session"))


def version_of(peer: Peer) -> str | None:
    """Its version, or None where this Python cannot have it."""
    try:
        return version(peer.distribution)
    except PackageNotFoundError:
        return None


def measured(peer: Peer) -> Results:
    """Run one peer in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "peers.measure", peer.module, peer.name],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
    reasons = [line["reason"] for line in lines if line["kind"] == "failed"]
    if done.returncode:
        reasons += done.stderr.strip().splitlines()[-1:]
    for reason in reasons:
        print(f"{peer.title}: {reason}", file=sys.stderr)
    return Results(peer, tuple(lines))


# --- the tables ----------------------------------------------------------------------------------

Cell = Callable[[Results], str]


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float | None, unit: str = "") -> str:
    """Two significant figures; a dash where nothing was measured."""
    if value is None:
        return "–"
    digits = max(0, 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{min(digits, 3)}f}{unit}"


def cell(value: float | None, unit: str = "", *, over: float | None = 1.0, without: str) -> str:
    """A figure, or its ratio to another; ``without`` it, some words."""
    if without and value is None:
        return without
    return number(None if value is None or not over else value / over, unit)


def ratios(results: list[Results]) -> str:
    """How many times Palimpsest's cost each has; below one is cheaper."""
    ours = results[0]

    def row(one: Results) -> list[str]:
        return [
            one.peer.title,
            *(
                cell(
                    one.warm_ms(count, usage=usage),
                    " ×",
                    over=ours.warm_ms(count, usage=usage),
                    without=one.no_result("warm", count, usage=usage),
                )
                for count, usage in COLUMNS
            ),
            *(
                cell(
                    one.cpu_s(usage=usage),
                    " ×",
                    over=ours.cpu_s(usage=usage),
                    without=one.no_result("session", FEW, usage=usage),
                )
                for usage in (True, False)
            ),
        ]

    heads = [
        "cost ÷ Palimpsest's",
        f"a request, {FEW:,} messages, usage",
        "no usage",
        f"a request, {MANY:,} messages, usage",
        "no usage",
        "session, usage",
        "no usage",
    ]
    return table(heads, map(row, results))


def work(results: list[Results]) -> str:
    """What was done for that cost, over all sessions."""

    def row(one: Results) -> list[str]:
        requests = one.total("requests")
        if not requests:
            return [one.peer.title, *["–"] * 6]
        kept = min(session["kept"] for session in one.of("session"))
        after = max(session["largest_after"] for session in one.of("session"))
        return [
            one.peer.title,
            f"{requests:,}" + ("" if one.whole() else " (stopped)"),
            f"{one.total('breaks'):,}",
            f"{one.total('silent_breaks'):,}",
            f"{one.total('too_large'):,}",
            "–" if not one.total("compactions") else f"{after:.0%}",
            f"{kept:.0%}",
        ]

    heads = [
        "all sessions",
        "requests",
        "prefix breaks",
        "of them silent",
        "over the window",
        "largest after a change",
        "originals kept",
    ]
    return table(heads, map(row, results))


def times(results: list[Results]) -> str:
    """Absolute figures, of this machine."""

    def row(one: Results) -> list[str]:
        growth = [one.growth(usage=usage) for usage in (True, False)]
        return [
            one.peer.title,
            *(
                cell(
                    one.warm_ms(count, usage=usage),
                    without=one.no_result("warm", count, usage=usage),
                )
                for count, usage in COLUMNS
            ),
            *("–" if value is None else f"{value:.2f}" for value in growth),
            number(one.first_s(FEW)),
            number(one.first_s(MANY)),
            *(
                cell(one.cpu_s(usage=usage), without=one.no_result("session", FEW, usage=usage))
                for usage in (True, False)
            ),
        ]

    heads = [
        "processor time",
        f"ms a request, {FEW:,}, usage",
        "no usage",
        f"ms a request, {MANY:,}, usage",
        "no usage",
        "growth, usage",
        "no usage",
        f"first request, {FEW:,}, s",
        f"{MANY:,}, s",
        "session, usage, s",
        "no usage, s",
    ]
    return table(heads, map(row, results))


def report(results: list[Results], seconds: float) -> str:
    peers = {one.peer.distribution: version_of(one.peer) for one in results}
    versions = ", ".join(f"{name} {of}" for name, of in peers.items())
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return "\n\n".join(
        (
            "### Ratios",
            ratios(results),
            "### The work that was done",
            work(results),
            "### Times",
            times(results),
            f"“{NO_RESULT['too_long']}” stands where no measurement of that kind ended within "
            f"{MOST_MEASUREMENT_S:.0f} seconds, “{NO_RESULT['failed']}” where the library raised "
            f"one. Sessions that were stopped had used up {MOST_SESSION_S:.0f} seconds of "
            "processor time.",
            f"Measured in {seconds / 60:.0f} minutes on {machine}: {versions}.",
        )
    )


def main() -> None:
    started = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        # The slowest stand last; begun last they would leave a core without work.
        results = [*threads.map(measured, filter(version_of, reversed(PEERS)))][::-1]
    print(report(results, time.monotonic() - started))


if __name__ == "__main__":
    main()
