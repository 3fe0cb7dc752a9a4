"""One chat: events go to the screen, lines to the session. It draws nothing and decides little."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Protocol

from rich.text import Text

from palimpsest.cli.chat import screen as screens
from palimpsest.cli.chat.blocks import Block, NoticeBlock, PromptBlock, Tone
from palimpsest.cli.chat.clipboard import save_clipboard_image
from palimpsest.cli.chat.commands import run_command
from palimpsest.cli.chat.completion import Offer, offers
from palimpsest.cli.chat.desk import Desk
from palimpsest.cli.chat.lines import (
    ApprovalAnswer,
    Command,
    CommandName,
    Nothing,
    Prompt,
    UnknownCommand,
    interrupt,
    parse_answer,
    parse_line,
    refusal,
)
from palimpsest.cli.chat.markdown import split_prose
from palimpsest.cli.chat.paste import Pastes, clean
from palimpsest.cli.chat.screen import Moment, Screen
from palimpsest.cli.chat.status import status_line
from palimpsest.cli.mentions import attachments, mention, mentioned_skills, pasted_media_path
from palimpsest.core.errors import NothingToCompactError, PalimpsestError, SaveFailedError
from palimpsest.session.events import ApprovalRequested, Operation, SessionEvent, Settled
from palimpsest.session.permissions import PRESETS

LONGEST_REMEMBERED = 20_000
"""Characters of a line that is remembered whole; of a longer one, its pastes stay folded."""


class Front(Protocol):
    """Where a chat is shown."""

    def show(self, *blocks: Block) -> None:
        """Print blocks, in order."""
        ...

    def refresh(self) -> None:
        """Draw anew what is alive."""
        ...

    def remember(self, line: str) -> None:
        """Put a line into the history of the input."""
        ...

    def put_back(self, text: str) -> None:
        """Put a line that could not be sent back into the input."""
        ...

    def leave(self, status: int) -> None:
        """End, with an exit status."""
        ...

    def fail(self, error: BaseException) -> None:
        """End, and raise that."""
        ...


class Chat:
    """A person and a session.

    Attributes:
        desk: the session, and what belongs to it.
        screen: what is alive.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.screen = Screen()
        self._front: Front | None = None
        self._pastes = Pastes()
        self._tasks: set[asyncio.Task[None]] = set()
        self._settled = 0
        self._refused_at: float | None = None
        self._leaving = False
        desk.session.subscribe(self.on_event)

    # --- what is shown -----------------------------------------------------------------------

    def connect(self, front: Front) -> None:
        """Show everything from now on there."""
        self._front = front

    @property
    def front(self) -> Front:
        """Where the chat is shown."""
        assert self._front is not None
        return self._front

    def say(self, text: str, tone: Tone = "plain") -> None:
        """Print one sentence."""
        self.front.show(NoticeBlock(text=text, tone=tone))

    def status(self, columns: int) -> Text:
        """Give the bottom bar."""
        return status_line(
            self.desk.session.state, cwd=self.desk.cwd, home=Path.home(), columns=columns
        )

    def offers(self, before: str) -> list[Offer]:
        """Give what may stand at the cursor."""
        desk = self.desk
        return list(
            offers(before, cwd=desk.cwd, skills=desk.skills, arguments=self._argument_words)
        )

    def on_event(self, event: SessionEvent) -> None:
        """Take in one event of the session."""
        moment = Moment(now_ms=_now_ms(), context_tokens=self._context_tokens(event))
        step = screens.reduce(self.screen, event, moment, split_prose)
        self.screen = step.screen
        self.front.show(*step.blocks)
        self.front.refresh()
        if isinstance(event, Settled):
            self._settled += 1
        elif isinstance(event, ApprovalRequested) and event.tool_name in self.desk.allowed_tools:
            self.desk.session.answer_approval(event.request_id, approved=True)

    def _context_tokens(self, event: SessionEvent) -> int:
        if event.kind != "compaction_start":
            return 0
        return self.desk.session.state.context_budget.size.tokens

    def _argument_words(self, name: CommandName) -> Sequence[str]:
        match name:
            case "permissions":
                return PRESETS
            case "restore":
                return ("none", *self._checkpoint_ids())
            case "receipt":
                return self._checkpoint_ids()
            case "approve":
                return ("session",)
            case _:
                return ()

    def _checkpoint_ids(self) -> tuple[str, ...]:
        return tuple(item.id[:8] for item in reversed(self.desk.session.get_compactions()))

    # --- what is typed -----------------------------------------------------------------------

    def submit(self, text: str) -> None:
        """Do what a line says."""
        typed = clean(text)
        whole = self._pastes.unfold(typed)
        answer = parse_answer(whole) if self.screen.approvals else None
        if answer is not None:
            self.answer(answer)
            return
        if whole.strip():
            self.front.remember(whole if len(whole) <= LONGEST_REMEMBERED else typed)
        match parse_line(whole):
            case Nothing():
                self._release_queue()
            case UnknownCommand() as unknown:
                self.say(str(unknown), "error")
            case Prompt(text=prompt):
                self._prompt(prompt)
            case Command() as command:
                self._command(command)

    def answer(self, answer: ApprovalAnswer) -> None:
        """Answer the oldest open approval; ``session`` answers all calls of that tool, too."""
        session = self.desk.session
        waiting = session.state.pending_approvals
        if not waiting:
            self.say("Nothing waits for an answer.")
            return
        name = waiting[0].tool_name
        if answer == "session":
            self.desk.allowed_tools.add(name)
            self.say(f"{name} may run without asking until this session is closed.")
        for request in waiting if answer == "session" else waiting[:1]:
            if request.tool_name == name:
                session.answer_approval(request.request_id, approved=answer != "no")
        self.front.refresh()

    def press_interrupt(self, *, draft: bool) -> bool:
        """Do what Ctrl+C does; True asks to clear what is typed."""
        refused = self._refused_at
        state = self.desk.session.state
        decided = interrupt(
            busy=state.is_running,
            pending=state.has_pending_save,
            draft=draft,
            since_refusal_s=None if refused is None else time.monotonic() - refused,
        )
        match decided:
            case "abort":
                self.spawn(self.desk.session.abort())
            case "refuse":
                self._refuse_to_leave()
            case "give_up":
                self.spawn(self._leave(1, gives_up=True))
            case "exit":
                self.spawn(self._leave(130))
            case "clear":
                return True
        return False

    def press_quit(self) -> None:
        """Leave, unless something is not saved."""
        if self.desk.session.state.has_pending_save and not self.desk.session.state.is_running:
            self.press_interrupt(draft=False)
            return
        self.spawn(self._leave(0))

    def take_back(self) -> str | None:
        """Take the newest queued prompt back into the input."""
        if not self.screen.queue:
            return None
        text = self.screen.queue[-1]
        self.screen = screens.taken_back(self.screen)
        self.front.refresh()
        return text

    def pasted(self, text: str) -> str:
        """Give what stands in the input for a paste: an image's path attaches it."""
        path = pasted_media_path(text, self.desk.cwd)
        return self._pastes.fold(text) if path is None else f"{mention(path)} "

    def paste_image(self) -> str:
        """Attach the image on the clipboard."""
        path = save_clipboard_image()
        if path is None:
            self.say("There is no image on the clipboard that could be read.")
            return ""
        return f"{mention(path)} "

    # --- what is done ------------------------------------------------------------------------

    def start(
        self, operation: Operation, work: Callable[[], Awaitable[object]], *, prompt: str = ""
    ) -> None:
        """Begin an operation of the session; what it raises is said, once."""
        step = screens.begun(self.screen, operation, now_ms=_now_ms(), prompt=prompt)
        self.screen = step.screen
        self.front.show(*step.blocks)
        self.front.refresh()
        self.spawn(self._follow(work))

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        """Do something beside the terminal's own work."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:  # a bug: it ends the chat, and is shown where the terminal is whole
            self.front.fail(error)

    async def terminate(self, status: int) -> None:
        """The process is told to end: stop, try once to save, and leave with that status."""
        await self._leave(status, gives_up=True)

    async def close(self) -> None:
        """Close the session however the chat ended; what was begun is finished first."""
        async with self.desk.session:
            pass
        await self.rest()

    async def rest(self) -> None:
        """Return once nothing that was begun is under way."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def _follow(self, work: Callable[[], Awaitable[object]]) -> None:
        settled = self._settled
        [result] = await asyncio.gather(work(), return_exceptions=True)
        if isinstance(result, NothingToCompactError) or (
            isinstance(result, PalimpsestError | OSError) and self._settled == settled
        ):
            tone: Tone = "plain" if isinstance(result, NothingToCompactError) else "error"
            self.say(str(result), tone)
        elif isinstance(result, BaseException) and self._settled == settled:
            raise result
        if self._settled == settled:
            self.screen = Screen(queue=self.screen.queue, held=self.screen.held)
        self.front.refresh()
        self._send_next()

    def _prompt(self, text: str) -> None:
        if self.desk.session.state.is_running or self.screen.operation is not None:
            self.screen = screens.queued(self.screen, text)
            self.front.refresh()
            return
        if self.desk.session.state.has_pending_save:
            self.say("The last step is not saved yet: /flush tries again.", "error")
            self.front.put_back(text)
            return
        self._send(text)

    def _send(self, text: str) -> None:
        desk = self.desk

        async def work() -> None:
            files = await asyncio.to_thread(attachments, text, desk.cwd)
            skills = mentioned_skills(text, desk.skills)
            await desk.session.prompt(text, attachments=files, skills=skills)

        self.start("prompt", work, prompt=text)

    def _release_queue(self) -> None:
        if self.screen.held:
            self.screen = screens.released(self.screen)
            self._send_next()

    def _send_next(self) -> None:
        text = self.screen.next_queued
        if text is None or self._leaving or self.desk.session.state.has_pending_save:
            return
        self.screen = screens.sent_from_queue(self.screen)
        self._send(text)

    def _command(self, command: Command) -> None:
        words = f"/{command.name} {command.argument}".rstrip()
        self.front.show(PromptBlock(text=words, is_command=True))
        operation = self.desk.session.state.operation or self.screen.operation
        refused = refusal(command, operation=operation)
        if refused:
            self.say(refused, "error")
        else:
            run_command(self, command)

    def _refuse_to_leave(self) -> None:
        self._refused_at = time.monotonic()
        text = "Not everything is saved: /flush tries again; the same key within 3 s gives it up."
        self.say(text, "warning")

    async def _leave(self, status: int, *, gives_up: bool = False) -> None:
        """Stop what is under way, close the session, and end."""
        if self._leaving:
            return
        self._leaving = True
        session = self.desk.session
        await session.abort()
        if session.state.has_pending_save:
            await self._last_flush()
        if session.state.has_pending_save and not gives_up:
            self._leaving = False
            self._refuse_to_leave()
            return
        lost = await session.dispose(discard_pending=True)
        if lost is not None:
            self.say(str(lost), "error")
        if session.path is not None and session.path.exists():
            self.say(f"palimpsest --session {session.id[:8]} goes on with this session.")
        self.front.leave(status)

    async def _last_flush(self) -> None:
        try:
            await self.desk.session.flush()
        except SaveFailedError as error:
            self.say(str(error), "error")


def _now_ms() -> int:
    return int(time.time() * 1000)
