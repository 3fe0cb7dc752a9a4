"""What each slash command does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from palimpsest.cli.chat.blocks import ContextBlock, HelpBlock, HistoryBlock, ReceiptBlock
from palimpsest.cli.chat.history import message_blocks
from palimpsest.cli.chat.lines import Command, CommandName
from palimpsest.cli.chat.screen import Screen
from palimpsest.cli.chat.status import short_model
from palimpsest.cli.turns import history_rows, session_title, turn_rows
from palimpsest.cli.words import short_tokens, when
from palimpsest.core.errors import PalimpsestError, UnknownCheckpointError
from palimpsest.core.records import Checkpoint
from palimpsest.core.wording import count
from palimpsest.session.finding import find_session
from palimpsest.session.manager import SessionManager
from palimpsest.session.permissions import permission_preset

if TYPE_CHECKING:
    from palimpsest.cli.chat.chat import Chat

MOST_LISTED = 12
"""Sessions that ``/resume`` lists."""

LAST_TURNS = 1
"""Turns that are shown again when a session is resumed."""


def run_command(chat: Chat, command: Command) -> None:
    """Do a command that may be done now; what it refuses is said."""
    try:
        _COMMANDS[command.name](chat, command.argument)
    except (PalimpsestError, OSError) as error:
        chat.say(str(error), "error")


def welcome(chat: Chat) -> None:
    """Say where one is: a new session, or the end of an old one."""
    session = chat.desk.session
    state = session.state
    window = f"window {state.context_budget.window_source}"
    about = f"{short_model(state.model)} · {window} · tools {state.permission_preset}"
    if not state.message_count:
        chat.say(f"New session · {about} · /help lists commands and keys")
        return
    messages = session.messages
    turns = turn_rows(messages)
    for turn in turns[-LAST_TURNS:]:
        chat.front.show(*message_blocks(messages[turn.start : turn.stop], full=False))
    said = f"{count(len(turns), 'turn')}, {count(len(session.get_compactions()), 'compaction')}"
    chat.say(f"Resumed {session.id[:8]} · {said} · {about} · /history shows all of it")


def _abort(chat: Chat, argument: str) -> None:
    del argument
    if chat.desk.session.state.is_running:
        chat.spawn(chat.desk.session.abort())
    else:
        chat.say("Nothing is under way.")


def _approve(chat: Chat, argument: str) -> None:
    chat.answer("session" if argument == "session" else "once")


def _reject(chat: Chat, argument: str) -> None:
    del argument
    chat.answer("no")


def _compact(chat: Chat, argument: str) -> None:
    chat.start("compact", lambda: chat.desk.session.compact(argument))


def _context(chat: Chat, argument: str) -> None:
    del argument
    budget = chat.desk.session.state.context_budget
    block = ContextBlock(
        breakdown=chat.desk.session.context_breakdown(),
        window_source=budget.window_source,
        calibrated=budget.calibrated,
    )
    chat.front.show(block)


def _history(chat: Chat, argument: str) -> None:
    if argument and not argument.isdecimal():
        chat.say("/history takes the number of a turn, or nothing.", "error")
        return
    chat.spawn(_show_history(chat, int(argument) if argument else None))


async def _show_history(chat: Chat, number: int | None) -> None:
    session = chat.desk.session
    messages = session.messages
    if number is None:
        compactions = session.get_compactions()
        rows = await asyncio.to_thread(
            history_rows,
            messages,
            compactions,
            active=_active(chat),
            receipt_of=session.get_receipt,
        )
        chat.front.show(HistoryBlock(rows=rows))
        return
    turns = turn_rows(messages)
    if not 1 <= number <= len(turns):
        chat.say(f"This session has {count(len(turns), 'turn')}.", "error")
        return
    turn = turns[number - 1]
    chat.front.show(*message_blocks(messages[turn.start : turn.stop], full=True))


def _restore(chat: Chat, argument: str) -> None:
    words = argument.split()
    outputs = "outputs" in words
    named = [word for word in words if word != "outputs"]
    if len(named) > 1:
        chat.say("/restore takes one id, or none.", "error")
        return
    session, active = chat.desk.session, _active(chat)
    if not named and active is None:
        chat.say("There is no compaction to undo. /history shows where they would stand.")
        return
    target = (active.base if active else None) if not named else _checkpoint_id(chat, named[0])

    async def work() -> None:
        preview = await session.preview_restore(target, outputs=outputs)
        budget = session.state.context_budget.budget
        share = round(100 * preview.size.tokens / budget.window)
        fits = "it fits" if preview.fits else "it does not fit: the next request is compacted first"
        high = ", above 90 % of what fits" if preview.fits and preview.pressured else ""
        size = f"{short_tokens(preview.size.tokens)} tokens, {share} % of the window"
        chat.say(f"The restored view has {size}; {fits}{high}.")
        await session.restore(target, outputs=outputs)

    chat.start("restore", work)


def _receipt(chat: Chat, argument: str) -> None:
    session = chat.desk.session
    compactions = session.get_compactions()
    if not compactions:
        chat.say("Nothing was compacted yet.")
        return
    wanted = _checkpoint_id(chat, argument) if argument else compactions[-1].id
    receipt = None if wanted is None else session.get_receipt(wanted)
    if receipt is None:
        chat.say("No receipt was stored with that compaction.")
    else:
        chat.front.show(ReceiptBlock(receipt=receipt))


def _model(chat: Chat, argument: str) -> None:
    session = chat.desk.session
    if not argument:
        window = session.state.context_budget.window_source
        chat.say(f"{session.state.model} · window {window}")
        return

    async def work() -> None:
        await session.set_model(argument)
        chat.say(f"The model is {session.state.model} from the next prompt on.", "good")

    chat.start("configure", work)


def _permissions(chat: Chat, argument: str) -> None:
    session = chat.desk.session
    if not argument:
        chat.say(f"Tools may do what {session.state.permission_preset} allows.")
        return
    preset = permission_preset(argument)

    async def work() -> None:
        await session.set_permission_preset(preset)
        chat.say(f"From the next prompt on: {preset}.", "good")

    chat.start("configure", work)


def _new(chat: Chat, argument: str) -> None:
    del argument
    chat.spawn(_exchange(chat, chat.desk.begin_another(chat.on_event)))


def _resume(chat: Chat, argument: str) -> None:
    if not argument:
        chat.spawn(_list_sessions(chat))
        return
    path = find_session(argument, chat.desk.cwd)
    if path == chat.desk.session.path:
        chat.say("That is this session.")
        return
    chat.spawn(_exchange(chat, chat.desk.resume(path, chat.on_event)))


async def _exchange(chat: Chat, work: Awaitable[None]) -> None:
    try:
        await work
    except (PalimpsestError, OSError) as error:
        chat.say(str(error), "error")
        return
    chat.screen = Screen()
    welcome(chat)
    chat.front.refresh()


async def _list_sessions(chat: Chat) -> None:
    listed = await asyncio.to_thread(SessionManager.list, chat.desk.cwd)
    if not listed:
        chat.say("This project has no session yet.")
    for item in listed[:MOST_LISTED]:
        if item.kind == "broken":
            chat.say(f"{item.path.stem[:8]}  {item.reason}", "warning")
            continue
        here = " · this one" if item.path == chat.desk.session.path else ""
        about = f"{when(item.header.updated)} · {count(item.message_count, 'message')}{here}"
        chat.say(f"{item.header.id[:8]}  {session_title(item)} · {about}")
    if listed:
        chat.say("/resume and the beginning of an id goes on with one.")


def _flush(chat: Chat, argument: str) -> None:
    del argument
    session = chat.desk.session
    if not session.state.has_pending_save:
        chat.say("Everything is saved.")
        return

    async def work() -> None:
        await session.flush()
        chat.say("Everything is saved.", "good")

    chat.start("flush", work)


def _help(chat: Chat, argument: str) -> None:
    del argument
    chat.front.show(HelpBlock())


def _quit(chat: Chat, argument: str) -> None:
    del argument
    chat.press_quit()


def _active(chat: Chat) -> Checkpoint | None:
    state = chat.desk.session.state.compaction
    compactions = chat.desk.session.get_compactions()
    return next((c for c in compactions if state is not None and c.id == state.id), None)


def _checkpoint_id(chat: Chat, word: str) -> str | None:
    """Give the checkpoint whose id begins like that; ``none`` is the whole history.

    Raises:
        UnknownCheckpointError: there is none, or several begin like that.
    """
    if word == "none":
        return None
    found = [c.id for c in chat.desk.session.get_compactions() if c.id.startswith(word.lower())]
    if len(found) != 1:
        raise UnknownCheckpointError(word)
    return found[0]


_COMMANDS: Mapping[CommandName, Callable[[Chat, str], None]] = {
    "abort": _abort,
    "approve": _approve,
    "compact": _compact,
    "context": _context,
    "flush": _flush,
    "help": _help,
    "history": _history,
    "model": _model,
    "new": _new,
    "permissions": _permissions,
    "quit": _quit,
    "receipt": _receipt,
    "reject": _reject,
    "restore": _restore,
    "resume": _resume,
}
