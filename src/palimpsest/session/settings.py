"""Choices of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pydantic_ai.settings import ModelSettings

from palimpsest.models.engine import EngineSettings
from palimpsest.models.limits import NO_CHOICES, LimitChoices
from palimpsest.models.summarizer import Summarizer

PermissionPreset: TypeAlias = Literal["read-only", "workspace-write", "full-access"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """Choices of a session; every number of the product is a field of one of these.

    Attributes:
        engine: pruning, policy and automatic compaction.
        limits: window, largest answer and bytes, where the person knows better.
        calibrates: correct estimates by what the provider counted.
        summarizer: ``model`` asks the session's own model, ``extractive`` needs none.
        permission_preset: what tools may do without asking.
        instructions: system text, in front of what the project's instruction files say.
        reads_instruction_files: AGENTS.md and CLAUDE.md, read anew for every prompt.
        skill_directories: folders of skills that the model may load.
        model_settings: for every main request.
    """

    engine: EngineSettings = field(default_factory=EngineSettings)
    limits: LimitChoices = NO_CHOICES
    calibrates: bool = True
    summarizer: Literal["model", "extractive"] | Summarizer = "model"
    permission_preset: PermissionPreset = "workspace-write"
    instructions: str = ""
    reads_instruction_files: bool = True
    skill_directories: Sequence[str] = ()
    model_settings: ModelSettings = field(default_factory=ModelSettings)
