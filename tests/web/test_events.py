"""Event streams, over a real connection where the connection matters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx2
import pytest

from palimpsest.core.errors import SaveFailedError
from palimpsest.testing import Gate, Reply
from palimpsest.web.channel import Channel
from palimpsest.web.frames import MOST_FRAMES
from palimpsest.web.server import (
    DEFAULT_PORT,
    DRAIN_S,
    CannotListenError,
    PortTakenError,
    listen,
    reachable,
    serve,
)
from tests.session.helpers import rig, work
from tests.web.served import sessions

pytestmark = pytest.mark.anyio


@dataclass
class Frame:
    id: str
    name: str
    data: Any


async def frames(lines: AsyncIterator[str]) -> AsyncGenerator[Frame]:
    fields: dict[str, str] = {}
    async for line in lines:
        name, _, value = line.partition(": ")
        if name in {"id", "event", "data"}:
            fields[name] = value
        elif not line and fields:
            yield Frame(fields["id"], fields["event"], json.loads(fields["data"]))
            fields = {}


@asynccontextmanager
async def running(script: list[Reply], cwd: Path) -> AsyncGenerator[httpx2.AsyncClient]:
    """A real server on a free port, and a client that came by its link."""
    links: asyncio.Queue[str] = asyncio.Queue()
    task = asyncio.ensure_future(
        serve(sessions(script, cwd), listen("127.0.0.1", 0), links.put_nowait)
    )
    link = await links.get()
    async with httpx2.AsyncClient(base_url=link.partition("/?")[0], timeout=None) as client:
        assert (await client.get(link)).status_code == 303
        yield client
    task.cancel()
    await asyncio.wait([task])


@asynccontextmanager
async def stream(
    client: httpx2.AsyncClient, name: str, last: str = ""
) -> AsyncGenerator[AsyncGenerator[Frame]]:
    headers = {"Last-Event-ID": last} if last else {}
    url = f"/api/sessions/{name}/events"
    async with client.stream("GET", url, headers=headers) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        yield frames(answer.aiter_lines())


async def take(stream: AsyncGenerator[Frame], kind: str) -> list[Frame]:
    """Read until an event of a kind has come, that one included."""
    seen: list[Frame] = []
    async for frame in stream:
        seen.append(frame)
        if frame.name == "event" and frame.data["event"]["kind"] == kind:
            break
    return seen


async def draft(client: httpx2.AsyncClient) -> str:
    name: str = (await client.post("/api/sessions", json={})).json()["id"]
    return name


async def prompt(client: httpx2.AsyncClient, name: str, text: str) -> None:
    body = {"requestId": text, "text": text}
    answer = await client.post(f"/api/sessions/{name}/prompt", json=body)
    assert answer.status_code == 202


async def test_a_run_is_followed_and_resumed_where_it_was_left(project: Path) -> None:
    gate = Gate()
    script = [Reply(text="first"), Reply(text=("sec", "ond"), before=gate)]
    async with running(script, project) as client:
        name = await draft(client)
        async with stream(client, name) as events:
            first = await anext(events)
            assert (first.name, first.data["operation"]) == ("snapshot", "idle")
            await prompt(client, name, "one")
            seen = await take(events, "settled")
        ids = [int(frame.id.rpartition(":")[2]) for frame in seen]
        assert ids == list(range(1, len(seen) + 1))
        busy = [frame.data["operation"] for frame in seen if frame.name == "snapshot"]
        assert set(busy) == {"prompt"}
        async with stream(client, name, seen[-1].id) as events:
            settled = await anext(events)
            assert (settled.name, settled.data["operation"]) == ("snapshot", "idle")
        middle = seen[3]
        async with stream(client, name, middle.id) as events:
            again = [await anext(events) for _ in seen[4:]]
            assert [(frame.id, frame.data) for frame in again] == [
                (frame.id, frame.data) for frame in seen[4:]
            ]
        # A page that goes away in the middle of a run does not end it, and one that comes finds it.
        await prompt(client, name, "two")
        await gate.reached.wait()
        async with stream(client, name, "other:1") as events:
            snapshot = (await anext(events)).data
            assert snapshot["operation"] == "prompt"
        gate.open()
        async with stream(client, name, seen[-1].id) as events:
            rest = await take(events, "settled")
        deltas = [
            frame.data["event"]["delta"]
            for frame in rest
            if frame.name == "event" and frame.data["event"]["kind"] == "message_update"
        ]
        assert "".join(deltas) == "second"


async def test_five_hundred_streams_of_one_session(project: Path) -> None:
    async with running([Reply(text="done")], project) as client:
        name = await draft(client)

        async def follow(client: httpx2.AsyncClient, opened: asyncio.Event) -> int:
            async with stream(client, name) as events:
                await anext(events)
                opened.set()
                return len(await take(events, "settled"))

        async with httpx2.AsyncClient(
            base_url=client.base_url,
            limits=httpx2.Limits(max_connections=600),
            cookies=client.cookies,
            timeout=None,
        ) as many:
            opened = [asyncio.Event() for _ in range(500)]
            followers = [asyncio.ensure_future(follow(many, event)) for event in opened]
            for event in opened:
                await event.wait()
            await prompt(client, name, "go")
            counts = await asyncio.gather(*followers)
        assert len(set(counts)) == 1


async def test_a_reader_that_does_not_read_is_dropped_and_blocks_nothing() -> None:
    found = await rig(work(2))
    channel = Channel(found.session, stream="s")
    with channel.reader("") as slow, channel.reader("") as quick:
        taken: list[str] = []

        async def read() -> None:
            async for frame in quick.frames():
                taken.append(channel.id_of(frame))

        reading = asyncio.ensure_future(read())
        await found.session.prompt("one")
        for _ in range(MOST_FRAMES):
            channel.publish()
            await asyncio.sleep(0)
        assert [frame async for frame in slow.frames()] == []
        assert len(channel) == 2
        channel.close()
        await reading
    assert len(channel) == 0
    assert len(taken) == len(set(taken)) > MOST_FRAMES


async def test_what_is_under_way_is_in_the_snapshot() -> None:
    gate = Gate()
    found = await rig([Reply(text=("some", " text"), midway=gate)])
    channel = Channel(found.session, stream="s")
    run = asyncio.ensure_future(found.session.prompt("go"))
    await gate.reached.wait()
    assert channel.snapshot().live.text == "some"
    assert channel.snapshot().operation == "prompt"
    gate.open()
    await run
    assert channel.snapshot().live.text == ""


async def test_a_stop_ends_the_runs_and_tells_everybody_who_waits(project: Path) -> None:
    gate = Gate()
    script = [*work(3, characters=400, prose=9_000), Reply(text="never", before=gate)]
    links: asyncio.Queue[str] = asyncio.Queue()
    host = sessions(script, project, summarizer="model")
    serving = asyncio.ensure_future(serve(host, listen("127.0.0.1", 0), links.put_nowait))
    link = await links.get()
    async with httpx2.AsyncClient(base_url=link.partition("/?")[0], timeout=None) as client:
        await client.get(link)
        name = await draft(client)
        session = host.get(name)
        assert session is not None
        for text in ("1", "2", "3"):
            await prompt(client, name, text)
            await session.wait_for_idle()
        compacting = asyncio.ensure_future(client.post(f"/api/sessions/{name}/compact", json={}))
        await gate.reached.wait()
        async with stream(client, name) as arriving:
            await anext(arriving)
            serving.cancel()
            async with asyncio.timeout(DRAIN_S):
                last = [frame async for frame in arriving][-1]
                await asyncio.wait([serving])
        assert last.data["outcome"] == "cancelled"
        answer = await compacting
        assert (answer.status_code, answer.json()["outcome"]) == (200, "cancelled")


async def test_a_stop_names_what_could_not_be_saved(project: Path) -> None:
    links: asyncio.Queue[str] = asyncio.Queue()
    unsaved: list[str] = []
    host = sessions([], project, failing_commits=1_000)
    serving = asyncio.ensure_future(
        serve(
            host,
            listen("127.0.0.1", 0),
            links.put_nowait,
            unsaved=lambda error: unsaved.append(str(error)),
        )
    )
    await links.get()
    for text in ("one", "two"):
        with pytest.raises(SaveFailedError):
            await (await host.draft()).prompt(text)
    await (await host.draft()).abort()
    serving.cancel()
    await asyncio.wait([serving])
    assert len(unsaved) == 2
    assert all("could not be saved" in line and "\n" not in line for line in unsaved)


class BrokenScriptError(Exception):
    """What somebody's script ends with."""


@pytest.mark.parametrize("is_stopped", [False, True], ids=["by itself", "by the server's end"])
async def test_a_script_that_fails_is_told_unless_the_server_was_stopped(
    project: Path, is_stopped: bool
) -> None:
    links: asyncio.Queue[str] = asyncio.Queue()
    told: asyncio.Queue[str] = asyncio.Queue()
    goes_on = asyncio.Event()

    async def script() -> None:
        try:
            await goes_on.wait()
        except asyncio.CancelledError:
            raise BrokenScriptError("cut off") from None
        raise BrokenScriptError("line 3 is missing")

    serving = asyncio.ensure_future(
        serve(
            sessions([], project),
            listen("127.0.0.1", 0),
            links.put_nowait,
            beside=script,
            failed=lambda error: told.put_nowait(str(error)),
        )
    )
    await links.get()
    if not is_stopped:
        goes_on.set()
        assert await told.get() == "line 3 is missing"
        assert not serving.done()
    serving.cancel()
    await asyncio.wait([serving])
    await asyncio.sleep(0)
    assert told.empty()


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "192.0.2.7"])
def test_one_address_is_reachable_as_itself(address: str) -> None:
    assert reachable(address) == address


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "::"])
def test_every_address_is_reachable_under_a_real_one(everywhere: str) -> None:
    assert not ip_address(reachable(everywhere)).is_unspecified


async def test_a_server_on_every_address_gives_a_link_that_leads_there(project: Path) -> None:
    links: asyncio.Queue[str] = asyncio.Queue()
    serving = asyncio.ensure_future(
        serve(sessions([], project), listen("0.0.0.0", 0), links.put_nowait)
    )
    link = httpx2.URL(await links.get())
    assert not ip_address(link.host).is_unspecified
    async with httpx2.AsyncClient(timeout=None) as client:
        here = link.copy_with(host="127.0.0.1")  # all that a test may reach
        assert (await client.get(here)).status_code == 303
    serving.cancel()
    await asyncio.wait([serving])


async def test_a_taken_port_is_said_and_stepped_over() -> None:
    with listen("127.0.0.1", None) as first, listen("127.0.0.1", None) as second:
        taken = first.getsockname()[1]
        assert DEFAULT_PORT <= taken < second.getsockname()[1]
        for host in ("", " ", "h\udcff"):
            with pytest.raises(CannotListenError, match="--host"):
                listen(host, None)
        with pytest.raises(PortTakenError, match=f"Port {taken} of 127"):
            listen("127.0.0.1", taken)
