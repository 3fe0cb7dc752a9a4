"""What the blocks and the live part look like, at three widths and without colour."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from rich.console import Group

from palimpsest.cli.chat.blocks import (
    Block,
    CompactedBlock,
    ContextBlock,
    HelpBlock,
    HistoryBlock,
    NoticeBlock,
    OutputBlock,
    PromptBlock,
    ProseBlock,
    ReceiptBlock,
    ToolBlock,
)
from palimpsest.cli.chat.ink import ink, ink_blocks
from palimpsest.cli.chat.render import render_live
from palimpsest.cli.chat.screen import Compacting, RunningTool, Screen
from palimpsest.cli.chat.status import short_model, short_path, status_line
from palimpsest.cli.turns import CompactionRow, TurnRow
from palimpsest.core.budget import Budget
from palimpsest.session.breakdown import ContextBreakdown
from palimpsest.session.events import ApprovalRequested
from palimpsest.session.state import Totals
from tests.cli.chat.events import receipt, state

MARKDOWN = """\
The test builds `31.02.` and expects an **error**; see [the docs](https://example.org/d) <b>.

## Next

1. Raise.
2. Test it.

```python
def parse(text: str) -> date:
    return date.fromisoformat(text)
```

| file | lines |
|---|--:|
| a.py | 12 |
"""

TALK: tuple[Block, ...] = (
    PromptBlock(text="Why does the date test fail?\nLook at the parser first."),
    ToolBlock(call='grep "parse_date" src/ tests/', tokens=800, outcome="success"),
    ToolBlock(call="run_command " + "pytest " * 20, tokens=2_200, outcome="failed"),
    ToolBlock(call="run_command rm -r build", tokens=9, outcome="denied"),
    ProseBlock(markdown=MARKDOWN),
    CompactedBlock(receipt=receipt()),
    CompactedBlock(receipt=receipt(trigger="manual", after=97_000)),
    NoticeBlock(text="The provider said no.", tone="error"),
    NoticeBlock(text="Nothing waits for an answer."),
    OutputBlock(text="1 failed\x1b[31m"),
)

BREAKDOWN = ContextBreakdown(
    budget=Budget(window=32_000, reserved_output=1_000),
    total=18_000,
    system=900,
    tools=2_100,
    skills=0,
    summary=1_000,
    turns=13_500,
    cleared=500,
    turns_kept=4,
    outputs_cleared=3,
    cleared_away=9_400,
)

HISTORY = (
    TurnRow(number=1, start=0, stop=6, words="Why?", steps=3, calls=2, in_view=False),
    CompactionRow(checkpoint="0123456789", timestamp=0, active=True, tokens=(96_400, 11_800)),
    TurnRow(number=2, start=6, stop=8, words="Fix it " * 30, steps=1, calls=0, in_view=True),
    CompactionRow(checkpoint="abcdefghij", timestamp=0, active=False, tokens=None),
)


def plain(text: str) -> str:
    """Without styles, and without the time zone of this machine."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "1970-01-01 00:00", text)


def shown(*blocks: Block, columns: int = 80) -> str:
    text = plain(ink_blocks(None, blocks, columns=columns))
    assert max(map(len, text.splitlines())) <= columns
    assert not any(line != line.rstrip() for line in text.splitlines())
    return "\n" + text


def test_a_talk_at_60() -> None:
    assert shown(*TALK, columns=60) == snapshot("""\

› Why does the date test fail?
  Look at the parser first.

● grep "parse_date" src/ tests/                          800
● run_command pytest pytest pytest pytest py…  2.2k · failed
● run_command rm -r build                    9 · not allowed

The test builds 31.02. and expects an error; see the docs
(https://example.org/d) <b>.

Next

1. Raise.
2. Test it.

def parse(text: str) -> date:
    return date.fromisoformat(text)

file   lines
────────────
a.py      12

● compacted 96.4k → 11.8k · kept 4 turns · 9 in /history ·
/restore to undo
● compacted, but it did not reduce the request: 96.4k → 97k
· kept 4 turns · 9 in /history · /restore to undo
× The provider said no.
· Nothing waits for an answer.

1 failed�[31m
""")


def test_a_talk_at_80() -> None:
    assert shown(*TALK, columns=80) == snapshot("""\

› Why does the date test fail?
  Look at the parser first.

● grep "parse_date" src/ tests/                                      800
● run_command pytest pytest pytest pytest pytest pytest pytest p…  2.2k · failed
● run_command rm -r build                                9 · not allowed

The test builds 31.02. and expects an error; see the docs
(https://example.org/d) <b>.

Next

1. Raise.
2. Test it.

def parse(text: str) -> date:
    return date.fromisoformat(text)

file   lines
────────────
a.py      12

● compacted 96.4k → 11.8k · kept 4 turns · 9 in /history · /restore to undo
● compacted, but it did not reduce the request: 96.4k → 97k · kept 4 turns · 9
in /history · /restore to undo
× The provider said no.
· Nothing waits for an answer.

1 failed�[31m
""")


def test_a_talk_at_120() -> None:
    assert shown(*TALK, columns=120) == snapshot("""\

› Why does the date test fail?
  Look at the parser first.

● grep "parse_date" src/ tests/                                      800
● run_command pytest pytest pytest pytest pytest pytest pytest pytest pytest pytest pytest pytest pytest…  2.2k · failed
● run_command rm -r build                                9 · not allowed

The test builds 31.02. and expects an error; see the docs (https://example.org/d) <b>.

Next

1. Raise.
2. Test it.

def parse(text: str) -> date:
    return date.fromisoformat(text)

file   lines
────────────
a.py      12

● compacted 96.4k → 11.8k · kept 4 turns · 9 in /history · /restore to undo
● compacted, but it did not reduce the request: 96.4k → 97k · kept 4 turns · 9 in /history · /restore to undo
× The provider said no.
· Nothing waits for an answer.

1 failed�[31m
""")


def test_the_context_at_60() -> None:
    block = ContextBlock(breakdown=BREAKDOWN, window_source="as asked", calibrated=False)
    assert shown(block, columns=60) == snapshot("""\

Context  ≈ 18,000 of 32,000 tokens · 56 %
Window: as asked
■■◆◆◆◆≡≡▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪░·····················▒▒▓▓▓
■ system                 900    2.8 %
◆ tools                2,100    6.6 %
▲ skills                   0    0.0 %
≡ summary              1,000    3.1 %
▪ kept turns          13,500   42.2 %  4 turns
░ cleared outputs        500    1.6 %  3 outputs, 9.4k taken
out
· free                11,400   35.6 %
▒ reserve              1,000    3.1 %  held back for the
answer
▓ safety               1,600    5.0 %  held back for what
estimates miss
""")


def test_the_context_at_120() -> None:
    block = ContextBlock(
        breakdown=replace(BREAKDOWN, total=33_000, turns=28_500),
        window_source="as asked",
        calibrated=True,
    )
    assert shown(block, columns=120) == snapshot("""\

Context  33,000 of 32,000 tokens · 103 %
Window: as asked
■■◆◆◆◆≡≡▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪░▒▒▓▓▓
■ system                 900    2.8 %
◆ tools                2,100    6.6 %
▲ skills                   0    0.0 %
≡ summary              1,000    3.1 %
▪ kept turns          28,500   89.1 %  4 turns
░ cleared outputs        500    1.6 %  3 outputs, 9.4k taken out
· free                     0    0.0 %
▒ reserve              1,000    3.1 %  held back for the answer
▓ safety               1,600    5.0 %  held back for what estimates miss
The next request is 3,600 tokens too large; it is compacted before it is sent.
""")


def test_an_empty_context_says_when_it_will_know_more() -> None:
    empty = replace(BREAKDOWN, total=0, system=0, tools=0, summary=0, turns=0, cleared=0)
    text = shown(ContextBlock(breakdown=empty, window_source="as asked", calibrated=False))
    assert "System text and tools are counted with the first request." in text


def test_the_history_at_80() -> None:
    assert shown(HistoryBlock(rows=HISTORY)) == snapshot("""\

   1  Why?  3 steps · 2 calls
──── compacted 1970-01-01 00:00 · 96.4k → 11.8k · 01234567 · active ────────────
   2  Fix it Fix it Fix it Fix it Fix it Fix it Fix it Fix it Fix it Fi…  1 step
──── compacted 1970-01-01 00:00 · abcdefgh ─────────────────────────────────────
Pale turns are summarised for the model and whole here: /history N shows one.
""")
    assert "Nothing was said yet." in shown(HistoryBlock(rows=()))


def test_the_receipt_at_80() -> None:
    assert shown(ReceiptBlock(receipt=receipt())) == snapshot("""\

96,400 → 11,800 tokens
9 turns and 20 steps summarised · 4 turns and 6 steps kept · 3 outputs cleared
Files read: 1 of 2 stand in the view
  ○ tests/test_dates.py
  ● src/dates.py  lines 1–180
Commands: 1 of 1 stand in the view
  ● pytest -q  exit 1
Identifiers: 12 of 30 stand in the view.
● stands in the view word for word, ○ only in the original recording.
""")


def test_the_help_at_60() -> None:
    assert shown(HelpBlock(), columns=60) == snapshot("""\

Commands
  /compact [focus]
      summarise older turns now
  /context
      what fills the window
  /history [turn]
      all turns, compactions as markers; one turn in full
  /restore [id|none] [outputs]
      undo the newest compaction, or go to any
  /receipt [id]
      what a compaction kept and what it took out
  /abort
      stop what is under way
  /model [name]
      show or change the model
  /permissions [preset]
      read-only, workspace-write or full-access
  /approve [session]
      let the waiting call run, once or for this session
  /reject
      refuse the waiting call
  /new
      begin another session
  /resume [id]
      list sessions, or go on with one
  /flush
      try a failed save again
  /help
      this list
  /quit
      leave; all is saved
Keys
  Enter
      send; while busy, queue
  Alt+Enter, Ctrl+J
      a new line; so does \\ at the end of a line
  Tab
      complete /command, @file, $skill
  ↑ ↓
      earlier prompts; ↑ on an empty line takes a queued
prompt back
  Ctrl+R
      search earlier prompts
  Ctrl+V
      attach the image on the clipboard; the path of one
does it, too
  Ctrl+C
      stop what is under way; idle: clear the line, then
leave
  Ctrl+D
      leave
A line that begins with // sends a slash.
""")


def live(screen: Screen, *, columns: int = 80, now_ms: int = 7_000) -> str:
    lines = list(render_live(screen, now_ms=now_ms, columns=columns, rows=10))
    return "\n" + plain(ink(Group(*lines), columns=columns))


def test_a_compaction_under_way() -> None:
    compacting = Compacting(started_at=1_000, tokens=84_100, trigger="automatic")
    screen = Screen(operation="prompt", compacting=compacting, queue=("and then?",))
    assert live(screen) == snapshot("""\

◌ compacting 84.1k tokens · 6 s  (/abort to cancel)
  queued: and then?\
""")
    longer = replace(screen, compacting=replace(compacting, call=2, calls=3))
    assert live(longer, now_ms=77_000) == snapshot("""\

◌ compacting 84.1k tokens · 1 min 16 s · part 2 of 3  (/abort to cancel)
  Long histories can take a few minutes. Your work is saved.
  queued: and then?\
""")


def test_what_is_under_way() -> None:
    screen = Screen(operation="prompt", started_at=4_000)
    assert live(screen) == snapshot("""\

◌ working · 3 s  (/abort or Ctrl+C to stop)\
""")
    assert live(replace(screen, replying=True)) == snapshot("""\

◌ writing · 3 s  (/abort or Ctrl+C to stop)\
""")
    tool = RunningTool(call_id="a", call="run_command " + "make " * 30, started_at=5_000)
    assert live(replace(screen, tools=(tool,)), columns=60) == snapshot("""\

◌ run_command make make make make make make make make make …\
""")


def test_a_question() -> None:
    asked = ApprovalRequested(
        request_id="a", tool_name="run_command", arguments='{"command": "make test"}'
    )
    screen = Screen(operation="prompt", approvals=(asked, asked))
    assert live(screen) == snapshot("""\

? run_command make test
  allow?  y yes · s yes, for this session · n no  (1 more behind it)\
""")


def test_a_queue_that_waits() -> None:
    screen = Screen(queue=tuple(f"prompt {number}" for number in range(5)), held=True)
    assert live(screen) == snapshot("""\

  waits: prompt 0
  waits: prompt 1
  waits: prompt 2
  … and 2 more\
""")


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 120])
def test_the_bar_fits(columns: int) -> None:
    home = Path("/home/ann")
    line = status_line(state(), cwd=home / "code" / "app", home=home, columns=columns)
    assert line.cell_len <= columns
    assert "61 %" in line.plain


def test_the_bar() -> None:
    home = Path("/home/ann")
    where = home / "code" / "app"

    def bar(**choices: object) -> str:
        return status_line(
            state(**choices),  # type: ignore[arg-type]  # a table
            cwd=where,
            home=home,
            columns=100,
        ).plain

    assert bar() == "claude-sonnet-5 · ~/code/app · ▓▓▓▓▓▓░░░░ 61 % of 200k · $0.42"
    assert "▓▓▓▓▓▓▓▓▓▓ 205 % of 8k" in bar(tokens=16_400, window=8_000)
    assert "≈61 % of 200k" in bar(calibrated=False)
    assert bar(totals=Totals()).endswith("of 200k")
    assert bar(totals=Totals(requests=1, unpriced=1)).endswith("of 200k")
    assert bar(totals=Totals(requests=2, unpriced=1, cost_usd=1)).endswith("· $1.00+")


@pytest.mark.parametrize(
    ("tokens", "style"), [(139_000, ""), (140_000, "yellow"), (179_999, "yellow"), (180_000, "red")]
)
def test_the_meter_is_amber_from_70_and_red_from_90(tokens: int, style: str) -> None:
    line = status_line(state(tokens=tokens), cwd=Path("/a"), home=Path("/h"), columns=100)
    styles = {str(span.style) for span in line.spans} - {"dim", ""}
    assert styles == ({style} if style else set())


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("anthropic:claude-sonnet-5", "claude-sonnet-5"),
        ("openai-compatible:demo@http://127.0.0.1:1/v1", "demo"),
        ("openrouter:anthropic/claude-sonnet-4.5", "claude-sonnet-4.5"),
        ("scripted", "scripted"),
    ],
)
def test_a_short_name(name: str, short: str) -> None:
    assert short_model(name) == short


def test_a_short_path() -> None:
    home = Path("/home/ann")
    assert short_path(home, home) == "~"
    assert short_path(home / "a", home) == "~/a"
    assert short_path(Path("/srv/a"), home) == "/srv/a"


def test_no_background_is_ever_set() -> None:
    coloured = ink_blocks(None, TALK, columns=80)
    assert "\x1b[32m" in coloured
    for codes in re.findall(r"\x1b\[([0-9;]*)m", coloured):
        assert not {"40", "41", "42", "43", "44", "45", "46", "47", "48"} & set(codes.split(";"))


def test_no_color_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    codes = re.findall(r"\x1b\[([0-9;]*)m", ink_blocks(None, TALK, columns=80))
    assert {code for found in codes for code in found.split(";")} <= {"", "0", "1", "2", "3", "4"}


def test_a_long_prompt_is_folded_unless_it_is_recalled() -> None:
    text = "\n".join(f"line {number}" for number in range(40))
    assert shown(PromptBlock(text=text)).endswith("  … 28 more lines\n")
    assert "line 39" in shown(PromptBlock(text=text, full=True))
