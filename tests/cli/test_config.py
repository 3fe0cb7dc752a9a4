"""The configuration file: read strictly, changed a line at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from palimpsest.cli.config import Config, read_config, remove_setting, write_setting
from palimpsest.cli.main import app
from palimpsest.core.errors import BrokenConfigError, InvalidSettingError, UnknownModelError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))
    return tmp_path / "config.toml"


def test_a_missing_file_is_empty(file: Path) -> None:
    assert read_config() == Config()
    remove_setting("model")
    assert not file.exists()


def test_values_are_set_and_the_rest_stays(file: Path) -> None:
    file.write_text('# mine\nmodel = "a:b"\n[other]\nmodel = 3\n')
    write_setting("model", 'ollama:"y"')
    write_setting("window", "064000")
    write_setting("permission_preset", "read-only")
    assert read_config() == Config(model='ollama:"y"', window=64_000, permission_preset="read-only")
    remove_setting("window")
    assert file.read_text() == (
        '# mine\nmodel = "ollama:\\"y\\""\npermission_preset = "read-only"\n[other]\nmodel = 3\n'
    )
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    [
        "model = ",
        "model = 3",
        'window = "x"',
        "window = 0",
        "window = true",
        'permission_preset = "root"',
    ],
)
def test_a_broken_file_is_refused(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(BrokenConfigError, match=r"config\.toml"):
        read_config()
    assert file.read_text() == text


def test_a_file_that_is_no_text_is_refused_and_not_touched(file: Path) -> None:
    file.write_bytes(b"model = \xff\xfe\n")
    for work in (
        read_config,
        lambda: write_setting("model", "ollama:b"),
        lambda: remove_setting("model"),
    ):
        with pytest.raises(BrokenConfigError, match="UTF-8"):
            work()
    assert file.read_bytes() == b"model = \xff\xfe\n"


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("colour", "x", InvalidSettingError),
        ("model", "", InvalidSettingError),
        ("model", " ", InvalidSettingError),
        ("model", "openai: gpt-5", InvalidSettingError),
        ("model", "openai:gpt-5\n", InvalidSettingError),
        ("model", "openai:gpt\udcff", InvalidSettingError),
        ("model", "gpt-5", UnknownModelError),
        ("model", "openai", UnknownModelError),
        ("model", "openai:", UnknownModelError),
        ("model", "nobody:gpt-5", UnknownModelError),
        ("model", "openai-compatible:x", InvalidSettingError),
        ("model", "openai-compatible:x@localhost", InvalidSettingError),
        ("window", "many", InvalidSettingError),
        ("window", "0", InvalidSettingError),
        ("permission_preset", "root", InvalidSettingError),
    ],
)
def test_what_cannot_be_set(file: Path, key: str, value: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        write_setting(key, value)
    assert not file.exists()


@pytest.mark.parametrize(
    "model", ["ollama:qwen3", "openai-compatible:x@http://localhost:8080/v1", "test"]
)
def test_a_model_that_can_be_used_at_once(file: Path, model: str) -> None:
    result = CliRunner().invoke(app, ["config", "set", "model", model])
    assert (result.exit_code, result.output) == (0, f"model = {model}  ({file})\n")


def test_a_model_whose_key_is_still_to_be_set(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = CliRunner().invoke(app, ["config", "set", "model", "openai:gpt-5"])
    assert result.exit_code == 0
    assert "Still to be done: The provider 'openai' needs" in result.output
    assert "OPENAI_API_KEY" in result.output
    assert read_config(file).model == "openai:gpt-5"


def test_the_command(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CliRunner().invoke(app, ["config", "set", "model", "ollama:b"]).exit_code == 0
    shown = CliRunner().invoke(app, ["config"]).stdout
    assert "model = ollama:b  (config:" in shown
    assert "window = —  (not set:" in shown
    monkeypatch.setenv("PALIMPSEST_MODEL", "c:d")
    assert "model = c:d  (PALIMPSEST_MODEL:" in CliRunner().invoke(app, ["config"]).stdout
    assert CliRunner().invoke(app, ["config", "unset", "model"]).exit_code == 0
    assert read_config() == Config()
