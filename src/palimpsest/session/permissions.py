"""What tools may do without asking."""

from __future__ import annotations

from typing import Literal, TypeAlias

from palimpsest.core.errors import InvalidSettingError

PermissionPreset: TypeAlias = Literal["read-only", "workspace-write", "full-access"]

PRESETS: tuple[PermissionPreset, ...] = ("read-only", "workspace-write", "full-access")
"""Every preset, the strictest first."""


def permission_preset(name: str) -> PermissionPreset:
    """Give the preset of a name; an empty one is ``workspace-write``.

    Raises:
        InvalidSettingError: there is no such preset.
    """
    if not name:
        return "workspace-write"
    for preset in PRESETS:
        if name == preset:
            return preset
    raise InvalidSettingError("permission_preset", name, f"one of {', '.join(PRESETS)}")
