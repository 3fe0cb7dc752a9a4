"""From the options of the command line to an open session."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pydantic_ai
import typer

from palimpsest.cli.config import Config, config_path, read_config
from palimpsest.core.errors import UnknownModelError
from palimpsest.core.policy import PolicySettings
from palimpsest.models.engine import EngineSettings
from palimpsest.models.limits import LimitChoices
from palimpsest.models.resolve import resolve_model
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.create import MODEL_VARIABLE, create_agent_session
from palimpsest.session.finding import find_session
from palimpsest.session.manager import SessionManager
from palimpsest.session.permissions import PermissionPreset, permission_preset
from palimpsest.session.settings import SessionSettings
from palimpsest.session.skills import DirectorySkills

SKILL_FOLDERS = (".palimpsest/skills", ".agents/skills", ".claude/skills")
"""Where skills are looked for, in the project and then in the home folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the person chose on the command line; None leaves it to the configuration.

    Attributes:
        session: path or beginning of the id of a stored session.
        goes_on: with the project's session that was used last.
        window: tokens.
        preset: what tools may do without asking.
        with_tools: give the agent the tools of a coding session.
    """

    session: str | None = None
    goes_on: bool = False
    model: str | None = None
    window: int | None = None
    preset: PermissionPreset | None = None
    with_tools: bool = True

    @property
    def is_stored(self) -> bool:
        """Whether the session exists, and brings its own model and preset."""
        return self.goes_on or self.session is not None


INSTRUCTIONS = """\
You are a coding agent at a person's side. You work in their project folder with the tools you
have. Look before you change something; say in a sentence what you are about to do when it matters;
check your work by running what the project has for that. Answer in the person's language, briefly,
in Markdown. Earlier parts of a long conversation may stand here as a summary: the person still has
every original message.
"""


def choices_of(
    *,
    session: str | None,
    goes_on: bool,
    model: str | None,
    window: int | None,
    preset: str | None,
    with_tools: bool,
) -> Choices:
    """Check what was typed.

    Raises:
        InvalidSettingError: there is no such preset, or the window is no positive number.
    """
    LimitChoices(window=window)
    return Choices(
        session=session,
        goes_on=goes_on,
        model=model,
        window=window,
        preset=None if preset is None else permission_preset(preset),
        with_tools=with_tools,
    )


async def manager_for(choices: Choices, cwd: Path) -> SessionManager:
    """Give the storage that was chosen: a new session, the newest, or one by its name.

    A broken session that changed after the newest one is named on standard error.

    Raises:
        SessionNotFoundError, AmbiguousSessionError, SessionLockedError, SessionFileError: it
            cannot be opened.
    """
    if choices.goes_on:
        manager = await SessionManager.continue_recent(cwd)
        _tell_of_broken(cwd, newer_than=manager.path)
        return manager
    if choices.session is not None:
        return await SessionManager.open(find_session(choices.session, cwd))
    return SessionManager.draft(cwd)


def _tell_of_broken(cwd: Path, *, newer_than: Path | None) -> None:
    assert newer_than is not None, "a stored session has a file"
    opened = newer_than.stat().st_mtime
    for item in SessionManager.list(cwd):
        if item.kind == "broken" and item.path.stat().st_mtime > opened:
            typer.echo(f"palimpsest: passed over {item.path.stem[:8]}: {item.reason}", err=True)


async def open_session(manager: SessionManager, choices: Choices) -> AgentSession:
    """Open a session with what was chosen; the configuration fills in the rest.

    Raises:
        UnknownModelError, MissingKeyError, MissingExtraError: the model cannot be had.
        SessionLockedError, SessionFileError: the session cannot be opened.
    """
    pydantic_ai.BANNER_ENABLED = False  # it would be drawn over what we show
    config = read_config()
    name, source = choices.model, ""
    if name is None and not choices.is_stored:  # a stored session has its own
        name, source = _default_model(config)
    with _named_by(source):
        return await create_agent_session(
            session_manager=manager,
            model=name or None,
            tools=None if choices.with_tools else (),
            settings=_settings(choices, config, manager.cwd),
        )


def check_default_model() -> None:
    """Find the model that new sessions begin with, without opening one.

    Raises:
        UnknownModelError, MissingKeyError, MissingExtraError: the model cannot be had.
        InvalidSettingError, BrokenConfigError: what is configured is not what it should be.
    """
    name, source = _default_model(read_config())
    with _named_by(source):
        resolve_model(name)


def skill_loader(cwd: Path) -> DirectorySkills:
    """Give the skills of a project and of the person."""
    return DirectorySkills(cwd=cwd, directories=_skill_directories(cwd))


def _default_model(config: Config) -> tuple[str, str]:
    """Give the model of new sessions, empty where none is set, and where its name stands."""
    if named := os.environ.get(MODEL_VARIABLE):
        return named, MODEL_VARIABLE
    return config.model, str(config_path())


@contextmanager
def _named_by(source: str) -> Generator[None]:
    """Say where the name of a model that does not exist stands."""
    try:
        yield
    except UnknownModelError as error:
        if not (source and error.name):
            raise
        raise UnknownModelError(error.name, error.suggestion, source) from error


def _settings(choices: Choices, config: Config, cwd: Path) -> SessionSettings:
    preset = choices.preset or (None if choices.is_stored else config.permission_preset)
    return SessionSettings(
        engine=EngineSettings(policy=PolicySettings(extractive_fallback=True)),
        limits=LimitChoices(window=choices.window or config.window),
        permission_preset=preset,
        instructions=INSTRUCTIONS if choices.with_tools else "",
        reads_instruction_files=choices.with_tools,
        skill_directories=_skill_directories(cwd),
    )


def _skill_directories(cwd: Path) -> Sequence[str]:
    folders = [cwd / name for name in SKILL_FOLDERS]
    folders += [Path.home() / name for name in SKILL_FOLDERS]
    return [str(folder) for folder in dict.fromkeys(folders) if folder.is_dir()]
