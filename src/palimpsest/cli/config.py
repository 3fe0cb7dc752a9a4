"""What a person configured once: a small TOML file in the data directory."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from palimpsest.core.errors import (
    BrokenConfigError,
    InvalidSettingError,
    MissingExtraError,
    MissingKeyError,
)
from palimpsest.session.permissions import PermissionPreset, permission_preset
from palimpsest.session.places import data_directory

FILE_NAME = "config.toml"

KEYS: Mapping[str, str] = {
    "model": "the model of new sessions, as provider:model",
    "window": "context window in tokens, where the model's own is not known",
    "permission_preset": "read-only, workspace-write or full-access, for new sessions",
}
"""Every key, and what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What stands in the file; empty and None where a key is missing."""

    model: str = ""
    window: int | None = None
    permission_preset: PermissionPreset | None = None


def config_path() -> Path:
    """Give the file; it need not exist."""
    return data_directory() / FILE_NAME


def read_config(path: Path | None = None) -> Config:
    """Read the file; a missing one is empty.

    Raises:
        BrokenConfigError: it is no TOML, or a value is not what it should be.
        OSError: it cannot be read.
    """
    file = path or config_path()
    try:
        found = tomllib.loads(_contents(file))
    except tomllib.TOMLDecodeError as error:
        raise BrokenConfigError(str(file), f"it is no TOML: {error}.") from error
    try:
        return Config(
            model=_text(found, "model"),
            window=_window(found),
            permission_preset=(
                permission_preset(_text(found, "permission_preset"))
                if "permission_preset" in found
                else None
            ),
        )
    except InvalidSettingError as error:
        raise BrokenConfigError(str(file), str(error)) from error


def write_setting(key: str, value: str, path: Path | None = None) -> None:
    """Set one key; everything else in the file, comments included, stays.

    Raises:
        InvalidSettingError: there is no such key, or the value is not what it should be.
        UnknownModelError: no provider is known by that name.
        BrokenConfigError: the file is no text; it was not touched.
        OSError: the file cannot be written.
    """
    _check(key)
    literal = json.dumps(value, ensure_ascii=False)
    if key == "window":
        if not value.isdecimal() or int(value) == 0:
            raise InvalidSettingError(key, value, "a positive whole number")
        literal = str(int(value))
    elif key == "permission_preset":
        permission_preset(value or "none")
    elif not value or " " in value or not value.isprintable():
        raise InvalidSettingError(key, value, "a name without blanks, as provider:model")
    else:
        missing_for(value)
    _rewrite(key, f"{key} = {literal}\n", path or config_path())


def missing_for(model: str) -> str:
    """Say what has to be set or installed before a model can be used; empty where nothing has.

    Raises:
        UnknownModelError: no provider is known by that name.
        InvalidSettingError: it names an endpoint without an address, or its provider refuses it.
    """
    from palimpsest.models.resolve import resolve_model

    try:
        resolve_model(model)
    except (MissingKeyError, MissingExtraError) as error:
        return str(error)
    return ""


def remove_setting(key: str, path: Path | None = None) -> None:
    """Remove one key; a missing one is no error.

    Raises:
        InvalidSettingError: there is no such key.
        BrokenConfigError: the file is no text; it was not touched.
        OSError: the file cannot be written.
    """
    _check(key)
    file = path or config_path()
    if file.exists():
        _rewrite(key, "", file)


def _rewrite(key: str, line: str, file: Path) -> None:
    """Put a line in the place of the key's, else in front of the first table."""
    text = _contents(file)
    table = re.search(r"^\s*\[", text, re.MULTILINE)
    top, rest = (text[: table.start()], text[table.start() :]) if table else (text, "")
    pattern = re.compile(rf"^[ \t]*{key}[ \t]*=.*\n?", re.MULTILINE)
    if pattern.search(top):
        top = pattern.sub(lambda _: line, top, count=1)
    else:
        top = (top if not top or top.endswith("\n") else f"{top}\n") + line
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = file.with_name(f"{file.name}.new")
    partial.touch(mode=0o600)
    partial.write_text(top + rest, encoding="utf-8")
    partial.replace(file)


def _contents(file: Path) -> str:
    """Read the file as text; a missing one is empty."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise BrokenConfigError(str(file), f"it is no text in UTF-8: {error.reason}.") from error


def _check(key: str) -> None:
    if key not in KEYS:
        raise InvalidSettingError("key", key, f"one of {', '.join(KEYS)}")


def _text(found: Mapping[str, object], key: str) -> str:
    value = found.get(key, "")
    if not isinstance(value, str):
        raise InvalidSettingError(key, value, "text")
    return value


def _window(found: Mapping[str, object]) -> int | None:
    value = found.get("window")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise InvalidSettingError("window", value, "a positive whole number")
    return value
