"""Opening a session: storage, model, tools."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import NoneType
from typing import TypeAlias

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import Tool, ToolFuncEither
from pydantic_ai.toolsets import AbstractToolset

from palimpsest.core.errors import MissingExtraError, UnknownModelError
from palimpsest.models.resolve import ModelChoice, resolve_model
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.approvals import Approvals
from palimpsest.session.environment import Environment, SystemEnvironment
from palimpsest.session.extensions import Extensions
from palimpsest.session.guards import guard_capabilities
from palimpsest.session.manager import SessionManager
from palimpsest.session.mcp import McpServers
from palimpsest.session.permissions import PermissionPreset
from palimpsest.session.resuming import load_live
from palimpsest.session.settings import SessionSettings
from palimpsest.session.skills import DirectorySkills

MODEL_VARIABLE = "PALIMPSEST_MODEL"
"""Environment variable that names the model where nothing else does."""

AnyTool: TypeAlias = "Tool[None] | ToolFuncEither[None, ...]"


async def create_agent_session(
    *,
    session_manager: SessionManager,
    model: ModelChoice | None = None,
    tools: Sequence[AnyTool] | None = None,
    toolsets: Sequence[AbstractToolset[None]] = (),
    settings: SessionSettings | None = None,
    environment: Environment | None = None,
) -> AgentSession:
    """Open a session.

    Args:
        session_manager: the session's storage.
        model: name, endpoint or model; None takes the one stored with the session, else the one
            that PALIMPSEST_MODEL names.
        tools: functions and tools; None gives the tools of a coding agent, an empty sequence
            none.
        toolsets: of pydantic-ai; in addition to ``tools``. MCP servers stand in the settings.
        settings: choices; None takes the defaults.
        environment: clock and ids.

    Raises:
        UnknownModelError, MissingKeyError, MissingExtraError: the model cannot be had.
        InvalidSettingError: an MCP server has a name that no tool could have.
        SessionLockedError, SessionFileError: the session cannot be opened.
    """
    chosen = settings or SessionSettings()
    store = await session_manager.open_store()
    try:
        loaded = await load_live(store)
        named = model or loaded.header.model or os.environ.get(MODEL_VARIABLE, "")
        if not named:
            raise UnknownModelError("")
        resolved = resolve_model(named)
        has_sandbox = tools is None and await _has_sandbox(session_manager.cwd, chosen)
        servers = McpServers(chosen.mcp_servers, cwd=session_manager.cwd)
        return AgentSession(
            store=store,
            loaded=loaded,
            model=resolved,
            build_agent=lambda approvals: _agent(
                session_manager,
                approvals,
                tools,
                [*toolsets, *servers.toolsets(approvals.preset)],
                chosen,
                has_sandbox=has_sandbox,
            ),
            settings=chosen,
            environment=environment or SystemEnvironment(),
            extensions=Extensions(
                skills=DirectorySkills(
                    cwd=session_manager.cwd, directories=chosen.skill_directories
                ),
                servers=servers,
            ),
            path=session_manager.path,
        )
    except BaseException:
        await store.close()
        raise


def _agent(
    manager: SessionManager,
    approvals: Approvals,
    tools: Sequence[AnyTool] | None,
    toolsets: Sequence[AbstractToolset[None]],
    settings: SessionSettings,
    *,
    has_sandbox: bool,
) -> Agent[None, str]:
    preset = approvals.preset
    sandboxed = has_sandbox and preset == "workspace-write"
    capabilities = guard_capabilities(approvals, preset=preset, sandboxed=sandboxed)
    if tools is None:
        capabilities += _coding_capabilities(manager.cwd, preset, settings, sandboxed=sandboxed)
    return Agent(
        None,
        deps_type=NoneType,
        instructions=settings.instructions or None,
        model_settings=settings.model_settings,
        tools=tools or (),
        toolsets=toolsets,
        capabilities=capabilities,
        retries={"tools": settings.tool_retries},
    )


async def _has_sandbox(cwd: Path, settings: SessionSettings) -> bool:
    with _needing_extra():
        from palimpsest.session.sandbox import can_sandbox
    return settings.sandboxes_commands and await can_sandbox(cwd)


def _coding_capabilities(
    cwd: Path, preset: PermissionPreset, settings: SessionSettings, *, sandboxed: bool
) -> list[AbstractCapability[None]]:
    with _needing_extra():
        from palimpsest.session.coding_tools import coding_capabilities
    return coding_capabilities(
        cwd,
        preset=preset,
        sandboxed=sandboxed,
        reads_instruction_files=settings.reads_instruction_files,
        skill_directories=settings.skill_directories,
    )


@contextmanager
def _needing_extra() -> Generator[None]:
    try:
        yield
    except ImportError as error:
        raise MissingExtraError("A coding agent", "palimpsest-ai[agent]") from error
