"""A server of the Model Context Protocol with two tools, run as a program by tests."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = [
    {"name": "double", "description": "Double a number.", "inputSchema": NUMBER},
    {"name": "die", "description": "End the server.", "inputSchema": {"type": "object"}},
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "numbers", "version": "1"},
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call" if params["name"] == "die":
            os._exit(3)
        case "tools/call":
            doubled = 2 * params["arguments"]["n"]
            text = f"{doubled} from {os.getpid()} with {os.environ.get('NUMBERS_KEY', 'no key')}"
            return {"content": [{"type": "text", "text": text}]}
        case _:
            return None


def respond(message: dict[str, Any]) -> dict[str, Any]:
    result = answer(message["method"], message.get("params", {}))
    outcome = (
        {"error": {"code": -32601, "message": "no such method"}}
        if result is None
        else {"result": result}
    )
    return {"jsonrpc": "2.0", "id": message["id"], **outcome}


if __name__ == "__main__":
    sys.stderr.write("numbers are ready\n")
    sys.stderr.flush()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            sys.stdout.write(json.dumps(respond(message)) + "\n")
            sys.stdout.flush()
