"""What more processes bring to the replay of a corpus, and how large the results are on the way.

One and two processes take turns over the same files in one run, starting them included. A shared
machine lends fewer cores than it has, so processor time stands beside the clock: what the parent
does alone bounds how far more processes can help.
"""

from __future__ import annotations

import json
import os
import pickle
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from palimpsest.lab.places import Here, Place, Processes
from palimpsest.lab.replay import replay
from palimpsest.lab.results import SessionReplay
from palimpsest.lab.stream import StreamSettings, replay_files
from palimpsest.transcripts.read import FoundPath, read_recordings

FILES = 300
STEPS = 60
ROUNDS = 3


def session(number: int) -> str:
    """An agent that reads a file of 2 KB a step."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read all of it."}]
    for step in range(STEPS):
        path = f"src/part_{number}_{step}.py"
        function = {"name": "read", "arguments": json.dumps({"path": path})}
        call = {"id": f"c{step}", "type": "function", "function": function}
        text = f"def helper_{number}_{step}(request): return render_{step}(request)\n" * 30
        messages += [
            {"role": "assistant", "content": "I read it.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": text},
        ]
    messages.append({"role": "assistant", "content": "Done."})
    return json.dumps({"model": "m", "messages": messages})


class Spent(NamedTuple):
    """Seconds: of the clock, of this process, of those it started."""

    wall: float
    own: float
    others: float


def spent(files: list[FoundPath], place: Place) -> Spent:
    started, before = time.perf_counter(), os.times()
    sessions = replay_files(
        files,
        StreamSettings(place=place),
        keep=SessionReplay.figures,
        on_skipped=print,
        on_file=lambda _: None,
    )
    assert sum(1 for _ in sessions) == len(files)
    after = os.times()
    return Spent(
        wall=time.perf_counter() - started,
        own=after.user + after.system - before.user - before.system,
        others=after.children_user
        + after.children_system
        - before.children_user
        - before.children_system,
    )


def kilobytes(session: SessionReplay, keep: Callable[[SessionReplay], object]) -> float:
    return len(pickle.dumps([keep(session)])) / 1000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = [FoundPath(Path(folder, f"{number}.json"), named=True) for number in range(FILES)]
        for number, found in enumerate(files):
            found.path.write_text(session(number))
        ratios: list[float] = []
        print(f"{FILES} sessions, processor time in seconds")
        for _ in range(ROUNDS):
            one, two = spent(files, Here()), spent(files, Processes(jobs=2))
            ratios.append(one.wall / two.wall)
            print(
                f"here {one.own:.1f}; two processes {two.others:.1f}, their parent {two.own:.1f}; "
                f"by the clock {one.wall:.1f} and {two.wall:.1f}",
                flush=True,
            )
        print(f"by the clock two processes are {statistics.median(ratios):.2f} × as fast (median)")
        [recording] = read_recordings(files[0].path)
        found = replay(recording)
        whole, figures = kilobytes(found, lambda one: one), kilobytes(found, SessionReplay.figures)
        print(
            f"a result on the way: {figures:.1f} KB of figures; {whole:.1f} KB with every request"
        )


if __name__ == "__main__":
    main()
