"""Skills that a person selects for one prompt: expanded once, stored, and replayed as they were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from palimpsest.core.errors import MissingExtraError, UnknownSkillError
from palimpsest.core.record_codec import JsonObject
from palimpsest.core.sources import SkillSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill as it stood when it was selected.

    Attributes:
        id: its name.
        text: what the model reads.
    """

    id: str
    text: str

    @property
    def revision(self) -> str:
        """SHA-256 of the text, hexadecimal."""
        return sha256(self.text.encode()).hexdigest()


class SkillLoader(Protocol):
    """Reads skills from where they stand now."""

    async def load(self, names: Sequence[str]) -> Sequence[Skill]:
        """Give the named skills in the order of their names.

        Raises:
            UnknownSkillError: there is none of that name.
        """
        ...

    async def names(self) -> Sequence[str]:
        """Give the names of all skills, in alphabetical order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectorySkills:
    """Skills in directories: each a folder with a SKILL.md, read by pydantic-ai-harness.

    Attributes:
        cwd: what relative directories are relative to.
    """

    cwd: Path
    directories: Sequence[str]

    async def load(self, names: Sequence[str]) -> Sequence[Skill]:
        """Read them anew; see ``SkillLoader``."""
        if not names:
            return []
        found = await self._rendered()
        for name in names:
            if name not in found:
                raise UnknownSkillError(name, tuple(sorted(found)))
        return [Skill(id=name, text=found[name]) for name in names]

    async def names(self) -> tuple[str, ...]:
        """Give the names of all skills, in alphabetical order.

        Raises:
            MissingExtraError: there are directories, and the package that reads them is missing.
        """
        return tuple(sorted(await self._rendered()))

    async def _rendered(self) -> dict[str, str]:
        if not self.directories:
            return {}
        try:
            from pydantic_ai.workspaces import LocalWorkspaceBackend
            from pydantic_ai_harness.skills import Skills
        except ImportError as error:
            raise MissingExtraError("A skill", "palimpsest-ai[agent]") from error
        catalog = await Skills[None](list(self.directories)).load(LocalWorkspaceBackend(self.cwd))
        return {skill.name: skill.render() for skill in catalog.skills}


NO_SKILLS = DirectorySkills(cwd=Path(), directories=())


def skill_sources(snapshots: Iterable[JsonObject]) -> dict[int, SkillSource]:
    """Read a header's snapshots, by the index of their prompt; what is none of ours is left out."""
    found: dict[int, SkillSource] = {}
    for taken in snapshots:
        match taken:
            case {"index": int(index), "ids": [*ids], "revisions": [*revisions]}:
                found[index] = SkillSource(
                    index=index,
                    ids=tuple(str(name) for name in ids),
                    revisions=tuple(str(revision) for revision in revisions),
                )
            case _:
                pass
    return found


def snapshot(skills: Sequence[Skill], message_index: int) -> JsonObject:
    """Give what the header keeps of an expansion: where it stands, of what, in which state."""
    return {
        "index": message_index,
        "ids": [skill.id for skill in skills],
        "revisions": [skill.revision for skill in skills],
    }
