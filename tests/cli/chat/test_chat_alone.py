"""The chat without a terminal: saves that fail, ways to leave, bugs that end it."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.cli.chat.blocks import Block, NoticeBlock
from palimpsest.cli.chat.chat import Chat
from palimpsest.cli.chat.desk import Desk
from palimpsest.cli.open import Choices
from palimpsest.session.memory import MemoryStore
from palimpsest.testing import FailingStore, Reply
from tests.session.helpers import HEADER, rig
from tests.session.waiting import until

pytestmark = pytest.mark.anyio


class Notes:
    """A front that writes everything down."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.lines: list[str] = []
        self.draft = ""
        self.status: int | None = None
        self.error: BaseException | None = None

    def show(self, *blocks: Block) -> None:
        self.blocks += blocks

    def refresh(self) -> None:
        pass

    def remember(self, line: str) -> None:
        self.lines.append(line)

    def put_back(self, text: str) -> None:
        self.draft = text

    def leave(self, status: int) -> None:
        self.status = status

    def fail(self, error: BaseException) -> None:
        self.error = error

    @property
    def said(self) -> str:
        return "\n".join(block.text for block in self.blocks if isinstance(block, NoticeBlock))


async def chat_whose_saves_fail(times: int | None) -> tuple[Chat, Notes]:
    """The first commit is stored, the next ones are not."""
    store = FailingStore(MemoryStore(HEADER), "commit", after=1, times=times)
    made = await rig([Reply(text="One."), Reply(text="Two.")], store=store)
    notes = Notes()
    chat = Chat(Desk(made.session, Path(), Choices(), ()))
    chat.connect(notes)
    chat.submit("first")
    await until(made.session, lambda: made.session.state.has_pending_save)
    await settled(chat)
    return chat, notes


async def settled(chat: Chat) -> None:
    await chat.desk.session.wait_for_idle()
    await chat.rest()


async def test_new_work_waits_for_a_flush_and_is_not_lost() -> None:
    chat, notes = await chat_whose_saves_fail(times=1)
    chat.submit("second")
    assert notes.draft == "second"
    assert "/flush tries again" in notes.said
    chat.submit("/flush")
    await settled(chat)
    assert notes.said.endswith("Everything is saved.")
    chat.submit("second")
    await settled(chat)
    chat.press_quit()
    await settled(chat)
    assert notes.status == 0
    assert notes.lines == ["first", "second", "/flush", "second"]
    await chat.close()


async def test_leaving_is_refused_once_and_names_what_is_lost() -> None:
    chat, notes = await chat_whose_saves_fail(times=None)
    chat.submit("/quit")
    assert "Not everything is saved" in notes.said
    assert notes.status is None
    assert not chat.press_interrupt(draft=True)
    await settled(chat)
    assert notes.status == 1
    assert "Never saved: " in notes.said
    await chat.close()


async def test_a_process_that_is_told_to_end_tries_once_to_save() -> None:
    chat, notes = await chat_whose_saves_fail(times=1)
    await chat.terminate(143)
    assert notes.status == 143
    assert "never saved" not in notes.said
    await chat.terminate(143)
    await chat.close()


async def test_what_commands_may_be_given() -> None:
    made = await rig([])
    chat = Chat(Desk(made.session, Path(), Choices(), ()))
    found = [
        [offer.text for offer in chat.offers(before)]
        for before in ("/restore n", "/receipt ", "/permissions f", "/approve s", "/compact x")
    ]
    assert found == [["none"], [], ["full-access"], ["session"], []]
    assert chat.take_back() is None
    await chat.close()


async def test_a_bug_ends_the_chat_with_its_traceback() -> None:
    made = await rig([])
    notes = Notes()
    chat = Chat(Desk(made.session, Path(), Choices(), ()))
    chat.connect(notes)

    async def bug() -> None:
        raise ZeroDivisionError

    chat.spawn(bug())
    await settled(chat)
    assert isinstance(notes.error, ZeroDivisionError)
    chat.start("restore", bug)
    await settled(chat)
    await chat.close()


async def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    made = await rig([])
    notes = Notes()
    chat = Chat(Desk(made.session, tmp_path, Choices(), ()))
    chat.connect(notes)
    (tmp_path / "big.png").write_bytes(b"")
    with (tmp_path / "big.png").open("wb") as file:
        file.truncate(20_000_001)
    chat.submit("see @big.png")
    await settled(chat)
    assert "at most 20,000,000 bytes" in notes.said
    assert chat.screen.operation is None
    await chat.close()
