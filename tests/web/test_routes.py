"""SPEC section 10, row by row."""

from __future__ import annotations

import asyncio
import base64
import pickle
from pathlib import Path
from typing import Any

import httpx2
import pytest

from palimpsest.session.manager import SessionManager
from palimpsest.session.places import project_directory
from palimpsest.testing import Gate, Reply
from palimpsest.web.app import create_app, require_page
from palimpsest.web.problems import PageNotBuiltError
from tests.session.helpers import read, work
from tests.web.served import BASE, Served, served, sessions

pytestmark = pytest.mark.anyio

PIXEL = base64.b64encode(b"\x89PNG not really").decode()


def built(project: Path) -> Path:
    """A page, as `make page` leaves one."""
    page = project / "page"
    page.mkdir()
    (page / "index.html").write_text("the page", "utf-8")
    return page


async def gathered(found: Served, name: str, **query: Any) -> list[dict[str, Any]]:
    return (await found.get(f"{name}/messages", **query)).json()["messages"]


async def test_a_draft_is_listed_and_leaves_no_file(project: Path) -> None:
    async with served([], project) as found:
        name = await found.draft()
        listed = (await found.client.get("/api/sessions")).json()
        assert [(entry["id"], entry["state"]) for entry in listed["sessions"]] == [(name, "draft")]
        assert listed["cwd"] == str(project)
        assert not project_directory(project).exists()


async def test_a_prompt_runs_and_its_originals_are_paged(project: Path) -> None:
    async with served(work(2), project) as found:
        name = await found.draft()
        await found.ask(name, "one", "two")
        answer = (await found.get(f"{name}/messages", limit=4)).json()
        assert answer["total"] == 12
        assert [row["index"] for row in answer["messages"]] == [8, 9, 10, 11]
        assert [row["index"] for row in await gathered(found, name, before=8, limit=3)] == [5, 6, 7]
        assert await gathered(found, name, before=0) == []
        first = (await gathered(found, name, before=3))[0]
        assert (first["startsTurn"], first["role"]) == (True, "user")
        assert first["parts"] == [
            {"kind": "text", "text": "one", "omittedCharacters": 0, "injected": False}
        ]
        snapshot = (await found.get(name)).json()
        assert (snapshot["operation"], snapshot["outcome"]) == ("idle", "success")
        assert snapshot["messageCount"] == 12
        assert snapshot["totals"]["requests"] == 6


async def test_long_texts_are_cut_in_a_page_and_whole_alone(project: Path) -> None:
    async with served([read("big", 80_000), Reply(text="done")], project) as found:
        name = await found.draft()
        await found.ask(name, "go")
        result = (await gathered(found, name))[2]["parts"][0]
        assert len(result["text"]) == 20_000
        assert result["omittedCharacters"] == 60_004
        assert result["shown"] == "trimmed"
        whole = (await found.get(f"{name}/messages/2")).json()["parts"][0]
        assert (len(whole["text"]), whole["omittedCharacters"]) == (80_004, 0)
        assert (await found.get(f"{name}/messages/99")).status_code == 404


async def test_a_session_goes_on_after_a_restart(project: Path) -> None:
    async with served(work(1), project) as found:
        name = await found.draft()
        await found.ask(name, "one")
    async with served([Reply(text="again")], project) as found:
        listed = (await found.client.get("/api/sessions")).json()["sessions"]
        assert [(entry["id"], entry["state"]) for entry in listed] == [(name, "stored")]
        assert (await found.get(name)).json()["messageCount"] == 6
        await found.ask(name, "two")
        assert (await gathered(found, name))[-1]["parts"][0]["text"] == "again"


async def test_the_same_request_starts_one_run(project: Path) -> None:
    gate = Gate()
    async with served([Reply(text="done", before=gate)], project) as found:
        name = await found.draft()
        body = {"requestId": "r", "text": "go"}
        answers = await asyncio.gather(*(found.post(f"{name}/prompt", body) for _ in range(5)))
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.json()["runId"] for answer in answers}) == 1
        other = await found.post(f"{name}/prompt", body | {"text": "else"})
        assert (other.status_code, other.json()["code"]) == (409, "request_conflict")
        busy = await found.post(f"{name}/prompt", {"requestId": "s", "text": "more"})
        assert (busy.status_code, busy.json()["code"]) == (409, "session_busy")
        for path, more in (("compact", {}), ("flush", {}), ("restore", {"checkpoint": None})):
            refused = await found.post(f"{name}/{path}", more)
            assert (refused.status_code, refused.json()["code"]) == (409, "session_busy")
        assert (await found.get(name)).json()["operation"] == "prompt"
        gate.open()
        await found.session(name).wait_for_idle()
        assert (await found.post(f"{name}/prompt", body)).json() == answers[0].json()
        # What was refused may be asked again under the same id.
        await found.post(f"{name}/prompt", {"requestId": "s", "text": "more"})
        assert len([row for row in await gathered(found, name) if row["startsTurn"]]) == 2


async def test_of_prompts_at_the_same_time_one_is_accepted(project: Path) -> None:
    gate = Gate()
    async with served([Reply(text="done", before=gate)], project) as found:
        name = await found.draft()
        asked = [f"prompt {number}" for number in range(5)]
        answers = await asyncio.gather(
            *(found.post(f"{name}/prompt", {"requestId": text, "text": text}) for text in asked)
        )
        gate.open()
        await found.session(name).wait_for_idle()
        stored = [row["parts"][0]["text"] for row in await gathered(found, name)]
        accepted = [
            text for text, answer in zip(asked, answers, strict=True) if answer.status_code == 202
        ]
        assert stored == [*accepted, "done"]
        refused = [answer for answer in answers if answer.status_code != 202]
        assert {answer.json()["code"] for answer in refused} == {"session_busy"}


async def test_abort_answers_when_settled(project: Path) -> None:
    gate = Gate()
    async with served([Reply(text="never", before=gate)], project) as found:
        name = await found.draft()
        await found.post(f"{name}/prompt", {"requestId": "r", "text": "go"})
        await gate.reached.wait()
        answer = (await found.post(f"{name}/abort")).json()
        assert (answer["operation"], answer["outcome"]) == ("idle", "cancelled")
        assert (await found.post(f"{name}/abort")).status_code == 200


async def test_compact_receipt_restore(project: Path) -> None:
    async with served(work(4, characters=400, prose=9_000), project) as found:
        name = await found.draft()
        await found.ask(name, "1", "2", "3")
        before = (await found.get(name)).json()
        assert before["compactionAvailable"]
        after = (await found.post(f"{name}/compact", {"instructions": "the tests"})).json()
        assert after["contextBudget"]["size"]["tokens"] < before["contextBudget"]["size"]["tokens"]
        meter = after["contextBudget"]
        limits = (meter["safety"], meter["inputLimit"], meter["pressuredAt"])
        room = meter["budget"]["window"] - meter["budget"]["reservedOutput"]
        assert limits == (800, room - 800, -(-9 * (room - 800) // 10))
        (checkpoint,) = (await found.get(f"{name}/compactions")).json()["checkpoints"]
        assert checkpoint["id"] == after["compaction"]["id"]
        assert checkpoint["summary"]
        cut = checkpoint["firstKeptMessageIndex"]
        assert [row["inView"] for row in await gathered(found, name)] == [
            index >= cut for index in range(18)
        ]
        receipt = (await found.get(f"{name}/receipts/{checkpoint['id']}")).json()["receipt"]
        assert receipt["figures"]["trigger"] == "manual"
        assert (await found.get(f"{name}/receipts/none")).json()["code"] == "not_found"
        preview = (await found.get(f"{name}/restore")).json()
        restored = (await found.post(f"{name}/restore", {"checkpoint": None})).json()
        assert restored["contextBudget"]["size"]["tokens"] == preview["tokens"]
        assert restored["compaction"] is None
        again = await found.post(f"{name}/restore", {"checkpoint": checkpoint["id"]})
        assert again.json()["compaction"]["id"] == checkpoint["id"]


async def test_an_aborted_compaction_is_no_error(project: Path) -> None:
    gate = Gate()
    script = [*work(3, characters=400, prose=9_000), Reply(text="never", before=gate)]
    async with served(script, project, summarizer="model") as found:
        name = await found.draft()
        await found.ask(name, "1", "2", "3")
        compacting = asyncio.ensure_future(found.post(f"{name}/compact"))
        await gate.reached.wait()
        assert (await found.get(name)).json()["compactionStartedAt"] > 0
        await found.post(f"{name}/abort")
        answer = await compacting
        assert (answer.status_code, answer.json()["outcome"]) == (200, "cancelled")
        assert answer.json()["compactionStartedAt"] is None


REFUSED = [
    ("compact", {}, 400, "nothing_to_compact"),
    ("restore", {"checkpoint": "none"}, 404, "unknown_checkpoint"),
    ("restore", {}, 400, "invalid_request"),
    ("prompt", {"requestId": "r", "text": " "}, 400, "invalid_request"),
    ("prompt", {"requestId": "", "text": "x"}, 400, "invalid_request"),
    ("prompt", {"text": "x"}, 400, "invalid_request"),
    ("prompt", {"requestId": "r", "text": "x", "more": 1}, 400, "invalid_request"),
    ("prompt", {"requestId": "r", "text": "x", "skills": ["none"]}, 400, "unknown_skill"),
    (
        "prompt",
        {"requestId": "r", "text": "x", "images": [{"mediaType": "image/svg+xml", "data": PIXEL}]},
        400,
        "invalid_request",
    ),
    (
        "prompt",
        {"requestId": "r", "text": "x", "images": [{"mediaType": "image/png", "data": "%"}]},
        400,
        "invalid_request",
    ),
    ("approvals/none", {"approved": True}, 404, "not_found"),
    ("nowhere", {}, 404, "not_found"),
]


@pytest.mark.parametrize(("path", "body", "status", "code"), REFUSED)
async def test_refusals(
    project: Path, path: str, body: dict[str, object], status: int, code: str
) -> None:
    async with served([], project) as found:
        name = await found.draft()
        answer = await found.post(f"{name}/{path}", body)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        assert set(answer.json()) == {"code", "message"}
        assert (await found.get(name)).json()["messageCount"] == 0


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "prompt", b'{"requestId": "r", "text": "\\ud800"}'),
        ("POST", "prompt", b'{"requestId": "\\udfff", "text": "x"}'),
        ("POST", "prompt", b'{"requestId": "r", "text": "x", "skills": ["\\ud800"]}'),
        ("POST", "prompt", b'{"requestId": "r", "text": "x", "\\ud800": 1}'),
        ("POST", "compact", b'{"instructions": "\\ud800"}'),
        ("POST", "restore", b'{"checkpoint": "\\ud800"}'),
        ("PUT", "model", b'{"model": "\\ud800"}'),
        ("PUT", "title", b'{"title": "\\ud800"}'),
        ("POST", "prompt", b'{"requestId": "r", "text": "\xff"}'),
        ("POST", "prompt", b"[" * 500_000),
        ("POST", "prompt", b'{"text": ' * 100_000),
        ("POST", "prompt", b'{"requestId": "r", "text": ' + b"9" * 10_000 + b"}"),
        ("POST", "prompt", b"null"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_malformed_bodies(project: Path, method: str, path: str, body: bytes) -> None:
    async with served([], project) as found:
        name = await found.draft()
        answer = await found.client.request(
            method,
            f"/api/sessions/{name}/{path}",
            content=body,
            headers={"Content-Type": "application/json"},
        )
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/sessions", "GET, POST"),
        ("DELETE", "/api/sessions/x", "GET"),
        ("GET", "/api/sessions/x/abort", "POST"),
        ("DELETE", "/api/sessions/x/restore", "GET, POST"),
        ("POST", "/api/sessions/x/title", "PUT"),
        ("POST", "/api/openapi.json", "GET, HEAD"),
        ("POST", "/", "GET, HEAD"),
    ],
)
async def test_a_path_that_is_not_asked_that_way_says_how(
    project: Path, method: str, path: str, allowed: str
) -> None:
    async with served([], project, page=built(project)) as found:
        answer = await found.client.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
        assert answer.headers["Allow"] == allowed


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize("path", ["/api/", "/api/nothing", "/api/sessions/"])
async def test_where_there_is_nothing(project: Path, method: str, path: str) -> None:
    async with served([], project, page=built(project)) as found:
        answer = await found.client.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_the_page_is_served(project: Path) -> None:
    async with served([], project, page=built(project)) as found:
        assert (await found.client.get("/")).text == "the page"
        assert (await found.client.get("/none.js")).json()["code"] == "not_found"


@pytest.mark.parametrize(
    "name",
    [
        "none",
        "..",
        "%2e%2e%2f%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "00000000-0000-4000-8000-000000000000",
        "00000000-0000-4000-8000-000000000000%2f..",
        "x" * 200,
        "\u0663" * 8,
        "%00",
    ],
)
@pytest.mark.parametrize("path", ["", "/messages", "/compactions", "/events"])
async def test_ids_lead_nowhere_else(project: Path, name: str, path: str) -> None:
    async with served([], project) as found:
        answer = await found.client.get(f"/api/sessions/{name}{path}")
        assert answer.status_code in {400, 404}
        assert answer.json()["code"] in {"not_found", "invalid_request"}


async def test_settings_of_a_session(project: Path) -> None:
    async with served([], project) as found:
        name = await found.draft()
        for path, body, key in (
            ("title", {"title": "Dates"}, "title"),
            ("permission", {"preset": "read-only"}, "permissionPreset"),
        ):
            url = f"/api/sessions/{name}/{path}"
            answer = await found.client.put(url, json=body)
            assert answer.json()[key] == next(iter(body.values()))
        for path, bad in (("permission", {"preset": "all"}), ("model", {"model": "nobody:x"})):
            answer = await found.client.put(f"/api/sessions/{name}/{path}", json=bad)
            assert answer.status_code == 400, answer.text


async def test_a_failed_save_waits_for_flush(project: Path) -> None:
    async with served([Reply(text="done")] * 3, project, failing_commits=2) as found:
        name = await found.draft()
        body = {"requestId": "go", "text": "go"}
        unsaved = await found.post(f"{name}/prompt", body)
        assert (unsaved.status_code, unsaved.json()["code"]) == (500, "save_failed")
        assert (await found.get(name)).json()["hasPendingSave"]
        others = {
            "prompt": {"requestId": "r", "text": "x"},
            "compact": {},
            "restore": {"checkpoint": None},
        }
        for path, other in others.items():
            refused = await found.post(f"{name}/{path}", other)
            assert (refused.status_code, refused.json()["code"]) == (409, "pending_save")
        failed = await found.post(f"{name}/flush")
        assert (failed.status_code, failed.json()["code"]) == (500, "save_failed")
        again = await found.post(f"{name}/prompt", body)
        assert (again.status_code, again.json()["code"]) == (500, "save_failed")
        healed = await found.post(f"{name}/flush")
        assert (healed.status_code, healed.json()["hasPendingSave"]) == (200, False)
        # The same request means the prompt that stands in the history now; it is no second one.
        assert (await found.post(f"{name}/prompt", body)).status_code == 202
        assert [row["parts"][0]["text"] for row in await gathered(found, name)] == ["go"]


async def test_an_accepted_prompt_is_stored(project: Path) -> None:
    gate = Gate()
    async with served([Reply(text="done", before=gate)], project) as found:
        name = await found.draft()
        await found.post(f"{name}/prompt", {"requestId": "r", "text": "go"})
        path = found.session(name).path
        assert path is not None
        assert b'"go"' in path.read_bytes()
        gate.open()
        await found.session(name).wait_for_idle()


async def test_a_session_in_use_elsewhere_can_be_read_and_is_taken_once_free(
    project: Path,
) -> None:
    elsewhere = sessions([Reply(text="done")], project)
    session = await elsewhere.draft()
    await session.prompt("go")
    async with served([Reply(text="mine")], project) as found:
        seen = (await found.get(session.id)).json()
        assert (seen["readOnly"], seen["messageCount"]) == (True, 2)
        body = {"requestId": "r", "text": "x"}
        refused = await found.post(f"{session.id}/prompt", body)
        assert (refused.status_code, refused.json()["code"]) == (423, "session_locked")
        await elsewhere.shut_down()
        await found.ask(session.id, "now")
        assert (await found.get(session.id)).json()["messageCount"] == 4


async def test_a_broken_file_is_listed_with_its_reason(project: Path) -> None:
    folder = project_directory(project)
    folder.mkdir(parents=True)
    name = "11111111-1111-4111-8111-111111111111"
    (folder / f"{name}.jsonl").write_text("no session\n", "utf-8")
    async with served([], project) as found:
        (entry,) = (await found.client.get("/api/sessions")).json()["sessions"]
        assert (entry["id"], entry["state"]) == (name, "broken")
        assert entry["reason"]
        assert (await found.get(name)).json()["code"] == "unsupported_session"


async def test_images_come_back_as_what_they_are_and_nothing_else(project: Path) -> None:
    async with served([Reply(text="nice")], project) as found:
        name = await found.draft()
        image = {"mediaType": "image/png", "data": PIXEL}
        body = {"requestId": "r", "text": "look", "images": [image]}
        assert (await found.post(f"{name}/prompt", body)).status_code == 202
        await found.session(name).wait_for_idle()
        parts = (await gathered(found, name))[0]["parts"]
        assert parts[1] == {"kind": "file", "mediaType": "image/png", "file": 0, "url": ""}
        picture = await found.get(f"{name}/messages/0/files/0")
        assert picture.content == base64.b64decode(PIXEL)
        assert picture.headers["Content-Type"] == "image/png"
        assert (await found.get(f"{name}/messages/0/files/1")).status_code == 404
        assert (await found.get(f"{name}/messages/1/files/0")).status_code == 404


async def test_without_a_built_page_it_says_how_to_build_it(project: Path) -> None:
    app = create_app(sessions([], project), page=project / "none")
    headers = {"Authorization": f"Bearer {app.state.access.token}"}
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url=BASE, headers=headers
    ) as client:
        answer = await client.get("/")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert "make page" in answer.json()["message"]
        assert (await client.get("/api/sessions")).status_code == 200


def test_the_command_needs_a_built_page(project: Path, tmp_path: Path) -> None:
    require_page(built(project))
    with pytest.raises(PageNotBuiltError, match=r"make page.*install.*create_app") as refused:
        require_page(tmp_path)
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.exit_status) == (str(refused.value), 2)


async def test_a_project_sees_its_own_sessions_only(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    manager = SessionManager.create(other)
    async with served([Reply(text="done")], other) as there:
        session = await there.host.open(manager)
        await session.prompt("go")
        async with served([], project) as found:
            assert (await found.get(session.id)).status_code == 404
            assert (await found.client.get("/api/sessions")).json()["sessions"] == []
