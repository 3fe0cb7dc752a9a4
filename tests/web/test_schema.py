"""The API against its own schema: whatever is sent, the answer is one that the schema names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from palimpsest.testing import Reply
from palimpsest.web.app import create_app
from palimpsest.web.server import listen, serve
from tests.web.served import sessions

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
MODES = list(GenerationMode)


def operations() -> dict[str, Any]:
    """Every route but the stream, which does not end."""
    schema = schemathesis.openapi.from_dict(create_app(sessions([], Path())).openapi())
    found = [result.ok() for result in schema.get_all_operations()]
    return {each.label: each for each in found if not each.path.endswith("/events")}


OPERATIONS = operations()


@dataclass
class Address:
    base: str
    headers: dict[str, str]
    session: str


@contextmanager
def running(cwd: Path) -> Iterator[Address]:
    """A real server in a thread, with one session in it."""
    links: Queue[str] = Queue()
    loop = asyncio.new_event_loop()
    host = sessions([Reply(text="done")] * 10_000, cwd)
    serving = loop.create_task(serve(host, listen("127.0.0.1", 0), links.put))
    thread = Thread(target=loop.run_until_complete, args=(asyncio.wait([serving]),), daemon=True)
    thread.start()
    base, _, token = links.get().partition("/?token=")
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx2.post(f"{base}/api/sessions", json={}, headers=headers)
    yield Address(base=base, headers=headers, session=answer.json()["id"])
    loop.call_soon_threadsafe(serving.cancel)
    thread.join()
    loop.close()


@pytest.mark.parametrize("label", sorted(OPERATIONS))
def test_answers_are_those_of_the_schema(project: Path, label: str) -> None:
    operation = OPERATIONS[label]
    with running(project) as server:
        ours = {"path_parameters": {"session_id": server.session}} if "{" in label else {}

        @settings(max_examples=30)
        @given(st.sampled_from(MODES).flatmap(lambda mode: operation.as_strategy(mode, **ours)))
        def check(case: Any) -> None:
            answer = case.call(base_url=server.base, headers=server.headers)
            case.validate_response(answer, checks=CHECKS)

        check()
