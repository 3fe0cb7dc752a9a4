from __future__ import annotations

from typing import Any, get_args

import pytest

from palimpsest.cli.chat.lines import (
    COMMANDS,
    Command,
    CommandName,
    Nothing,
    Prompt,
    UnknownCommand,
    interrupt,
    parse_answer,
    parse_line,
    refusal,
)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("", Nothing()),
        (" \n ", Nothing()),
        ("Why?", Prompt(text="Why?")),
        ("  two\nlines  ", Prompt(text="two\nlines")),
        ("/usr/bin/x crashes", Prompt(text="/usr/bin/x crashes")),
        ("/Compact", Prompt(text="/Compact")),
        ("/", Prompt(text="/")),
        ("//usr", Prompt(text="/usr")),
        ("//compact now", Prompt(text="/compact now")),
        ("Explain /compact", Prompt(text="Explain /compact")),
        ("/compact", Command(name="compact", argument="")),
        ("/compact  the tests ", Command(name="compact", argument="the tests")),
        ("/compact two\nlines", Command(name="compact", argument="two\nlines")),
        (" /restore none outputs", Command(name="restore", argument="none outputs")),
        ("/compcat", UnknownCommand(word="compcat", suggestion="compact")),
        ("/xyzzy please", UnknownCommand(word="xyzzy", suggestion="")),
    ],
)
def test_a_line_means(typed: str, meant: object) -> None:
    assert parse_line(typed) == meant


def test_an_unknown_command_says_what_to_do() -> None:
    assert str(parse_line("/compcat")) == (
        "There is no command /compcat; did you mean /compact? A leading // sends a slash."
    )
    assert "/help lists them all" in str(parse_line("/xyzzy"))


def test_every_command_is_listed_once() -> None:
    assert sorted(COMMANDS) == sorted(get_args(CommandName))


ACTING = {"abort", "approve", "reject", "context", "history", "receipt", "help", "quit"}


@pytest.mark.parametrize("name", get_args(CommandName))
def test_what_acts_while_busy(name: CommandName) -> None:
    command = Command(name=name, argument="")
    assert refusal(command, operation=None) == ""
    said = refusal(command, operation="prompt")
    assert (said == "") == (name in ACTING)
    assert said == "" or said.startswith(f"/{name} has to wait: the session is busy (prompt)")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", "once"),
        (" Yes ", "once"),
        ("s", "session"),
        ("session", "session"),
        ("n", "no"),
        ("NO", "no"),
        ("", None),
        ("yes please", None),
        ("/approve", None),
    ],
)
def test_an_answer(typed: str, answer: str | None) -> None:
    assert parse_answer(typed) == answer


@pytest.mark.parametrize(
    ("situation", "decided"),
    [
        ({"busy": True}, "abort"),
        ({"busy": True, "pending": True, "draft": True}, "abort"),
        ({"pending": True}, "refuse"),
        ({"pending": True, "since_refusal_s": 3.1}, "refuse"),
        ({"pending": True, "since_refusal_s": 3.0}, "give_up"),
        ({"draft": True}, "clear"),
        ({}, "exit"),
        ({"since_refusal_s": 1.0}, "exit"),
    ],
)
def test_ctrl_c(situation: dict[str, Any], decided: str) -> None:
    asked: dict[str, Any] = {"busy": False, "pending": False, "draft": False}
    assert interrupt(**{**asked, "since_refusal_s": None, **situation}) == decided
