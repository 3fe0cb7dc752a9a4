from __future__ import annotations

from palimpsest.transcripts.history import Built, named_apart
from tests.lab.recordings import recording


def test_a_repeated_id_gets_a_suffix_that_no_other_has() -> None:
    names = ["a", "a", "a~2", "a", "b"]
    found = [Built(recording=recording(session_id=name), origins=[]) for name in names]
    for _ in range(2):
        named_apart(found)
        told = [built.recording.session_id for built in found]
        assert told == ["a", "a~2", "a~2~2", "a~3", "b"]
