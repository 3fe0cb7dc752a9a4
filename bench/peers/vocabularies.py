"""Vocabularies of tiktoken from a package that ships them, so that counting fetches nothing."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path


def use_shipped() -> None:
    """Call before anything counts."""
    litellm = find_spec("litellm")
    if litellm is not None and litellm.origin is not None:
        folder = Path(litellm.origin).parent / "litellm_core_utils" / "tokenizers"
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
