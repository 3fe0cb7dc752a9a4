"""The web application: API, event streams, and the page."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.staticfiles import StaticFiles

from palimpsest._version import __version__
from palimpsest.core.errors import PalimpsestError
from palimpsest.session.host import SessionHost
from palimpsest.web.access import Access
from palimpsest.web.guard import Guard
from palimpsest.web.problems import (
    BodyTooLargeError,
    InvalidRequestError,
    MethodNotAllowedError,
    NotFoundError,
    PageNotBuiltError,
    problem_of,
    status_of,
)
from palimpsest.web.rooms import Rooms
from palimpsest.web.routes import router

PAGE = Path(str(files("palimpsest.web") / "static"))


def require_page(page: Path = PAGE) -> None:
    """Refuse to go on without a page to show; ``create_app`` needs none.

    Raises:
        PageNotBuiltError: the folder holds no built page.
    """
    if not (page / "index.html").is_file():
        raise PageNotBuiltError


def create_app(
    host: SessionHost, *, access: Access | None = None, page: Path | None = None
) -> FastAPI:
    """Serve a host's sessions.

    Args:
        host: holds the sessions; the application shuts it down when it ends.
        access: names and secrets of this launch, at ``app.state.access``; None makes new ones.
        page: folder of the built page; None is the packaged one.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        yield
        await rooms.shut_down()

    rooms = Rooms(host)
    app = FastAPI(
        title="Palimpsest",
        summary="Agent sessions whose context is compacted and never lost.",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        redirect_slashes=False,
    )
    app.state.rooms = rooms
    app.state.access = access or Access()
    app.include_router(router)
    app.add_exception_handler(PalimpsestError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    _add_page(app, page or PAGE)
    app.add_middleware(Guard, access=app.state.access)
    return app


def _add_page(app: FastAPI, page: Path) -> None:
    """Serve the page's files by their places, so that what is none is nobody's but the API's."""
    if not (page / "index.html").is_file():
        app.add_api_route("/", _not_built, include_in_schema=False)
        return
    top = StaticFiles(directory=page, html=True)
    app.router.routes += [Route("/", top), Route("/{name}", top)]
    app.mount("/assets", StaticFiles(directory=page / "assets", check_dir=False))


async def _not_built() -> None:
    raise PageNotBuiltError


def _answer(error: PalimpsestError) -> Response:
    body = problem_of(error).model_dump(by_alias=True)
    return JSONResponse(body, status_code=status_of(error))


async def _on_error(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, PalimpsestError)
    return _answer(error)


async def _on_invalid(request: Request, error: Exception) -> Response:
    """Say what is wrong with the first thing that is; what was sent is not repeated."""
    del request
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(step) for step in first["loc"])
    return _answer(InvalidRequestError(f"{place}: {first['msg']}"))


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    match error.status_code:
        case 404:
            return _answer(NotFoundError(f"There is nothing at {request.url.path}."))
        case 413:
            return _answer(BodyTooLargeError("The body is larger than what is read."))
        case 405:
            allowed = _allowed(request)
            refused = _answer(MethodNotAllowedError(f"{request.url.path} takes {allowed} only."))
            refused.headers["Allow"] = allowed
            return refused
        case _:
            return _answer(InvalidRequestError(str(error.detail)))


def _allowed(request: Request) -> str:
    """Give the methods of a path; each one of the API's is a route of its own."""
    methods = {
        method
        for route in router.routes
        if isinstance(route, APIRoute) and route.matches(request.scope)[0] is not Match.NONE
        for method in route.methods or ()
    }
    return ", ".join(sorted(methods or {"GET", "HEAD"}))  # of a file of the page, or the schema
