"""What is known of a session besides its messages and records, and how a commit changes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from palimpsest.core.excerpt import Json
from palimpsest.core.record_codec import JsonObject
from palimpsest.storage.totals import NOTHING_COUNTED, Counted


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHeader:
    """What is known of a session besides its messages and records.

    Attributes:
        id: UUID of the session, lower case.
        cwd: the folder it works in.
        created: milliseconds since the epoch.
        updated: milliseconds since the epoch, of the newest commit that said so.
        model: name of the chosen model, or empty.
        permission_preset: name of the chosen preset, or empty.
        title: may be empty.
        skill_snapshots: expanded skills, oldest first.
        system_prompt_checkpoints: system prompts in effect, oldest first.
        timings: of runs and steps, oldest first.
        counted: what was used so far; nothing where nobody counted.
        unknown: keys of other versions and of other tools, kept as they are.
    """

    id: str
    cwd: str
    created: int
    updated: int
    model: str = ""
    permission_preset: str = ""
    title: str = ""
    skill_snapshots: tuple[JsonObject, ...] = ()
    system_prompt_checkpoints: tuple[JsonObject, ...] = ()
    timings: tuple[JsonObject, ...] = ()
    counted: Counted = NOTHING_COUNTED
    unknown: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderChanges:
    """What a commit changes in the header; None and empty leave a field as it is.

    Attributes:
        skill_snapshots: put behind those that the header has.
        system_prompt_checkpoints: put behind those that the header has.
        timings: put behind those that the header has.
    """

    updated: int | None = None
    model: str | None = None
    permission_preset: str | None = None
    title: str | None = None
    skill_snapshots: tuple[JsonObject, ...] = ()
    system_prompt_checkpoints: tuple[JsonObject, ...] = ()
    timings: tuple[JsonObject, ...] = ()
    counted: Counted | None = None

    def apply(self, header: SessionHeader) -> SessionHeader:
        """Give the header as it stands after these changes."""
        return replace(
            header,
            updated=header.updated if self.updated is None else self.updated,
            model=header.model if self.model is None else self.model,
            permission_preset=(
                header.permission_preset
                if self.permission_preset is None
                else self.permission_preset
            ),
            title=header.title if self.title is None else self.title,
            skill_snapshots=header.skill_snapshots + self.skill_snapshots,
            system_prompt_checkpoints=(
                header.system_prompt_checkpoints + self.system_prompt_checkpoints
            ),
            timings=header.timings + self.timings,
            counted=header.counted if self.counted is None else self.counted,
        )


NO_CHANGES = HeaderChanges()
