"""What goes wrong over HTTP: one body, ``{code, message}``, and a status for each code.

::

    WebError (a UsageError)
    ├─ InvalidRequestError        400  the body or a parameter is not what the schema says
    ├─ UnauthorizedError          401  no token and no cookie of this launch
    ├─ ForbiddenError             403  another host, origin or site
    ├─ NotFoundError              404  no such session, message, file or route
    ├─ MethodNotAllowedError      405  the route is not asked that way
    ├─ NotAcceptedError           409  a prompt was aborted before it was accepted
    ├─ RequestConflictError       409  a request id was used for something else
    ├─ BodyTooLargeError          413  the body is larger than is read
    └─ UnsupportedMediaTypeError  415  the body is no JSON
"""

from __future__ import annotations

from typing import ClassVar

from palimpsest.core.errors import FailureError, PalimpsestError, RefusalError, UsageError
from palimpsest.web.wire import Problem

STATUS_OF_CODE = {
    "context_budget_exceeded": 422,
    "nothing_to_compact": 400,
    "session_disposed": 404,
    "session_locked": 423,
    "session_not_found": 404,
    "summary_failed": 502,
    "summary_timeout": 504,
    "unknown_checkpoint": 404,
}
"""Of errors from below, those whose kind does not tell the status; see ``status_of``."""

MISSING = frozenset({"session_disposed", "session_not_found"})
"""Codes that a client sees as ``not_found``: which of them it was makes no difference to it."""


class WebError(UsageError):
    """Refused by the web layer, before any session was asked; says one sentence."""

    status: ClassVar[int] = 400

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


class InvalidRequestError(WebError):
    """The body or a parameter is not what the schema says."""

    code = "invalid_request"


class UnauthorizedError(WebError):
    """The request shows neither the token nor the cookie of this launch."""

    code = "unauthorized"
    status = 401


class ForbiddenError(WebError):
    """The request comes under another name, or from another site."""

    code = "forbidden"
    status = 403


class NotFoundError(WebError):
    """There is no such session, message, file or route."""

    code = "not_found"
    status = 404


class PageNotBuiltError(NotFoundError):
    """The package was installed from a checkout in which nobody built the page."""

    def __init__(self) -> None:
        super().__init__(
            "This installation has no web page, since it was made from a checkout: run `make page` "
            "there, which needs Node 20, and then `pip install '.[web]'` again. The API needs no "
            "page: serve palimpsest.web.create_app."
        )

    def __reduce__(self) -> tuple[type[PageNotBuiltError], tuple[()]]:
        return PageNotBuiltError, ()


class MethodNotAllowedError(WebError):
    """The route is not asked that way."""

    code = "method_not_allowed"
    status = 405


class NotAcceptedError(WebError):
    """A prompt was aborted before it was accepted; nothing of it was stored."""

    code = "not_accepted"
    status = 409


class RequestConflictError(WebError):
    """A request id was used before, for something else."""

    code = "request_conflict"
    status = 409


class BodyTooLargeError(WebError):
    """The body is larger than what is read; nothing of it was used."""

    code = "body_too_large"
    status = 413


class UnsupportedMediaTypeError(WebError):
    """The body is not announced as JSON: a form of another site could have sent it."""

    code = "unsupported_media_type"
    status = 415


def status_of(error: PalimpsestError) -> int:
    """Give the HTTP status: by code, else 409 for a refusal, 500 for a failure, 400 otherwise."""
    known = STATUS_OF_CODE.get(error.code)
    if known is not None:
        return known
    match error:
        case WebError():
            return error.status
        case RefusalError():
            return 409
        case FailureError():
            return 500
        case _:
            return 400


def problem_of(error: PalimpsestError) -> Problem:
    """Give the body of an answer."""
    code = NotFoundError.code if error.code in MISSING else error.code
    return Problem(code=code, message=str(error))
