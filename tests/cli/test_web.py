from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from palimpsest.cli.main import app
from palimpsest.core.errors import MissingKeyError, PalimpsestError, UnknownModelError
from palimpsest.lab.stage import stage


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


def test_the_demo_names_the_session_that_it_plays_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))  # put back after the stage's own
    with stage() as (host, first, _):
        assert len(host) == 0
        assert len(first) == 36
