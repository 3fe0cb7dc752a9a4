"""The page: hostile texts, well-formed, small, and without anything from elsewhere."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.lab.policies import SimulatedCompaction
from palimpsest.lab.replay import ReplaySettings, replay
from palimpsest.lab.report import MOST_POINTS, Report, chart_data, sampled, script_json
from palimpsest.lab.results import Need, SessionReplay
from tests.lab.recordings import recording, steps

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</pre></details><img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' autofocus onfocus=alert(1) x='",
    "<!-- <script>",
    "]]><style>*{display:none}</style>",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;script&gt;",
    "a\u2028b\u2029c\x00\x1b[31m\u202egnp.exe",
    "\ud800 lone",
]
_VOID = {"meta", "input", "br", "img", "link", "hr"}


class _Page(HTMLParser):
    """Checks nesting, and collects elements, attributes and texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = list[str]()
        self.elements = list[tuple[str, dict[str, str | None]]]()
        self.texts = list[tuple[str, str]]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def text_of(self, tag: str) -> list[str]:
        return [text for element, text in self.texts if element == tag]


def page_of(sessions: list[SessionReplay], folder: Path) -> tuple[str, _Page]:
    path = folder / "report.html"
    with Report() as report:
        for session in sessions:
            report.add(session)
        report.write(path)
    text = path.read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert [found.name for found in folder.iterdir()] == ["report.html"]
    return text, page


def a_session(**changes: object) -> SessionReplay:
    history = steps(60, tokens=500, turn_every=20)
    session = replay(recording(*history), ReplaySettings(window=16_000))
    return dataclasses.replace(session, **changes)  # type: ignore[arg-type]  # any field


def hostile_session(text: str) -> SessionReplay:
    session = a_session(
        path=f"/tmp/{text}",
        session_id=text,
        model=text,
        window_source=text,
        problems=[f"{text}:3: {text}"],
        set_aside={text: 1},
    )
    compaction = SimulatedCompaction(
        request=1, first_kept_message_index=1, history_message_count=2, tokens_before=2,
        tokens_after=1, summary=text,
    )  # fmt: skip
    session.traces[1].compactions.append(compaction)
    session.traces[1].needs.append(Need())
    return session


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_recorded_becomes_markup(text: str, tmp_path: Path) -> None:
    _, harmless = page_of([hostile_session("harmless")] * 2, tmp_path)
    (tmp_path / "report.html").unlink()
    source, page = page_of([hostile_session(text)] * 2, tmp_path)
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in harmless.elements]
    for (tag, found), (_, expected) in zip(page.elements, harmless.elements, strict=True):
        assert found.keys() == expected.keys(), tag
        assert not any(name.startswith("on") for name in found)
        assert found.get("href", "#session-1") in {"#session-1", "#session-2"}
    assert not set("\x00\x1b\u202e").intersection(source)
    if text.isprintable():
        assert text in "".join(page.text_of("pre"))


def test_only_the_page_s_own_script_and_style_may_run(tmp_path: Path) -> None:
    source, page = page_of([a_session()], tmp_path)
    [policy] = [
        str(found["content"])
        for tag, found in page.elements
        if tag == "meta" and found.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for element in ("style", "script"):
        [body] = re.findall(rf"<{element}>(.*?)</{element}>", source, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy
    assert all("style" not in found for _, found in page.elements)
    assert all("src" not in found for _, found in page.elements)
    urls = set(re.findall(r"[a-z]+://[^\"' ]+", source))
    assert urls == {"http://www.w3.org/2000/svg"}


@given(st.recursive(st.text() | st.integers(), st.lists, max_leaves=5))
def test_json_cannot_leave_its_element(value: object) -> None:
    text = script_json(value)  # type: ignore[arg-type]  # any JSON
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029").intersection(text)


def test_a_long_session_is_drawn_with_few_points(tmp_path: Path) -> None:
    session = a_session()
    session.traces[:] = [
        dataclasses.replace(
            trace,
            context_tokens=[number % 977 for number in range(100_000)],
            pruned_at=list(range(0, 100_000, 2)),
            compactions=[],
            needs=[],
        )
        for trace in session.traces
    ]
    text, page = page_of([session], tmp_path)
    [data] = [json.loads(text) for text in page.text_of("script") if text.startswith("{")]
    assert max(len(policy["at"]) for policy in data["policies"]) <= MOST_POINTS
    assert max(len(policy["pruned"]) for policy in data["policies"]) <= MOST_POINTS
    assert len(text) < 200_000


def test_the_page_itself_is_small(tmp_path: Path) -> None:
    text, _ = page_of([a_session()], tmp_path)
    summaries = sum(len(c.summary) for t in a_session().traces for c in t.compactions)
    assert len(text) - summaries < 60_000


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=3000),
    st.lists(st.integers(0, 2999), max_size=2000),
)
def test_sampling_keeps_ends_and_peak(values: list[int], events: list[int]) -> None:
    events = [event % len(values) for event in events]
    at = sampled(values, events)
    assert at == sorted(set(at))
    assert len(at) <= MOST_POINTS
    assert {0, len(values) - 1} <= set(at)
    assert max(values[index] for index in at) == max(values)
    if len(events) <= MOST_POINTS // 8:
        assert set(events) <= set(at)


def test_a_short_series_is_drawn_whole() -> None:
    assert sampled(list(range(MOST_POINTS)), []) == list(range(MOST_POINTS))
    assert sampled([], []) == []


def test_chart_data_names_what_is_drawn() -> None:
    session = a_session()
    data = json.loads(script_json(chart_data(session)))
    assert (data["window"], data["fits"], data["trigger"]) == (16_000, 11_200, 10_080)
    assert [policy["label"] for policy in data["policies"]] == [
        trace.result.label for trace in session.traces
    ]
    assert data["policies"][1]["compacted"]


def test_of_many_sessions_the_totals_come_first(tmp_path: Path) -> None:
    source, _ = page_of([a_session(path=f"/s/{number}.jsonl") for number in range(5)], tmp_path)
    assert source.index("All sessions together") < source.index('id="session-1"')
    assert "data-unfold" not in source.split("<script>")[0]
    assert "The price table knows no model" in source
    (tmp_path / "report.html").unlink()
    source, _ = page_of([a_session()], tmp_path)
    assert "All sessions together" not in source
    assert 'id="all" data-unfold' in source


def test_of_many_sessions_the_one_with_most_compactions_is_opened(tmp_path: Path) -> None:
    calm = replay(recording(*steps(2, tokens=100)), ReplaySettings(window=64_000))
    source, _ = page_of([calm, calm, a_session(), calm], tmp_path)
    assert 'data-first="session-3"' in source


def test_problems_are_listed_up_to_a_number(tmp_path: Path) -> None:
    problems = [f"a.jsonl:{number}: It is damaged." for number in range(70)]
    source, _ = page_of([a_session(problems=problems)], tmp_path)
    assert source.count("It is damaged.") == 50
    assert "And 20 more" in source


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with Report() as report:
        report.add(a_session())
        with pytest.raises(OSError, match="taken"):
            report.write(tmp_path / "taken")
    assert [found.name for found in tmp_path.iterdir()] == ["taken"]
