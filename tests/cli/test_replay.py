"""``palimpsest replay`` from the outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from palimpsest.cli.main import app
from palimpsest.cli.replay_text import Summary, print_summary
from palimpsest.core.errors import MissingExtraError, NotARecordingError, UsageError
from palimpsest.lab.replay import replay
from tests.lab.recordings import prompt, recording, says, words
from tests.transcripts.test_shared_recordings import table_of

Object = dict[str, Any]


def a_session(steps: int = 6, *, size: int = 2000, model: str = "m") -> str:
    messages: list[Object] = [{"role": "system", "content": "You help."}]
    for number in range(steps):
        call = {"name": "read", "arguments": json.dumps({"path": f"src/part_{number}.py"})}
        messages += [
            {"role": "user", "content": f"Read part {number}."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": "x" * size},
            {"role": "assistant", "content": "Done."},
        ]
    return json.dumps({"model": model, "messages": messages})


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "a.json"
    path.write_text(a_session())
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


def test_a_table_and_what_it_means(session: Path) -> None:
    done = run(session)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "a.json · openai-chat · m"
    assert max(map(len, lines)) <= 80
    assert [line.split("  ")[0] for line in lines[5:18]] == [
        "requests",
        "input tokens",
        "of keep all",
        "largest request",
        "cache reads",
        "cache writes",
        "cost",
        "prunings",
        "compactions",
        "prefix breaks",
        "too large",
        "blind steps",
        "need held",
    ]
    text = " ".join(done.stdout.split())
    assert "presence is not use" in text
    assert "Window: 128,000 (assumed: the model's window is not known)." in text
    assert "No price is known here; --model names a model." in text
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(("count", "tables"), [(1, 1), (2, 3), (3, 4), (4, 1)])
def test_few_sessions_have_tables_of_their_own(tmp_path: Path, count: int, tables: int) -> None:
    for number in range(count):
        (tmp_path / f"{number}.json").write_text(a_session())
    assert run(tmp_path).stdout.count("input tokens  ") == tables


def test_json_is_all_that_is_printed(session: Path, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(a_session(3, model="claude-sonnet-4-5"))
    (tmp_path / "c.json").write_text('{"no": "recording"}')
    done = run(tmp_path, "--json", "--window", "64000")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert answer.keys() == {"sessions", "totals", "skipped"}
    assert [item["path"] for item in answer["sessions"]] == [
        str(session),
        str(tmp_path / "b.json"),
    ]
    assert {item["window"] for item in answer["sessions"]} == {64_000}
    assert (answer["totals"]["sessions"], answer["totals"]["priced_sessions"]) == (2, 1)
    inputs = [item["traces"][0]["result"]["input_tokens"] for item in answer["sessions"]]
    assert answer["totals"]["policies"][0]["input_tokens"] == sum(inputs)
    [skipped] = answer["skipped"]
    assert skipped["path"] == str(tmp_path / "c.json")
    assert done.stderr.startswith(f"skipped: {tmp_path / 'c.json'} is not a recording: ")


def test_processes_change_nothing(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.json").write_text(a_session(number + 1))
    assert run(tmp_path, "--json", "--jobs", "2").stdout == run(tmp_path, "--json").stdout


def test_figures_in_a_folder_and_the_same_answer_again(session: Path, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(a_session(3, model="claude-sonnet-4-5"))
    folder = tmp_path / "figures"
    plain = run(tmp_path).stdout
    for _ in range(2):
        done = run(tmp_path, "--parquet", folder)
        assert (done.exit_code, done.stderr) == (0, "")
        assert done.stdout.startswith(plain)
        assert done.stdout.endswith(f"The figures, a row for each session and policy: {folder}\n")
    assert [path.name for path in folder.glob("*.parquet")] == ["part-000001.parquet"]
    assert run(session, "--parquet", folder, "--json").exit_code == 2
    assert run(session, "--parquet", folder, "--html", tmp_path / "a.html").exit_code == 2
    assert isinstance(run(session, "--parquet", folder).exception, UsageError)  # b.json is missing


def test_what_is_missing_for_a_corpus_is_said(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("palimpsest.lab.corpus", "palimpsest.lab.parts", "palimpsest.lab.cluster"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "distributed", None)
    for option, value in (("parquet", tmp_path / "figures"), ("scheduler", "tcp://127.0.0.1:1")):
        error = run(session, f"--{option}", value).exception
        assert isinstance(error, MissingExtraError)
        assert "pip install 'palimpsest-ai[" in str(error)
    assert run(session, "--scheduler", "tcp://127.0.0.1:1", "--jobs", "2").exit_code == 2


def test_the_page_is_written_beside_either_output(session: Path, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    done = run(session, "--html", page)
    assert done.stdout.endswith(f"The page with charts: {page}\n")
    first = page.read_text()
    assert first.startswith("<!doctype html>")
    assert json.loads(run(session, "--json", "--html", page).stdout)
    assert page.read_text() == first


def test_what_is_wrong_is_one_sentence_and_status_2(session: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no recording")
    (tmp_path / "empty").mkdir()
    for arguments in (
        [tmp_path / "notes.txt"],
        [session, tmp_path / "missing.json"],
        [tmp_path / "*.nothing"],
        [tmp_path / "empty"],
        [session, "--model", "no-such-model"],
        [session, "--window", "0"],
        [session, "--html", tmp_path / "none" / "page.html"],
        [session, "--format", "xml"],
    ):
        error = run(*arguments).exception
        assert isinstance(error, UsageError)
        assert error.exit_status == 2
        assert "\n" not in str(error)
    assert run().exit_code == 2
    assert run(session, "--jobs", "0").exit_code == 2


def test_a_mistyped_name_is_told_before_anything_is_replayed(session: Path) -> None:
    done = run(session, session.with_name("missing.json"), "--json")
    assert isinstance(done.exception, NotARecordingError)
    assert done.stdout == ""


def test_notes_on_damage_and_on_what_was_left_out(tmp_path: Path) -> None:
    head = {"type": "session", "id": "s", "timestamp": "2026-03-01T12:00:00Z", "cwd": "c"}
    at = "2026-03-01T12:00:01Z"
    prompt = {"role": "user", "content": "hello \x1b[2J"}
    reply = {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}
    lines = [
        json.dumps(head),
        *["{broken"] * 9,
        json.dumps({"type": "message", "id": "1", "timestamp": at, "message": prompt}),
        json.dumps(
            {"type": "message", "id": "2", "parentId": "1", "timestamp": at, "message": reply}
        ),
    ]
    path = tmp_path / "a\x1b[2J.jsonl"
    path.write_text("\n".join(lines))
    text = run(tmp_path).stdout
    assert "Problems in the recordings: 9" in text
    assert "… and 4 more; --json lists all" in text
    assert ":2: " in text
    assert "Set aside, as no part of the conversation: session" in " ".join(text.split())
    assert "\x1b" not in text
    assert len(json.loads(run(tmp_path, "--json").stdout)["sessions"][0]["problems"]) == 9


def test_estimates_are_checked_where_there_are_counts(capsys: pytest.CaptureFixture[str]) -> None:
    # Estimates 100 and 1000; counted 5000 more and then twice the growth, as in lab/test_fit.py.
    counted = recording(
        prompt(words(84)),
        says(words(84), counted=5100),
        prompt(words(784)),
        says("ok", counted=6900),
    )
    summary = Summary()
    for found in (counted, recording(prompt("one"), says("two"))):
        summary.add(replay(found))
    print_summary(summary)
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "The provider counted 2 of 3 requests: an uncorrected estimate misses its count by 6.5 %"
        in text
    )


def test_a_few_of_many_kinds_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    summary = Summary()
    for number in range(7):
        aside = {f"kind {number}": number + 1}
        summary.add(replay(recording(prompt("one"), says("two"), set_aside=aside)))
    print_summary(summary)
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "conversation: kind 6 7×, kind 5 6×, kind 4 5×, kind 3 4×, kind 2 3×, and 2 more." in text
    )


def test_prices_known_for_some_are_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    summary = Summary()
    for model in ("claude-sonnet-4-5", None):
        summary.add(replay(recording(prompt("one"), says("two"), model=model)))
    print_summary(summary)
    assert "Known for 1 of 2 sessions" in " ".join(capsys.readouterr().out.split())


def test_the_sample_of_the_package(tmp_path: Path) -> None:
    with as_file(files("palimpsest.lab") / "samples" / "inventory.json") as sample:
        done = run(sample, "--html", tmp_path / "report.html")
    assert done.exit_code == 0
    assert (tmp_path / "report.html").stat().st_size < 1_000_000


def test_a_bar_is_drawn_on_a_terminal_only(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    done = run(session)
    assert "replaying" in done.stderr
    assert "\x1b[" in done.stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in run(session).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_ends_it_at_once(tmp_path: Path, jobs: str) -> None:
    for number in range(200):
        (tmp_path / f"{number:03}.json").write_text(a_session(60, size=4000))
    page = tmp_path / "out.html"
    command = [sys.executable, "-m", "palimpsest", "replay", str(tmp_path), "--jobs", jobs]
    with subprocess.Popen(
        [*command, "--json", "--html", str(page)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == '{"sessions": [\n'
        assert process.stdout.readline().startswith('{"path"')
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
        rest, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert rest.count('{"path"') < 199  # most were never replayed
    assert not page.exists()


def test_every_recording_of_the_collection_is_replayed(shared: Path) -> None:
    folder = shared / "transcripts"
    done = run(folder, "--json")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    found = dict[str, list[Object]]()
    for item in answer["sessions"]:
        found.setdefault(str(Path(item["path"]).relative_to(folder)), []).append(item)
    table = table_of(shared)
    assert found.keys() == table.keys()
    for name, row in table.items():
        sessions = found[name]
        sums = {
            key: str(sum(item[key] for item in sessions))
            for key in ("messages", "results", "images", "interrupted")
        }
        summaries = sum(
            own["kind"] == "summary" for item in sessions for own in item["recorded_compactions"]
        )
        assert row.messages == sums["messages"]
        assert row.results in {"-", sums["results"]}
        assert (row.compactions, row.images, row.interrupted) == (
            str(summaries),
            sums["images"],
            sums["interrupted"],
        )
    assert len(answer["skipped"]) + len(table) == sum(
        path.suffix in {".json", ".jsonl", ".traj"} for path in folder.rglob("*")
    )
    totals = {result["policy"]: result for result in answer["totals"]["policies"]}
    assert totals["palimpsest"]["over_window"] == 0
    assert totals["keep-all"]["blind_steps"] == totals["keep-all"]["prefix_breaks"] == 0


def test_the_page_never_takes_the_place_of_a_recording_or_another_file(
    session: Path, tmp_path: Path
) -> None:
    before = session.read_bytes()
    link = tmp_path / "link.html"
    link.symlink_to(session)
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    for page in (session, link, other, tmp_path):
        error = run(session, "--html", page).exception
        assert isinstance(error, UsageError)
        assert error.exit_status == 2
    assert session.read_bytes() == before
    assert other.read_text() == "mine"


def test_a_loop_of_links_and_an_unusable_pattern_are_said(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.json").write_bytes(session.read_bytes())
    (folder / "loop.json").symlink_to(folder / "loop.json")
    assert json.loads(run(folder, "--json").stdout)["totals"]["sessions"] == 1
    for argument in ("**foo/*.json", ""):
        assert isinstance(run(argument).exception, UsageError)


def test_json_is_whole_even_when_a_later_file_ends_the_command(
    session: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"settings": 1}')
    done = run(session, broken, "--json")
    assert isinstance(done.exception, UsageError)
    assert json.loads(done.stdout)["totals"]["sessions"] == 1
