from __future__ import annotations

from palimpsest.core.placeholder import PRUNE_PLACEHOLDER, content_aware_placeholder


def test_the_placeholder_names_tool_target_size_and_ten_atoms_at_most() -> None:
    names = [f"name_{number}" for number in range(12)]
    text = content_aware_placeholder("Read", "src/a.py\n  b", 1234, names)
    assert text == (
        "[Old tool result content cleared: Read src/a.py b, 1,234 tokens; only here: "
        "name_0 name_1 name_2 name_3 name_4 name_5 name_6 name_7 name_8 name_9]"
    )
    assert text.startswith(PRUNE_PLACEHOLDER[:-1])


def test_what_is_unknown_is_left_out() -> None:
    assert content_aware_placeholder("Read", "", 0, ()) == (
        "[Old tool result content cleared: Read, 0 tokens]"
    )
