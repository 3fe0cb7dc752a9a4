"""Who may ask: this machine's own page and programs that hold the launch token.

Guards, in order: the Host must be the server's own, an Origin must be the same, cross-site fetches
are refused, then the token. A page on another site, or behind a name that was rebound to this
machine, fails the first three whatever cookies the browser adds.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from starlette.requests import cookie_parser

from palimpsest.web.problems import ForbiddenError

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def cookie_name(port: int) -> str:
    """Give the cookie's name: browsers share cookies among the ports of a machine."""
    return f"palimpsest-{port}"


def _new_secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(slots=True)
class Access:
    """The secrets of one launch.

    Attributes:
        names: host names, without a port, under which the server may be asked, besides the
            address that a request came to: no other site can take that for its own name.
        token: opens the page once, and every request that carries it as a bearer.
        cookie: what the browser gets for the token.
    """

    names: Collection[str] = LOOPBACK_NAMES
    token: str = field(default_factory=_new_secret)
    cookie: str = field(default_factory=_new_secret)
    _is_exchanged: bool = False

    def exchange(self, token: str) -> str | None:
        """Give the cookie for the token, the first time only: a link in a history opens nothing."""
        if self._is_exchanged or not _same(token, self.token):
            return None
        self._is_exchanged = True
        return self.cookie

    def check_site(self, headers: Mapping[str, str], *, address: str, port: int) -> None:
        """Refuse what comes from another site.

        Args:
            headers: of the request, names in lower case.
            address: of this machine, the one that the request came to; empty where it has none.
            port: the one that the server listens on.

        Raises:
            ForbiddenError: it does.
        """
        host = headers.get("host", "")
        names = {*self.names, in_url(address)} - {""}
        if host not in {name for own in names for name in _with_port(own, port)}:
            raise ForbiddenError(
                "This server answers only under its own address: open the link that it printed, "
                "with the address of its machine in it."
            )
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            raise ForbiddenError("This server answers only its own page.")
        if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
            raise ForbiddenError("This server answers no other site.")

    def holder(
        self, headers: Mapping[str, str], *, port: int
    ) -> Literal["browser", "program"] | None:
        """Tell who shows a right secret; None where nobody does."""
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(bearer.strip(), self.token):
            return "program"
        return "browser" if _same(_cookie_of(headers, port), self.cookie) else None


def in_url(address: str) -> str:
    """Give a numeric address as it stands in a URL."""
    return f"[{address}]" if ":" in address else address


def _with_port(name: str, port: int) -> tuple[str, ...]:
    return (f"{name}:{port}", name) if port == 80 else (f"{name}:{port}",)


def _same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode(), secret.encode())


def _cookie_of(headers: Mapping[str, str], port: int) -> str:
    # Not the standard library's: it reads none where another server's cookie is malformed, and
    # browsers send a machine's cookies to all of its ports.
    return cookie_parser(headers.get("cookie", "")).get(cookie_name(port), "")
