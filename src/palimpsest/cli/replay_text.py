"""A replay for people at a terminal: what it found, as tables and sentences."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Self, TypeAlias

from rich import box
from rich import progress as bars
from rich.console import Console
from rich.table import Table
from rich.text import Text

from palimpsest.core.errors import NotARecordingError
from palimpsest.core.excerpt import Json
from palimpsest.core.wording import count
from palimpsest.lab.figures import FIGURES, baseline_of, headline, percent, short, whole
from palimpsest.lab.plain import one_line, plain
from palimpsest.lab.results import PolicyResult, Replayed, Totals
from palimpsest.transcripts import FoundPath

MOST_TABLES = 3
"""Sessions up to which each has a table of its own."""

MOST_LINES = 5
"""Problems, windows and the like that are printed; the rest are counted."""


class Progress:
    """A bar on standard error, if that is a terminal."""

    def __init__(self, files: int, *, quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._bar = bars.Progress(
            bars.TextColumn("replaying"),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TimeElapsedColumn(),
            console=self._console,
            transient=True,
            redirect_stdout=False,
            disable=quiet or not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=files)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def advance(self, file: FoundPath) -> None:
        """Count a file as done."""
        del file
        self._bar.advance(self._task)

    def say(self, sentence: str) -> None:
        """Print a line above the bar."""
        self._console.print(Text(one_line(sentence), style="dim"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Brief:
    """What a table of one session says, without the traces."""

    title: str
    facts: str
    results: list[PolicyResult]


_Errors: TypeAlias = "tuple[array[float], array[float], array[float]]"


@dataclass(slots=True, kw_only=True)
class Summary:
    """What is kept of each session until all are replayed: sums, and a few lines."""

    totals: Totals = field(default_factory=Totals)
    briefs: list[_Brief] = field(default_factory=list[_Brief])
    windows: Counter[str] = field(default_factory=Counter[str])
    set_aside: Counter[str] = field(default_factory=Counter[str])
    problems: int = 0
    first_problems: list[str] = field(default_factory=list[str])
    skipped: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    requests_counted: int = 0
    errors: _Errors = field(default_factory=lambda: (_floats(), _floats(), _floats()))
    """Of each session with counts: uncorrected, corrected, and its 95th percentile."""

    def add(self, session: Replayed) -> None:
        """Add one session; it is not held on to."""
        self.totals.add(session)
        if self.totals.sessions <= MOST_TABLES:
            self.briefs.append(_brief(session))
        self.windows[f"{session.window:,} ({session.window_source})"] += 1
        self.set_aside.update(session.set_aside)
        self.problems += len(session.problems)
        self.first_problems += session.problems[: MOST_LINES - len(self.first_problems)]
        self.requests_counted += session.requests_counted
        corrected, p95 = session.calibrated_error, session.calibrated_error_p95
        if session.raw_error is not None and corrected is not None and p95 is not None:
            for column, error in zip(self.errors, (session.raw_error, corrected, p95), strict=True):
                column.append(error)

    def skip(self, error: NotARecordingError) -> None:
        """Add a file that is no recording; the error, which holds what was read, is not kept."""
        self.skipped.append({"path": error.path, "reason": error.reason})


def _floats() -> array[float]:
    return array("d")


def _brief(session: Replayed) -> _Brief:
    kinds = [made.kind for made in session.recorded_compactions]
    summaries, clearings = kinds.count("summary"), kinds.count("clearing")
    facts = [
        count(session.messages, "message"),
        count(session.results, "result"),
        *([count(session.images, "image")] if session.images else []),
        *([f"{session.interrupted:,} interrupted"] if session.interrupted else []),
        *([f"compacted by its own agent {summaries}×"] if summaries else []),
        *([f"outputs cleared by it {clearings}×"] if clearings else []),
    ]
    return _Brief(
        title=f"{Path(session.path).name} · {session.format} · {session.model or 'no model named'}",
        facts=" · ".join(facts),
        results=session.policies,
    )


def print_summary(summary: Summary) -> None:
    """Print the whole answer to standard output."""
    console = Console(highlight=False)
    sessions = summary.totals.sessions
    if sessions <= MOST_TABLES:
        for brief in summary.briefs:
            console.print(Text(plain(brief.title), style="bold"))
            console.print(Text(plain(brief.facts), style="dim"))
            console.print(_table(brief.results))
            console.print()
    if sessions > 1:
        console.print(Text(f"{sessions:,} sessions together", style="bold"))
        console.print(_table(list(summary.totals.policies.values())))
        console.print()
    console.print(Text(" ".join(headline(summary.totals, short))))
    console.print()
    for line in _notes(summary):
        console.print(Text(plain(line), style="dim"))


def _table(results: list[PolicyResult]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for result in results:
        style = "bold" if result.policy == "palimpsest" else ""
        table.add_column(result.label, justify="right", style=style, max_width=13)
    baseline = baseline_of(results)
    for figure in FIGURES:
        table.add_row(figure.name, *(figure.show(result, baseline, short) for result in results))
    return table


def _notes(summary: Summary) -> Iterable[str]:
    yield (
        "A blind step uses an identifier that then stood only in what was out of view. Need held: "
        "of the identifiers that the next 40 calls used, how many the summary holds; presence is "
        "not use."
    )
    yield (
        "Cost, at best: what a request shares with the one before it at the cache-read price, as "
        "if no cache entry ever expired, the rest at the cache-write price."
        f"{_unpriced(summary.totals)}"
    )
    yield "Too large: more than fits the window less the answer's reserve and a safety margin."
    yield _estimates(summary)
    yield f"Window: {_listed(summary.windows)}."
    if summary.problems:
        yield f"Problems in the recordings: {summary.problems:,}"
        yield from (f"  {problem}" for problem in summary.first_problems)
        if summary.problems > len(summary.first_problems):
            more = summary.problems - len(summary.first_problems)
            yield f"  … and {more:,} more; --json lists all"
    if summary.set_aside:
        yield f"Set aside, as no part of the conversation: {_listed(summary.set_aside)}."
    if summary.skipped:
        yield f"Skipped, as no recordings: {count(len(summary.skipped), 'file')}."


def _unpriced(totals: Totals) -> str:
    if totals.priced_sessions == totals.sessions:
        return ""
    if not totals.priced_sessions:
        return " No price is known here; --model names a model."
    return (
        f" Known for {totals.priced_sessions:,} of {totals.sessions:,} sessions; theirs is shown."
    )


def _estimates(summary: Summary) -> str:
    requests = next(iter(summary.totals.policies.values())).requests
    if not summary.errors[0]:
        return "Sizes are estimates; the recording holds too few counts to check them against."
    raw, corrected, p95 = map(median, summary.errors)
    return (
        f"Sizes are estimates. The provider counted {whole(summary.requests_counted)} of "
        f"{whole(requests)} requests: an uncorrected estimate misses its count by {percent(raw)} "
        f"(median), a session's meter, which goes on from the count before, by "
        f"{percent(corrected)} (95 % of them by at most {percent(p95)})."
    )


def _listed(counts: Counter[str]) -> str:
    found = counts.most_common(MOST_LINES)
    if len(counts) == 1 and found[0][1] == 1:
        return found[0][0]
    more = f", and {len(counts) - MOST_LINES:,} more" if len(counts) > MOST_LINES else ""
    return ", ".join(f"{name} {count:,}×" for name, count in found) + more
