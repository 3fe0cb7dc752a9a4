from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SAMPLE = REPOSITORY / "src/palimpsest/lab/samples/inventory.json"


def test_the_packaged_sample_is_what_the_script_plays(tmp_path: Path) -> None:
    made = tmp_path / "sample.json"
    subprocess.run(
        [sys.executable, str(REPOSITORY / "tools/make_sample.py"), str(made)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert made.read_bytes() == SAMPLE.read_bytes()


def test_the_sample_is_a_whole_session_that_ends_well() -> None:
    recording = json.loads(SAMPLE.read_text(encoding="utf-8"))
    messages = recording["messages"]
    calls = {call["id"]: call for message in messages for call in message.get("tool_calls", ())}
    results = {
        message["tool_call_id"]: message["content"]
        for message in messages
        if message["role"] == "tool"
    }
    assert list(calls) == list(results)
    assert len(calls) > 120
    assert sum(message["role"] == "user" for message in messages) == 8
    assert set(recording) == {"model", "tools", "messages"}
    declared = {tool["function"]["name"] for tool in recording["tools"]}
    assert {call["function"]["name"] for call in calls.values()} == declared

    runs = [
        results[call_id]
        for call_id, call in calls.items()
        if json.loads(call["function"]["arguments"]).get("command") == "python -m unittest -v"
    ]
    assert runs[-1].startswith("exit status 0\n")
    assert runs[-1].endswith("\nOK")
