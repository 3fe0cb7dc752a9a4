"""Runs the benchmarks of this folder and puts what they print into a page: ``page.py FILE``.

What ``NAME.py`` prints goes between the lines ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TABLES = ("compare",)
TEXTS = ("preflight", "session", "readers", "corpus", "startup")


def printed(name: str) -> str:
    """Run one benchmark."""
    print(f"== {name}", file=sys.stderr)
    script = Path(__file__).with_name(f"{name}.py")
    done = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def filled(text: str, name: str, shown: str) -> str:
    """Give a page's text with one part in the place of what stood there."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}\n\n{shown}\n\n{end}{after}"


def check(text: str) -> None:
    """See before all measuring that every benchmark has its place.

    Raises:
        SystemExit: naming what has none.
    """
    there = {path.stem for path in Path(__file__).parent.glob("*.py")} - {"page"}
    if there != {*TABLES, *TEXTS}:
        raise SystemExit(f"page.py does not know {there ^ {*TABLES, *TEXTS}}")
    for name in there:
        if text.count(f"<!-- {name}: begin -->") != 1 or text.count(f"<!-- {name}: end -->") != 1:
            raise SystemExit(f"the page has no place for {name}")


def main() -> None:
    page = Path(sys.argv[1])
    check(page.read_text("utf-8"))
    for name in TABLES + TEXTS:
        output = printed(name)
        shown = output if name in TABLES else f"```text\n{output}\n```"
        page.write_text(filled(page.read_text("utf-8"), name, shown), "utf-8")


if __name__ == "__main__":
    main()
