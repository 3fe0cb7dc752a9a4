"""Text that no answer could carry as it is: half a surrogate pair, from wherever it comes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from palimpsest.session.events import MessageUpdate
from palimpsest.testing import Call, Reply
from palimpsest.web import wire
from palimpsest.web.channel import Channel
from tests.session.helpers import rig
from tests.web.served import Served, served

pytestmark = pytest.mark.anyio

HALF = "caf\udce9"
SHOWN = "caf\ufffd"

READS = ("", "/messages", "/messages/0", "/messages/1", "/messages/2", "/compactions", "/context")


async def shown(found: Served, name: str) -> str:
    """Everything that is read of a session, the list included."""
    answers = [await found.get(f"{name}{path}") for path in READS]
    answers.append(await found.client.get("/api/sessions"))
    assert {answer.status_code for answer in answers} == {200}
    return "".join(answer.text for answer in answers)


def test_every_answer_is_one_that_can_be_sent() -> None:
    values = {
        value
        for value in vars(wire).values()
        if isinstance(value, type) and issubclass(value, wire.ApiModel)
    }
    others = {value for value in values if not issubclass(value, wire.Answer)}
    assert {value.__name__ for value in others if not value.__name__.endswith("Body")} == {
        "ApiModel"
    }


async def test_whatever_was_said_is_shown(project: Path) -> None:
    script = [
        Reply(text=HALF, calls=[Call(tool="read", arguments={"name": HALF})]),
        Reply(text=HALF),
    ]
    async with served(script, project) as found:
        name = await found.draft()
        session = found.session(name)
        await session.prompt(f"{HALF} please")
        assert (await shown(found, name)).count(SHOWN) >= 6
        (entry,) = (await found.client.get("/api/sessions")).json()["sessions"]
        assert entry["title"] == f"{SHOWN} please"
        await session.set_title(HALF)
        assert (await found.get(name)).json()["title"] == SHOWN
        assert session.listener_errors == ()
        await found.host.close(name)
        assert SHOWN in await shown(found, name)


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text elsewhere")
async def test_a_file_name_that_is_no_utf_8_is_offered(project: Path) -> None:
    Path(project / os.fsdecode(b"caf\xe9.txt")).write_text("", "utf-8")
    async with served([], project) as found:
        name = await found.draft()
        answer = await found.get(f"{name}/files", beginning="caf")
        assert answer.json() == {"paths": [f"{SHOWN}.txt"]}


async def test_a_character_that_arrives_in_two_halves_is_whole_in_the_snapshot() -> None:
    found = await rig([Reply(text=("hi \ud83d", "\ude00 there"))])
    channel = Channel(found.session, stream="s")
    seen: list[str] = []

    def on_event(event: object) -> None:
        if isinstance(event, MessageUpdate):
            seen.append(channel.snapshot().live.text)

    found.session.subscribe(on_event)
    deltas: list[str] = []
    with channel.reader("") as reader:

        async def read() -> None:
            async for frame in reader.frames():
                if "delta" in (event := json.loads(frame.data).get("event", {})):
                    deltas.append(event["delta"])

        reading = asyncio.ensure_future(read())
        await asyncio.sleep(0)
        await found.session.prompt("go")
        await asyncio.sleep(0)
        channel.close()
        await reading
    assert seen == ["hi ", "hi 😀 there"]
    assert deltas == ["hi ", "😀 there"]
    assert found.session.listener_errors == ()


async def test_half_a_character_that_stays_alone_is_told_at_the_end() -> None:
    found = await rig([Reply(text=("hi \ud83d", "there \ud83d"))])
    deltas: list[str] = []

    def on_event(event: object) -> None:
        if isinstance(event, MessageUpdate):
            deltas.append(event.delta)

    found.session.subscribe(on_event)
    await found.session.prompt("go")
    assert deltas == ["hi ", "\ufffdthere ", "\ufffd"]
    assert found.session.listener_errors == ()
