"""Completion of slash commands and their arguments, files behind ``@`` and skills behind ``$``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from palimpsest.cli.chat.lines import COMMANDS, CommandName
from palimpsest.cli.mentions import mention
from palimpsest.session.folders import names_beginning

MOST_FILES = 200
"""Names of one folder that are offered at most."""

_COMMAND_WORD = re.compile(r"/[a-z-]*")
_ARGUMENT = re.compile(r"/([a-z-]+)\s+(\S*)")
_FILE_WORD = re.compile(r'(?<!\S)@("?)([^\s"]*|(?<=")[^"\n]*)$')
_SKILL_WORD = re.compile(r"(?<!\S)\$([a-z0-9-]*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One completion: replaces so many characters before the cursor."""

    text: str
    replaces: int
    shown: str
    note: str = ""


def offers(
    before: str,
    *,
    cwd: Path,
    skills: Sequence[str],
    arguments: Callable[[CommandName], Sequence[str]],
) -> Iterator[Offer]:
    """Yield what may stand at the cursor.

    Args:
        before: everything before the cursor.
        cwd: what relative paths are relative to.
        skills: known names.
        arguments: what a command may be given.
    """
    if _COMMAND_WORD.fullmatch(before):
        for spec in COMMANDS.values():
            word = f"/{spec.name}"
            if word.startswith(before):
                behind = " " if spec.argument else ""
                yield Offer(text=word + behind, replaces=len(before), shown=word, note=spec.help)
        return
    command = _ARGUMENT.fullmatch(before)
    if command is not None:
        known = COMMANDS.get(command[1])
        words = arguments(known.name) if known is not None else ()
        for word in words:
            if word.startswith(command[2]):
                yield Offer(text=word, replaces=len(command[2]), shown=word)
        return
    skill = _SKILL_WORD.search(before)
    if skill is not None:
        for name in skills:
            if name.startswith(skill[1]):
                yield Offer(text=f"${name} ", replaces=len(skill[0]), shown=f"${name}")
    file = _FILE_WORD.search(before)
    if file is not None:
        yield from _files(file[2], len(file[0]), cwd)


def _files(typed: str, replaces: int, cwd: Path) -> Iterator[Offer]:
    folder, _, start = typed.rpartition("/")
    parent = f"{folder}/" if folder or typed.startswith("/") else ""
    for name in names_beginning(cwd / Path(parent).expanduser(), start, most=MOST_FILES):
        path = f"{parent}{name}"
        text = mention(path).removesuffix('"') if name.endswith("/") else f"{mention(path)} "
        yield Offer(text=text, replaces=replaces, shown=name)


class ChatCompleter(Completer):
    """Hands offers to prompt_toolkit."""

    def __init__(self, find: Callable[[str], Iterable[Offer]]) -> None:
        self._find = find

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Yield the offers at the cursor."""
        del complete_event
        for offer in self._find(document.text_before_cursor):
            yield Completion(
                offer.text,
                start_position=-offer.replaces,
                display=offer.shown,
                display_meta=offer.note,
            )
