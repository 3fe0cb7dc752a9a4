"""Write the API's schema as JSON, for the page's types: ``python tools/write_openapi.py FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from palimpsest.session.agent_session import AgentSession
from palimpsest.session.host import SessionHost
from palimpsest.session.manager import SessionManager
from palimpsest.web.app import create_app


async def _no_session(manager: SessionManager) -> AgentSession:
    raise AssertionError(manager)


def main() -> None:
    schema = create_app(SessionHost(_no_session)).openapi()
    Path(sys.argv[1]).write_text(json.dumps(schema, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
