"""What a typed line means, and whether it may be done now; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias

CommandName: TypeAlias = Literal[
    "abort",
    "approve",
    "compact",
    "context",
    "flush",
    "help",
    "history",
    "model",
    "new",
    "permissions",
    "quit",
    "receipt",
    "reject",
    "restore",
    "resume",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """One slash command.

    Attributes:
        argument: as shown in help; empty for a command that takes none.
        help: what it does, in a few words.
        acts_while_busy: it only reads, answers or interrupts; the others wait for the session.
    """

    name: CommandName
    argument: str
    help: str
    acts_while_busy: bool = False


_SPECS = (
    CommandSpec(name="compact", argument="[focus]", help="summarise older turns now"),
    CommandSpec(name="context", argument="", help="what fills the window", acts_while_busy=True),
    CommandSpec(
        name="history",
        argument="[turn]",
        help="all turns, compactions as markers; one turn in full",
        acts_while_busy=True,
    ),
    CommandSpec(
        name="restore",
        argument="[id|none] [outputs]",
        help="undo the newest compaction, or go to any",
    ),
    CommandSpec(
        name="receipt",
        argument="[id]",
        help="what a compaction kept and what it took out",
        acts_while_busy=True,
    ),
    CommandSpec(name="abort", argument="", help="stop what is under way", acts_while_busy=True),
    CommandSpec(name="model", argument="[name]", help="show or change the model"),
    CommandSpec(
        name="permissions",
        argument="[preset]",
        help="read-only, workspace-write or full-access",
    ),
    CommandSpec(
        name="approve",
        argument="[session]",
        help="let the waiting call run, once or for this session",
        acts_while_busy=True,
    ),
    CommandSpec(name="reject", argument="", help="refuse the waiting call", acts_while_busy=True),
    CommandSpec(name="new", argument="", help="begin another session"),
    CommandSpec(name="resume", argument="[id]", help="list sessions, or go on with one"),
    CommandSpec(name="flush", argument="", help="try a failed save again"),
    CommandSpec(name="help", argument="", help="this list", acts_while_busy=True),
    CommandSpec(name="quit", argument="", help="leave; all is saved", acts_while_busy=True),
)

COMMANDS: Mapping[str, CommandSpec] = {spec.name: spec for spec in _SPECS}
"""Every slash command by name, in the order of the help."""

_COMMAND = re.compile(r"/([a-z-]+)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Words for the agent."""

    text: str
    kind: Literal["prompt"] = "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A slash command with what stands behind it."""

    name: CommandName
    argument: str
    kind: Literal["command"] = "command"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownCommand:
    """A slash word that is none of ours; it never reaches the model."""

    word: str
    suggestion: str
    kind: Literal["unknown"] = "unknown"

    def __str__(self) -> str:
        hint = f"did you mean /{self.suggestion}?" if self.suggestion else "/help lists them all."
        return f"There is no command /{self.word}; {hint} A leading // sends a slash."


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """An empty line."""

    kind: Literal["nothing"] = "nothing"


Line: TypeAlias = Prompt | Command | UnknownCommand | Nothing


def parse_line(text: str) -> Line:
    """Say what a line means.

    A command is a first word of the form ``/[a-z-]+`` without a further slash; ``//`` sends a
    slash; everything else is a prompt.
    """
    stripped = text.strip()
    if not stripped:
        return Nothing()
    if stripped.startswith("//"):
        return Prompt(text=stripped[1:])
    found = _COMMAND.fullmatch(stripped)
    if found is None:
        return Prompt(text=stripped)
    spec = COMMANDS.get(found[1])
    if spec is None:
        close = get_close_matches(found[1], COMMANDS, n=1)
        return UnknownCommand(word=found[1], suggestion=close[0] if close else "")
    return Command(name=spec.name, argument=(found[2] or "").strip())


ApprovalAnswer: TypeAlias = Literal["once", "session", "no"]


def parse_answer(text: str) -> ApprovalAnswer | None:
    """Read a line as the answer to an open approval; None where it is something else."""
    match text.strip().lower():
        case "y" | "yes":
            return "once"
        case "s" | "session":
            return "session"
        case "n" | "no":
            return "no"
        case _:
            return None


def refusal(command: Command, *, operation: str | None) -> str:
    """Say why a command may not be done while an operation is under way; empty if it may."""
    if operation is None or COMMANDS[command.name].acts_while_busy:
        return ""
    return f"/{command.name} has to wait: the session is busy ({operation}). /abort stops it."


CtrlC: TypeAlias = Literal["abort", "clear", "refuse", "give_up", "exit"]

SECOND_PRESS_S = 3.0
"""A second Ctrl+C within so many seconds gives up what could not be saved."""


def interrupt(*, busy: bool, pending: bool, draft: bool, since_refusal_s: float | None) -> CtrlC:
    """Decide what Ctrl+C does: abort, clear the line, refuse to lose work, or leave.

    Args:
        busy: an operation is under way.
        pending: a failed save waits.
        draft: something is typed.
        since_refusal_s: seconds since Ctrl+C was last refused, or None.
    """
    if busy:
        return "abort"
    if pending:
        again = since_refusal_s is not None and since_refusal_s <= SECOND_PRESS_S
        return "give_up" if again else "refuse"
    return "clear" if draft else "exit"
