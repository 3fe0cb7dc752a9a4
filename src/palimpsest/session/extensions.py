"""What a session is given beside its own tools."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.session.mcp import NO_SERVERS, McpServers
from palimpsest.session.skills import NO_SKILLS, SkillLoader


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """Skills that a prompt may name, and servers that bring tools."""

    skills: SkillLoader = NO_SKILLS
    servers: McpServers = NO_SERVERS


NO_EXTENSIONS = Extensions()
