"""Choices of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic_ai.settings import ModelSettings

from palimpsest.models.engine import EngineSettings
from palimpsest.models.limits import NO_CHOICES, LimitChoices
from palimpsest.models.summarizer import Summarizer
from palimpsest.session.mcp import McpServer
from palimpsest.session.permissions import PermissionPreset


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """Choices of a session; every number of the product is a field of one of these.

    Attributes:
        engine: pruning, policy and automatic compaction.
        limits: window, largest answer and bytes, where the person knows better.
        calibrates: correct estimates by what the provider counted.
        summarizer: ``model`` asks the session's own model, ``extractive`` needs none.
        permission_preset: what tools may do without asking; None takes what is stored with the
            session, else ``workspace-write``.
        sandboxes_commands: in ``workspace-write``, run commands in a sandbox where the platform has
            one; elsewhere, and where this is off, they ask first.
        instructions: system text, in front of what the project's instruction files say.
        reads_instruction_files: AGENTS.md and CLAUDE.md, read anew for every prompt.
        skill_directories: folders of skills that the model may load and a prompt may name;
            relative ones are the project's.
        mcp_servers: servers of the Model Context Protocol, by name.
        tool_retries: mistakes in a row with one tool (wrong arguments, a text to replace that is
            not there) that the model is told of; the next one ends the run.
        model_settings: for every main request.
    """

    engine: EngineSettings = field(default_factory=EngineSettings)
    limits: LimitChoices = NO_CHOICES
    calibrates: bool = True
    summarizer: Literal["model", "extractive"] | Summarizer = "model"
    permission_preset: PermissionPreset | None = None
    sandboxes_commands: bool = True
    instructions: str = ""
    reads_instruction_files: bool = True
    skill_directories: Sequence[str] = ()
    mcp_servers: Mapping[str, McpServer] = field(default_factory=dict[str, McpServer])
    tool_retries: int = 10
    model_settings: ModelSettings = field(default_factory=ModelSettings)
