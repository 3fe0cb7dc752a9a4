"""What the page says in each language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from palimpsest.models.limits import Limit, LimitSource

LANGUAGES = Path(__file__).parents[2] / "web-ui" / "src" / "i18n"


def keys(value: Any, path: str = "") -> set[str]:
    if not isinstance(value, dict):
        # Plurals differ from language to language.
        return {path.removesuffix("_one").removesuffix("_other")}
    return {key for name, item in value.items() for key in keys(item, f"{path}/{name}")}


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_every_language_says_everything(language: str) -> None:
    said, english = (
        json.loads((LANGUAGES / f"{name}.json").read_text("utf-8")) for name in (language, "en")
    )
    assert keys(said) == keys(english)
    for source in get_args(LimitSource):
        words = str(Limit(tokens=1, source=source)).partition("(")[2].removesuffix(")")
        assert words in said["context"]["sources"]
