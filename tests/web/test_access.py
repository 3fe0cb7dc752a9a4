from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from starlette.types import Message

from tests.web.served import BASE, Served, served

pytestmark = pytest.mark.anyio

FOREIGN = [
    ({"Host": "evil.example"}, 403),
    ({"Host": "evil.example:8000"}, 403),
    ({"Host": "127.0.0.1:8001"}, 403),
    ({"Host": "127.0.0.1"}, 403),
    ({"Host": ""}, 403),
    ({"Host": "127.0.0.1.evil.example:8000"}, 403),
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "https://127.0.0.1:8000"}, 403),
    ({"Origin": "http://localhost:8000"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"Sec-Fetch-Site": "same-site"}, 403),
    ({"Authorization": "Bearer wrong"}, 401),
    ({"Authorization": "Basic wrong"}, 401),
    ({"Authorization": "", "Cookie": "palimpsest-8000=wrong"}, 401),
    ({"Authorization": "", "Cookie": 'palimpsest-8000="'}, 401),
    ({"Authorization": "Bearer " + "é" * 10}, 401),
]
OWN: list[dict[str, str]] = [
    {},
    {"Host": "localhost:8000"},
    {"Host": "[::1]:8000"},
    {"Origin": "http://127.0.0.1:8000"},
    {"Origin": "http://localhost:8000", "Host": "localhost:8000"},
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
]


def encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


@pytest.mark.parametrize(("headers", "status"), [*FOREIGN, *((own, 200) for own in OWN)])
async def test_who_may_ask(project: Path, headers: dict[str, str], status: int) -> None:
    async with served([], project) as found:
        answer = await found.client.get("/api/sessions", headers=encoded(headers))
        assert answer.status_code == status
        if status != 200:
            assert set(answer.json()) == {"code", "message"}
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_an_address_of_this_machine_is_its_own_name_where_a_request_came_to_it(
    project: Path,
) -> None:
    async with served([], project) as found:
        transport = httpx2.ASGITransport(found.app)
        token = {"Authorization": f"Bearer {found.app.state.access.token}"}
        for base in ("http://192.0.2.7:8000", "http://[2001:db8::7]:8000"):
            async with httpx2.AsyncClient(
                transport=transport, base_url=base, headers=token
            ) as client:
                assert (await client.get("/api/sessions")).status_code == 200
                for host in ("192.0.2.8:8000", "evil.example:8000", "[2001:db8::8]:8000"):
                    answer = await client.get("/api/sessions", headers={"Host": host})
                    assert answer.status_code == 403
                    assert "with the address of its machine" in answer.json()["message"]


async def test_the_site_is_checked_before_the_token(project: Path) -> None:
    async with served([], project) as found:
        answer = await found.client.get(
            "/api/sessions", headers={"Authorization": "", "Host": "evil.example"}
        )
        assert answer.json()["code"] == "forbidden"


def stranger(found: Served) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(found.app), base_url=BASE)


async def test_the_link_works_once_and_leaves_a_strict_cookie(project: Path) -> None:
    async with served([], project) as found, stranger(found) as browser, stranger(found) as other:
        link = f"/?token={found.app.state.access.token}"
        assert (await browser.get("/api/sessions")).status_code == 401
        opened = await browser.get(link)
        assert (opened.status_code, opened.headers["Location"]) == (303, "/")
        cookie = opened.headers["Set-Cookie"]
        assert cookie.startswith("palimpsest-8000=")
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; ")[1:])
        assert (await browser.get("/api/sessions")).status_code == 200
        again = await browser.get(link)
        assert (again.status_code, again.headers["Location"]) == (303, "/")
        refused = await other.get(link)
        assert refused.status_code == 401
        assert "used before" in refused.json()["message"]
        looked = await other.get(link, headers={"Accept": "text/html,*/*;q=0.8"})
        assert looked.status_code == 401
        assert looked.headers["Content-Type"].startswith("text/html")
        assert "start `palimpsest web` again for a new link" in looked.text
        assert "Content-Security-Policy" in looked.headers
        bare = await other.get("/", headers={"Accept": "text/html"})
        assert "Open the link" in bare.text
        for_a_program = await other.get("/api/sessions", headers={"Accept": "text/html"})
        assert for_a_program.json()["code"] == "unauthorized"


@pytest.mark.parametrize(
    "other", ['theme={"dark": true}', "a=b c", "bare", "=", "é=ü", 'open="half', "a=1; a=2", ";;"]
)
async def test_cookies_of_other_servers_of_this_machine_are_in_nobodys_way(
    project: Path, other: str
) -> None:
    async with served([], project) as found, stranger(found) as browser:
        own = f"palimpsest-8000={found.app.state.access.cookie}"
        for cookies in (f"{other}; {own}", f"{own}; {other}"):
            headers = encoded({"Cookie": cookies})
            assert (await browser.get("/api/sessions", headers=headers)).status_code == 200
        headers = encoded({"Cookie": f"{other}; palimpsest-8000=wrong"})
        assert (await browser.get("/api/sessions", headers=headers)).status_code == 401


async def test_a_wrong_link_does_not_use_up_the_right_one(project: Path) -> None:
    async with served([], project) as found, stranger(found) as browser:
        assert (await browser.get("/?token=wrong")).status_code == 401
        assert (await browser.get(f"/api/sessions?token={found.app.state.access.token}")).is_error
        assert (await browser.get(f"/?token={found.app.state.access.token}")).status_code == 303


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain", ""]
)
async def test_a_form_of_another_site_is_no_command(project: Path, kind: str) -> None:
    async with served([], project) as found:
        answer = await found.client.post(
            "/api/sessions", content=b"{}", headers={"Content-Type": kind}
        )
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
        assert len(found.host) == 0


async def test_bodies_have_a_size(project: Path) -> None:
    async with served([], project) as found:
        name = await found.draft()
        json = {"Content-Type": "application/json"}
        for path, size, status in (
            ("compact", (1 << 20) + 1, 413),
            ("compact", 1 << 20, 400),
            ("prompt", (1 << 20) + 1, 400),
            ("prompt", (32 << 20) + 1, 413),
        ):
            url = f"/api/sessions/{name}/{path}"
            answer = await found.client.post(url, content=b" " * size, headers=json)
            assert answer.status_code == status, (path, size)
            assert set(answer.json()) == {"code", "message"}
            assert (answer.json()["code"] == "body_too_large") == (status == 413)

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(5):
                yield b" " * 300_000

        url = f"/api/sessions/{name}/compact"
        answer = await found.client.post(url, content=pieces(), headers=json)
        assert answer.json()["code"] == "body_too_large"


async def test_a_web_socket_is_closed(project: Path) -> None:
    async with served([], project) as found:
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        async def send(message: Message) -> None:
            sent.append(message)

        await found.app({"type": "websocket", "path": "/", "headers": []}, receive, send)
        assert sent == [{"type": "websocket.close"}]
