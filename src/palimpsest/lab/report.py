"""One page about replayed sessions: a single file that loads nothing from anywhere.

Everything recorded is hostile: texts are escaped, data stands in JSON that cannot end its element,
and the page's policy allows no script and no style but its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Self, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from palimpsest._version import __version__
from palimpsest.core.errors import UnwritableOutputError
from palimpsest.core.excerpt import Json
from palimpsest.lab.figures import FIGURES, headline, percent, usd, whole
from palimpsest.lab.plain import plain
from palimpsest.lab.policies import SimulatedCompaction
from palimpsest.lab.results import Need, PolicyTrace, SessionReplay, Totals
from palimpsest.lab.whole_file import whole_file

_Item = TypeVar("_Item")

MOST_POINTS = 800
"""Points that the chart draws of one policy at most."""

MOST_PROBLEMS = 50
"""Problems of one session that are listed; the rest are counted."""

OPEN_SESSIONS = 3
"""Sessions that are shown unfolded; of more, none is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A session in the list of sessions."""

    number: int
    name: str
    session_id: str
    format: str
    requests: int
    peak_tokens: int
    share: str
    compactions: int
    over_window: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compaction:
    """A simulated compaction and its score."""

    label: str
    done: SimulatedCompaction
    need: Need


def check_page(path: Path) -> None:
    """Refuse to write a page over a file that is none.

    Raises:
        UnwritableOutputError: another file stands there.
    """
    if path.exists():
        with path.open("rb") as file:
            head = file.read(64).lstrip().lower()
        if head and not head.startswith(b"<!doctype html"):
            raise UnwritableOutputError(str(path), "a file that is no page stands there")


class Report:
    """Collects sessions one by one and writes the page in the end.

    Use it as a context manager. Sections wait in a temporary file, so that memory holds one session
    and a line for each of the others.
    """

    def __init__(self) -> None:
        self._environment = _environment()
        self._sections: IO[str] = TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115
        self._rows: list[_Row] = []
        self._totals = Totals()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sections.close()

    def add(self, session: SessionReplay) -> None:
        """Add one session; it is not held on to."""
        self._totals.add(session)
        row = _row(len(self._rows) + 1, session)
        self._rows.append(row)
        template = self._environment.get_template("session.html.j2")
        section = template.render(
            row=row,
            figures=FIGURES,
            session=session,
            results=session.policies,
            compactions=list(_compactions(session.traces)),
            chart=script_json(chart_data(session)),
            shown_problems=session.problems[:MOST_PROBLEMS],
        )
        self._sections.write(_encodable(section))

    def write(self, path: Path) -> None:
        """Write the page, all of it or nothing.

        Raises:
            OSError: the file cannot be written.
        """
        page = self._environment.get_template("report.html.j2").stream(
            rows=self._rows,
            figures=FIGURES,
            totals=self._totals,
            results=list(self._totals.policies.values()),
            headline=headline(self._totals, whole),
            sections=self._read_sections(),
            unfolded=len(self._rows) <= OPEN_SESSIONS,
            first=max(self._rows, key=_has_to_show, default=None),
            version=__version__,
            style=_asset("report.css"),
            script=_asset("report.js"),
        )
        with whole_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
            file.writelines(page)

    def _read_sections(self) -> Iterator[Markup]:
        self._sections.seek(0)
        while chunk := self._sections.read(1 << 16):
            yield Markup(chunk)


def _row(number: int, session: SessionReplay) -> _Row:
    results = {result.policy: result for result in session.policies}
    everything, palimpsest = session.policies[0], results["palimpsest"]
    share = palimpsest.input_tokens / everything.input_tokens if everything.input_tokens else 1.0
    return _Row(
        number=number,
        name=Path(session.path).name,
        session_id=session.session_id,
        format=session.format,
        requests=everything.requests,
        peak_tokens=everything.peak_tokens,
        share=percent(share),
        compactions=palimpsest.compactions,
        over_window=everything.over_window,
    )


def _has_to_show(row: _Row) -> tuple[int, int, int]:
    return row.compactions, row.over_window, row.requests


def _compactions(traces: Iterable[PolicyTrace]) -> Iterator[_Compaction]:
    for trace in traces:
        for done, need in zip(trace.compactions, trace.needs, strict=True):
            yield _Compaction(label=trace.result.label, done=done, need=need)


def chart_data(session: SessionReplay) -> Json:
    """Give what the chart draws: numbers and short names, at most ``MOST_POINTS`` a policy."""
    return {
        "window": session.window,
        "fits": session.fits_tokens,
        "trigger": session.trigger_tokens,
        "recorded": [item.request for item in _thinned(session.recorded_compactions)],
        "policies": [_series(trace) for trace in session.traces],
    }


def _series(trace: PolicyTrace) -> Json:
    compacted = [item.request for item in trace.compactions]
    at = sampled(trace.context_tokens, compacted + trace.pruned_at)
    return {
        "label": trace.result.label,
        "at": [*at],
        "tokens": [trace.context_tokens[request] for request in at],
        "pruned": [*_thinned(trace.pruned_at)],
        "compacted": [[item.request, item.tokens_before] for item in _thinned(trace.compactions)],
    }


def sampled(values: list[int], events: list[int]) -> list[int]:
    """Choose at most ``MOST_POINTS`` indices of a series: ends, peaks, lows, and events.

    Of an event the point before it stays too. Where events alone are too many they are thinned
    out; the highest value always stays.
    """
    count = len(values)
    if count <= MOST_POINTS:
        return list(range(count))
    chosen = {0, count - 1, max(range(count), key=values.__getitem__)}
    for event in _thinned(events, MOST_POINTS // 8):
        chosen |= {max(0, event - 1), min(event, count - 1)}
    buckets = (MOST_POINTS - len(chosen)) // 2
    for bucket in range(buckets):
        span = range(bucket * count // buckets, (bucket + 1) * count // buckets)
        chosen |= {max(span, key=values.__getitem__), min(span, key=values.__getitem__)}
    return sorted(chosen)


def _thinned(items: list[_Item], most: int = MOST_POINTS) -> list[_Item]:
    if len(items) <= most:
        return items
    return [items[index * len(items) // most] for index in range(most)]


def script_json(value: Json) -> Markup:
    """Write JSON that can stand in a script element: nothing in it ends or opens anything."""
    text = json.dumps(value, separators=(",", ":"))  # non-ASCII is escaped, U+2028 too
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


@dataclass(frozen=True, slots=True)
class _Asset:
    """A style or script of our own, and the hash that lets the page run it."""

    text: Markup
    hash: str


def _asset(name: str) -> _Asset:
    text = files("palimpsest.lab").joinpath("templates", name).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return _Asset(Markup(text), f"sha256-{digest}")


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("palimpsest.lab"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    environment.filters.update(whole=whole, percent=percent, usd=usd)
    return environment


def _shown(value: object) -> object:
    """Make a printed text harmless; what is marked as safe is ours."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value
