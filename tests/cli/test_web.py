from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from palimpsest.cli.main import app
from palimpsest.core.errors import MissingKeyError, PalimpsestError, UnknownModelError
from palimpsest.lab.stage import stage
from palimpsest.web.server import CannotListenError


@pytest.mark.parametrize(
    ("model", "refusal"),
    [
        ("foo:bar", UnknownModelError),
        ("anthropic:", UnknownModelError),
        ("openai:x", MissingKeyError),
    ],
)
def test_a_model_that_cannot_be_had_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, model: str, refusal: type[PalimpsestError]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = CliRunner().invoke(app, ["web", "--no-browser", "--model", model])
    assert isinstance(result.exception, refusal)


@pytest.mark.parametrize(
    ("variable", "config", "told"),
    [
        ("gpt-5", "", "as PALIMPSEST_MODEL says; did you mean"),
        ("", 'model = "nobody:x"\n', "config.toml says; no provider is called 'nobody'."),
        ("", "model = \n", "config.toml: it is no TOML"),
        ("openai:x", "", "needs the environment variable OPENAI_API_KEY."),
        ("", "", "No model is set;"),
        ("ollama:x", "", ""),
    ],
)
def test_what_new_sessions_lack_is_told_at_the_start_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, config: str, told: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))
    monkeypatch.setenv("PALIMPSEST_MODEL", variable)
    (tmp_path / "config.toml").write_text(config, "utf-8")
    arguments = ["web", "--no-browser", "--host", "192.0.2.1"]  # an address of no machine: it ends
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, CannotListenError)
    assert bool(result.stderr) is bool(told)
    assert told in result.stderr


def test_the_demo_names_the_session_that_it_plays_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))
    with stage() as (host, first, _):
        assert os.environ["PALIMPSEST_HOME"] != str(tmp_path)
        assert len(host) == 0
        assert len(first) == 36
    assert os.environ["PALIMPSEST_HOME"] == str(tmp_path)
    monkeypatch.delenv("PALIMPSEST_HOME")
    with stage():
        assert "PALIMPSEST_HOME" in os.environ
    assert "PALIMPSEST_HOME" not in os.environ
