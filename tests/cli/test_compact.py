"""``palimpsest compact`` from the outside: what it writes, what it refuses, what it prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from palimpsest.cli.main import app
from palimpsest.cli.receipt import receipt_lines
from palimpsest.core.errors import (
    InvalidSettingError,
    NotARecordingError,
    NothingToCompactError,
    PalimpsestError,
    SeveralSessionsError,
    UnknownFormatError,
    UnwritableOutputError,
    WouldOverwriteError,
)
from palimpsest.core.placeholder import PRUNE_PLACEHOLDER
from palimpsest.core.receipt import (
    CompactionFigures,
    Fact,
    Facts,
    IdentifierCounts,
    Receipt,
)
from palimpsest.lab.compact import compact_recording
from palimpsest.transcripts import Recording, read_recordings
from tests.lab.long_recordings import (
    KNOWS_SUMMARIES,
    WINDOW,
    claude_code,
    long_texts,
    openai_messages,
)
from tests.transcripts.samples import Object, lines, outline, pi_entry, write


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["compact", *map(str, arguments), "--window", str(WINDOW)])


def read(path: Path) -> Recording:
    [found] = read_recordings(path)
    return found


def shown(recording: Recording) -> list[str]:
    """A line a message; SWE-agent calls get their ids from positions."""
    return [
        " ".join("step" if word.startswith("step-") else word for word in line.split(" "))
        for line in outline(recording)
    ]


def assert_refused(done: Result, error: type[PalimpsestError], sentence: str) -> None:
    assert isinstance(done.exception, error)
    assert sentence in str(done.exception)
    assert "\n" not in str(done.exception)
    assert done.stdout == ""


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write(tmp_path, claude_code())


@pytest.mark.parametrize("name", long_texts())
def test_what_is_written_reads_back_as_what_was_kept(tmp_path: Path, name: str) -> None:
    format, content = long_texts()[name]
    path, written = write(tmp_path, content, "a"), tmp_path / "b"
    assert run(path, "-o", written).exit_code == 0
    assert path.read_text(encoding="utf-8") == content

    before, after = read(path), read(written)
    view = compact_recording(before, window=WINDOW).view
    assert view.summary is not None
    expected = shown(before)
    for index, call_id in view.cleared:
        expected[index] = f"request: {tool_name(before, index)} {call_id} = {PRUNE_PLACEHOLDER}"
    prompt = [] if view.kept_prompt_index is None else [view.kept_prompt_index]
    expected = [expected[index] for index in [*prompt, *view.kept_message_indices]]
    if name in KNOWS_SUMMARIES:
        assert [item.summary for item in after.compactions] == [view.summary]
    else:
        expected = [f"PROMPT: {view.summary}", *expected]
    assert shown(after) == expected
    assert (after.format, after.system, after.problems) == (format, before.system, [])


def tool_name(recording: Recording, index: int) -> str:
    [part] = recording.messages[index].message.parts
    assert part.part_kind == "tool-return"
    return part.tool_name


@pytest.mark.parametrize("name", long_texts())
def test_what_is_written_can_be_replayed_and_compacted_again(tmp_path: Path, name: str) -> None:
    path, again = write(tmp_path, long_texts()[name][1], "a"), tmp_path / "b"
    assert run(path, "-o", again).exit_code == 0
    replayed = CliRunner().invoke(app, ["replay", str(again), "--json"])
    assert json.loads(replayed.stdout)["totals"]["sessions"] == 1
    assert run(again).exit_code in {0, NothingToCompactError.exit_status}


def test_standard_output_carries_the_conversation_and_nothing_else(session: Path) -> None:
    written = session.with_name("b.jsonl")
    to_file, to_stdout = run(session, "-o", written), run(session)
    assert to_stdout.stdout == written.read_text(encoding="utf-8")
    assert to_stdout.stderr == to_file.stdout
    assert to_file.stderr == ""


def test_the_receipt_says_what_was_done_within_80_columns(session: Path) -> None:
    text = run(session).stderr
    assert max(map(len, text.splitlines())) <= 80
    words = " ".join(text.split())
    assert "3 turns and 9 steps summarised · 1 turn and 7 steps kept · 2 outputs cleared" in words
    assert "Files read: 9 of 9 stand in the view ● p_8.py" in words
    assert "… 3 more" in words
    assert "Window: 10,000 (as asked)." in words


def test_a_cut_inside_the_newest_turn_is_said(tmp_path: Path) -> None:
    done = run(write(tmp_path, long_texts()["swe"][1], "a.traj"))
    assert "The newest turn itself was cut after a step; its prompt stays verbatim." in done.stderr


def test_the_recording_itself_is_never_replaced(session: Path, tmp_path: Path) -> None:
    content = session.read_bytes()
    (tmp_path / "link").symlink_to(session)
    (tmp_path / "hard").hardlink_to(session)
    for target in (session, tmp_path / "link", tmp_path / "hard"):
        for force in ([], ["--force"]):
            done = run(session, "-o", target, *force)
            assert_refused(done, WouldOverwriteError, "is the recording itself")
    assert session.read_bytes() == content


def test_a_file_is_replaced_only_when_forced(session: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.jsonl"
    target.write_text("mine")
    assert_refused(run(session, "-o", target), WouldOverwriteError, "pass --force")
    assert target.read_text() == "mine"
    assert run(session, "-o", target, "--force").exit_code == 0
    assert read(target).compactions
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.jsonl", "session.jsonl"]


def test_a_folder_that_is_not_there(session: Path, tmp_path: Path) -> None:
    done = run(session, "-o", tmp_path / "none" / "b.jsonl")
    assert_refused(done, UnwritableOutputError, f"no folder {tmp_path / 'none'}")
    assert_refused(run(session, "-o", tmp_path), UnwritableOutputError, "it is a folder")


def test_one_of_several_sessions_must_be_named(tmp_path: Path) -> None:
    results = [{"task_id": n, "trial": 0, "reward": 1.0, "traj": openai_messages()} for n in (1, 2)]
    path = write(tmp_path, json.dumps(results), "tau.json")
    first, second = (item.session_id for item in read_recordings(path))
    assert_refused(run(path), SeveralSessionsError, f"2 sessions; name one with --session: {first}")
    assert_refused(run(path, "--session", "none"), SeveralSessionsError, second)
    done = run(path, "--session", second)
    assert done.exit_code == 0
    assert [item["task_id"] for item in json.loads(done.stdout)] == [2]


@pytest.mark.parametrize("name", sorted(long_texts().keys() - {"claude"}))
def test_sessions_of_one_id_can_be_told_apart(tmp_path: Path, name: str) -> None:
    content = long_texts()[name][1]
    path = write(tmp_path, content + "\n" + content.replace("Step 14.", "The other."), "a.json")
    first, second = (item.session_id for item in read_recordings(path))
    assert second == f"{first}~2"
    for session_id, own in ((first, "Step 14."), (second, "The other.")):
        done = run(path, "--session", session_id)
        assert done.exit_code == 0
        assert ("Step 14." in done.stdout, "The other." in done.stdout) == (
            own == "Step 14.",
            own == "The other.",
        )


def test_a_session_that_is_not_in_the_file(session: Path) -> None:
    done = run(session, "--session", "other")
    told = "holds no session 'other', but 1 session; name one with --session: s1."
    assert_refused(done, SeveralSessionsError, told)
    assert run(session, "--session", "s1").exit_code == 0


def test_nothing_to_compact_is_one_sentence_and_status_1(tmp_path: Path) -> None:
    path, target = write(tmp_path, lines(pi_entry("user", content="Hi"))), tmp_path / "b.jsonl"
    done = run(path, "-o", target)
    assert_refused(done, NothingToCompactError, "Nothing to compact: ")
    assert isinstance(done.exception, NothingToCompactError)
    assert (done.exception.code, done.exception.exit_status) == ("nothing_to_compact", 1)
    assert not target.exists()


def test_the_command_ends_with_one_line_on_standard_error(tmp_path: Path) -> None:
    path = write(tmp_path, lines(pi_entry("user", content="Hi")))
    done = subprocess.run(
        [sys.executable, "-m", "palimpsest", "compact", path], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"palimpsest: Nothing to compact: ")
    assert done.stderr.count(b"\n") == 1


def test_settings_that_cannot_be(session: Path, tmp_path: Path) -> None:
    assert_refused(run(session, "--model", "no-such"), InvalidSettingError, "'no-such'")
    assert_refused(run(session, "--format", "xml"), UnknownFormatError, "'xml'")
    assert_refused(run(session, "--format", "pi"), NotARecordingError, "no message")
    assert_refused(run(tmp_path / "none"), NotARecordingError, "no such file")
    runner = CliRunner()
    for window in ("0", "-5", "999"):
        done = runner.invoke(app, ["compact", str(session), "--window", window])
        assert_refused(done, InvalidSettingError, "window must be a positive whole number")
    assert runner.invoke(app, ["compact", str(session), "--window", "x"]).exit_code == 2


@pytest.mark.parametrize("name", long_texts())
def test_lone_surrogates_survive(tmp_path: Path, name: str) -> None:
    content = long_texts()[name][1].replace("Step 14.", "Step \\ud800.")
    content = content.replace("p_2.py", "p_\\udfff.py").replace("The issue", "The \\ud801 issue")
    path, written = write(tmp_path, content, "a"), tmp_path / "b"
    assert run(path, "-o", written).exit_code == 0
    before, after = outline(read(path)), outline(read(written))
    assert any("Step \ud800." in line for line in before)
    assert [line for line in after if "\ud800" in line]
    assert run(path).stdout_bytes == written.read_bytes()


def test_recorded_text_cannot_reach_the_terminal(tmp_path: Path) -> None:
    hostile = "p_\\u001b[2J\\u202e\\u009b31m_[red]x[/red]\\ud800.py"
    path = write(tmp_path, claude_code().replace("p_8.py", hostile))
    for done in (run(path), run(path, "--session", "\x1b[2J")):
        assert not {"\x1b", "\u202e", "\x9b", "\ud800"} & set(done.stderr)
    assert "[red]x[/red]" in run(path).stderr


def test_an_error_shows_no_control_either(tmp_path: Path) -> None:
    path = write(tmp_path, "no recording", "a\x1b[2J\nb.json")
    done = subprocess.run(
        [sys.executable, "-m", "palimpsest", "compact", path], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"\x1b" not in done.stderr
    assert done.stderr.count(b"\n") == 1


NO_FACTS = Facts(newest=(), in_view=0, total=0)


def receipt(*, after: int, warnings: tuple[str, ...] = (), commands: Facts = NO_FACTS) -> Receipt:
    figures = CompactionFigures(
        trigger="manual",
        tokens_before=100,
        tokens_after=after,
        messages_summarised=2,
        messages_kept=1,
        turns_summarised=1,
        turns_kept=1,
        steps_summarised=0,
        steps_kept=1,
        outputs_cleared=0,
        duration_ms=0,
        cost_usd=None,
        warnings=warnings,
    )
    return Receipt(
        figures=figures,
        reduced=after < 100,
        files_read=NO_FACTS,
        files_changed=NO_FACTS,
        commands=commands,
        open_errors=NO_FACTS,
        user_rules=NO_FACTS,
        identifiers=IdentifierCounts(in_view=1, total=2),
    )


def test_a_receipt_says_what_did_not_go_well() -> None:
    text = [str(line) for line in receipt_lines(receipt(after=100, warnings=("odd",)), columns=80)]
    assert text[0] == "100 → 100 tokens"
    assert text[2:4] == ["This compaction did not reduce the request.", "Warning: odd"]
    assert len(text) == 6


@pytest.mark.parametrize(
    ("text", "detail", "columns", "line"),
    [
        ("make", "", 80, "  ○ make"),
        ("make", "exit 0", 80, "  ○ make  exit 0"),
        ("m" * 90, "exit 0", 40, f"  ○ {'m' * 27}…  exit 0"),
        ("m" * 90, "", 40, f"  ○ {'m' * 35}…"),
        ("make", "d" * 40, 80, f"  ○ make  {'d' * 27}…"),
        ("漢" * 30, "", 20, f"  ○ {'漢' * 7} …"),
        ("make\nall", "exit\t0", 80, "  ○ make all  exit 0"),
    ],
)
def test_a_fact_takes_one_line(text: str, detail: str, columns: int, line: str) -> None:
    fact = Fact(text=text, detail=detail, message_index=0, in_view=False)
    found = receipt(after=1, commands=Facts(newest=(fact,), in_view=0, total=1))
    printed = [str(item) for item in receipt_lines(found, columns=columns)]
    assert printed[3] == line


def test_what_no_compaction_shrinks_is_named_and_whether_the_result_fits(tmp_path: Path) -> None:
    system: Object = {"role": "system", "content": "Rule of the house. " * 6_000}
    messages = openai_messages()[1:]
    large = run(
        write(tmp_path, json.dumps([system, *messages]), "large.json"), "-o", tmp_path / "a"
    )
    assert large.exit_code == 0
    said = " ".join(large.output.split())
    assert "are system text and tools, which compaction cannot shrink." in said
    assert "This does not fit the window: at most " in said
    small = run(write(tmp_path, json.dumps(messages), "small.json"), "-o", tmp_path / "b")
    assert small.exit_code == 0
    assert "does not fit" not in small.output
