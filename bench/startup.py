"""How long it takes before anything happens: the import, and the command's help."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 15


def _median_ms(*arguments: str) -> float:
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def main() -> None:
    bare = _median_ms("-c", "pass")
    print(f"{'the interpreter alone':<32}{bare:>7.0f} ms")
    for label, arguments, limit in (
        ("import palimpsest", ("-c", "import palimpsest"), 100),
        ("palimpsest --help", ("-m", "palimpsest", "--help"), 250),
    ):
        print(f"{label:<32}{_median_ms(*arguments):>7.0f} ms   (target {limit} ms or less)")


if __name__ == "__main__":
    main()
