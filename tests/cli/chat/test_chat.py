"""The chat in this process: keys in through a pipe, what is drawn onto paper."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event

import pyte
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from palimpsest.cli.chat import clipboard
from palimpsest.cli.chat.run import run_chat
from palimpsest.cli.open import Choices
from tests.cli.script_server import SUMMARY, Answer, Script, serving

pytestmark = pytest.mark.anyio

COLUMNS, ROWS = 110, 30

LONG = "The parser, the calendar and the time zone are explained at length here. " * 60


class Paper(io.StringIO):
    """Where the terminal draws; tells of every stroke."""

    def __init__(self) -> None:
        super().__init__()
        self.touched = asyncio.Event()
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self._screen)

    def write(self, text: str) -> int:
        self.touched.set()
        self._stream.feed(text)
        return super().write(text)

    @property
    def is_idle(self) -> bool:
        """The bottom bar is drawn, and nothing is under way."""
        lines = [line for line in self._screen.display if line.strip()]
        return bool(lines) and "% of" in lines[-1] and not any("◌" in line for line in lines)

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue()).replace("\r", "")


class Person:
    """Types, and reads what is drawn from now on."""

    def __init__(self, keys: PipeInput, paper: Paper) -> None:
        self._keys = keys
        self._paper = paper
        self._read = 0

    def press(self, keys: str) -> None:
        self._keys.send_text(keys)

    def hang_up(self) -> None:
        self._keys.close()

    async def enter(self, line: str) -> None:
        self.press(f"{line}\r")

    async def sees(self, text: str) -> None:
        await self._until(lambda: text in self._paper.text[self._read :], text)
        self._read = self._paper.text.index(text, self._read) + len(text)

    async def idle(self) -> None:
        await self._until(lambda: self._paper.is_idle, "an idle session")

    async def _until(self, holds: Callable[[], bool], wanted: str) -> None:
        try:
            async with asyncio.timeout(30):
                while not holds():
                    self._paper.touched.clear()
                    await self._paper.touched.wait()
        except TimeoutError:
            raise AssertionError(f"waited for {wanted!r}; drawn:\n{self._paper.text}") from None


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@asynccontextmanager
async def chatting(
    script: Script, cwd: Path, *, status: int = 0, **choices: object
) -> AsyncIterator[Person]:
    paper = Paper()
    output = Vt100_Output(
        paper, lambda: Size(rows=ROWS, columns=COLUMNS), term="xterm", enable_cpr=False
    )
    with (
        serving(script) as model,
        create_pipe_input() as keys,
        create_app_session(input=keys, output=output),
    ):
        chosen = Choices(model=model, with_tools=False, window=16_000)
        task = asyncio.create_task(
            run_chat(
                Choices(**{**_fields(chosen), **choices}),  # type: ignore[arg-type]  # a table
                cwd,
                source=keys,
                output=output,
            )
        )
        person = Person(keys, paper)
        yield person
        assert await task == status


def _fields(choices: Choices) -> dict[str, object]:
    names = ("session", "goes_on", "model", "window", "preset", "with_tools")
    return {name: getattr(choices, name) for name in names}


async def test_every_command_that_reads(home: Path) -> None:
    async with chatting(Script([Answer(text=LONG)]), home) as person:
        await person.sees("New session")
        for command, said in (
            ("/abort", "Nothing is under way."),
            ("/approve", "Nothing waits for an answer."),
            ("/reject", "Nothing waits for an answer."),
            ("/flush", "Everything is saved."),
            ("/receipt", "Nothing was compacted yet."),
            ("/restore", "There is no compaction to undo."),
            ("/restore a b", "/restore takes one id, or none."),
            ("/restore abcdef", "This session has no checkpoint abcdef."),
            ("/compact", "Nothing to compact:"),
            ("/history", "Nothing was said yet."),
            ("/history 3", "This session has 0 turns."),
            ("/history x", "/history takes the number of a turn"),
            ("/context", "held back for the answer"),
            ("/model", "16,000 tokens (as asked)"),
            ("/permissions", "Tools may do what workspace-write allows."),
            ("/permissions all", "permission_preset must be"),
            ("/permissions read-only", "From the next prompt on: read-only."),
            ("/resume", "This project has no session yet."),
            ("/resume 12345", "There is no session 12345;"),
            ("/compcat", "did you mean /compact?"),
            ("/help", "Ctrl+D"),
        ):
            await person.enter(command)
            await person.sees(said)
        person.press("\x04")


async def test_a_compaction_its_receipt_and_its_undoing(home: Path) -> None:
    script = Script([Answer(text=LONG)], summaries=[Answer(text=SUMMARY)])
    async with chatting(script, home) as person:
        await person.sees("New session")
        for number in range(4):
            await person.enter(f"part {number}")
            await person.sees(f"› part {number}")
            await person.sees("at length here.")
            await person.idle()
        await person.enter("/compact the dates")
        await person.sees("/restore to undo")
        await person.enter("/receipt")
        await person.sees("Identifiers:")
        await person.enter("/history 1")
        await person.sees("at length here.")
        await person.enter("/restore")
        await person.sees("restored the whole history")
        await person.idle()
        await person.enter("/restore none outputs")
        await person.sees("with cleared outputs")
        await person.idle()
        await person.enter("/new")
        await person.sees("New session")
        await person.enter("/resume")
        await person.sees("part 0")
        await person.enter("/quit")


async def test_a_queue_is_kept_in_order_and_waits_after_a_stop(home: Path) -> None:
    gate = Event()
    held = Answer(text="Half", gate=gate)
    script = Script([held, Answer(text="For two."), Answer(text="For three.")])
    async with chatting(script, home) as person:
        await person.enter("one")
        await person.sees("Half")
        await person.enter("two")
        await person.sees("queued: two")
        await person.enter("three")
        await person.sees("queued: three")
        await person.enter("four")
        await person.sees("queued: four")
        person.press("\x1b[A")
        await person.sees("› four")
        person.press("\x03")
        await person.sees("2 prompts wait")
        gate.set()
        await person.sees("waits: two")
        person.press("\x15\r")
        await person.sees("› two")
        await person.sees("For two.")
        await person.sees("› three")
        await person.sees("For three.")
        await person.idle()
        person.press("draft")
        await person.sees("draft")
        person.press("\x03")
        person.press("\x04")


async def test_a_provider_that_refuses_is_one_line(home: Path) -> None:
    script = Script([Answer(text="no such thing", status=404), Answer(text="Fine.")])
    async with chatting(script, home, status=130) as person:
        await person.enter("one")
        await person.sees("× ")
        await person.sees("no such thing")
        await person.enter("two")
        await person.sees("Fine.")
        await person.idle()
        person.press("\x03")


async def test_images_skills_and_the_clipboard(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n0000")
    skill = home / ".agents" / "skills" / "dates" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: dates\ndescription: About dates.\n---\nISO only.\n")
    tools = home / "bin"
    tools.mkdir()
    (tools / "xclip").write_text(f"#!/bin/sh\ncat '{home / 'a.png'}'\n")
    (tools / "xclip").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    script = Script([Answer(text="Seen.")])
    async with chatting(script, home) as person:
        await person.sees("New session")
        person.press(f"\x1b[200~{home / 'a.png'}\x1b[201~")
        await person.sees("@/")
        person.press("\x16")
        await person.sees("palimpsest-")
        person.press(" $dates look\r")
        await person.sees("Seen.")
        await person.idle()
        person.press("\x04")
    content = str(script.requests[0]["messages"])
    assert content.count("image_url") >= 2
    assert "ISO only." in content


def test_no_clipboard_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert clipboard.save_clipboard_image() is None
    broken = tmp_path / "pngpaste"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert clipboard.save_clipboard_image() is None


async def test_completion_and_lines(home: Path) -> None:
    script = Script([Answer(text="Two lines.")])
    async with chatting(script, home) as person:
        await person.sees("New session")
        person.press("/hel")
        await person.sees("this list")
        person.press("\t\r\r")
        await person.sees("Alt+Enter")
        person.press("one\\\rtwo\nthree\r")
        await person.sees("Two lines.")
        await person.idle()
        person.press("\x04")
    assert script.requests[0]["messages"][-1]["content"] == "one\ntwo\nthree"


async def test_a_question_is_answered_by_a_line(home: Path) -> None:
    call = Answer(tool="run_command", arguments={"command": "true"})
    script = Script(
        [call, Answer(text="One."), call, Answer(text="Two."), call, Answer(text="Last.")]
    )
    async with chatting(script, home, with_tools=True, window=64_000) as person:
        await person.enter("go")
        await person.sees("allow?")
        await person.enter("/reject")
        await person.sees("not allowed")
        await person.sees("One.")
        await person.idle()
        await person.enter("again")
        await person.sees("allow?")
        await person.enter("/approve session")
        await person.sees("may run without asking")
        await person.sees("Two.")
        await person.idle()
        await person.enter("and again")
        await person.sees("Last.")
        await person.idle()
        await person.enter("/model openai-compatible:other@http://127.0.0.1:9/v1")
        await person.sees("The model is openai-compatible:other")
        person.press("\x04")


async def test_a_session_is_resumed_and_a_broken_one_named(home: Path) -> None:
    script = Script([Answer(text="One.")])
    async with chatting(script, home) as person:
        await person.enter("first words")
        await person.sees("One.")
        await person.idle()
        await person.enter("/new")
        await person.sees("New session")
        [path] = home.glob("data/sessions/*/*.jsonl")
        path.with_name("broken-one.jsonl").write_text("{}\n")
        await person.enter("/resume")
        await person.sees("first words")
        await person.sees("broken-o")
        await person.enter(f"/resume {path.stem[:8]}")
        await person.sees("Resumed")
        await person.enter(f"/resume {path.stem[:8]}")
        await person.sees("That is this session.")
        await person.enter("/resume broken-one")
        await person.sees("line 1")
        await person.enter("/new")
        await person.sees("New session")
        person.press("\x04")


async def test_a_terminal_that_goes_away_ends_in_order(home: Path) -> None:
    gate = Event()
    held = Answer(text="Half", gate=gate)
    async with chatting(Script([held]), home, status=129) as person:
        await person.enter("one")
        await person.sees("Half")
        person.hang_up()
    gate.set()
    [path] = home.glob("data/sessions/*/*.jsonl")
    assert "one" in path.read_text()
    assert (home / "data" / "input-history").read_text() == "one\0"
