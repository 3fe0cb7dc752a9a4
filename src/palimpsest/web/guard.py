"""The ASGI layer in front of everything: guards, and the headers of every answer."""

from __future__ import annotations

from html import escape

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from palimpsest.web.access import Access, cookie_name
from palimpsest.web.problems import (
    BodyTooLargeError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
    WebError,
    problem_of,
    status_of,
)

_WITH_BODY = frozenset({"POST", "PUT"})

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_NO_LINK = (
    "Open the link that `palimpsest web` printed at its start; it works once, in one browser."
)
_USED = (
    "That link was used before, or is of an earlier start: "
    "start `palimpsest web` again for a new link."
)


class Guard:
    """Lets through what the access allows; everything else is answered here."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_too_large = False

        async def send_secured(message: Message) -> None:
            nonlocal is_too_large
            if is_too_large:
                return
            if message["type"] != "http.response.start" or message["status"] != 413:
                await send_headed(message)
                return
            # Whatever the application says, the framework's limit makes plain text of it.
            is_too_large = True
            refusal = _refused(BodyTooLargeError("The body is larger than what is read."))
            await refusal(scope, receive, send_headed)

        async def send_headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            answer = self._answer(scope)
        except WebError as error:
            answer = _page(error) if _wants_page(scope) else _refused(error)
        if answer is not None:
            await answer(scope, receive, send_secured)
            return
        await self._app(scope, receive, send_secured)

    def _answer(self, scope: Scope) -> Response | None:
        """Check a request; gives the answer where the page is opened with a token."""
        headers = Headers(scope=scope)
        address, port = scope.get("server") or ("", None)
        port = port or 80
        self._access.check_site(headers, address=address, port=port)
        if self._access.holder(headers, port=port) is None:
            return self._exchange(scope, port=port)
        if "token" in _query(scope) and scope["path"] == "/":
            return RedirectResponse("/", status_code=303)
        if scope["method"] in _WITH_BODY:
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
            if kind != "application/json" and (kind or has_body):
                raise UnsupportedMediaTypeError("Send the body as application/json.")
        return None

    def _exchange(self, scope: Scope, *, port: int) -> Response:
        token = _query(scope).get("token", "") if scope["path"] == "/" else ""
        cookie = self._access.exchange(token) if token else None
        if cookie is None:
            raise UnauthorizedError(_USED if token else _NO_LINK)
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(cookie_name(port), cookie, httponly=True, samesite="strict", path="/")
        return answer


def _query(scope: Scope) -> QueryParams:
    return QueryParams(scope["query_string"])


def _wants_page(scope: Scope) -> bool:
    """Whether somebody looks at the answer, not a program."""
    return scope["path"] == "/" and "text/html" in Headers(scope=scope).get("accept", "")


def _page(error: WebError) -> Response:
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Palimpsest</title>'
        f"<h1>Palimpsest</h1><p>{escape(str(error))}</p>",
        status_code=status_of(error),
    )


def _refused(error: WebError) -> Response:
    return JSONResponse(problem_of(error).model_dump(), status_code=status_of(error))
