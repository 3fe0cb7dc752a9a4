from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.rules import user_rules


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("Fix it. Never touch src/x.py! Thanks.", ("Never touch src/x.py!",)),
        ("- always use tabs\n* nothing here\n# only in tests", ("always use tabs",
                                                              "only in tests")),
        ("Please don’t push. don't push.", ("Please don’t push.", "don't push.")),
        ("Ändere die Tests nicht. Danke.", ("Ändere die Tests nicht.",)),
        ("Benutze niemals sudo, bitte!", ("Benutze niemals sudo, bitte!",)),
        ("请不要修改测试。谢谢！必须用中文", ("请不要修改测试。", "必须用中文")),
        ("N'utilise jamais sudo. Bien.", ("N'utilise jamais sudo.",)),
        ("Commonly, nobody must.\nmustard", ("Commonly, nobody must.",)),
        ("Look:\n```\nnever = 1\n```\nonly this", ("only this",)),
        ("~~~\nnever closed", ()),
        ("never " + "x" * 500, ()),
        ("x" * 20_000 + "\nnever seen", ()),
        ("Must I? 必须吗？ I don't know. I don't mind, but never ask.",
         ("I don't mind, but never ask.",)),
        ("never. never.", ("never.",)),
        ("", ()),
    ],
)  # fmt: skip
def test_user_rules(text: str, rules: tuple[str, ...]) -> None:
    assert user_rules(text) == rules


@given(st.lists(st.sampled_from(["never", "必须", ".", "。", " ", "\n", "x/y.py", "- ", "```"])))
def test_rules_are_words_of_the_user(parts: list[str]) -> None:
    text = "".join(parts)
    for rule in user_rules(text):
        assert rule in text
        assert "\n" not in rule
