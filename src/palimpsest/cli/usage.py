"""Help and usage errors in plain words: names instead of types, sentences instead of checks."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails
    from typer._click import Context, HelpFormatter

_RANGE = re.compile(r"(\d+)<=x<=(\d+)")
_LEAST = re.compile(r"x>=(\d+)")


class PlainCommand(TyperCommand):
    """A command whose help names its arguments and the bounds of its options in words."""

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        """Give the words of the usage line: ``[OPTIONS] SESSION``, ``[OPTIONS] [FILE…]``."""
        arguments = [item for item in self.get_params(ctx) if isinstance(item, TyperArgument)]
        names = [
            item.display_name_raw if item.required else f"[{item.display_name_raw}]"
            for item in arguments
        ]
        return ["[OPTIONS]", *names]

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write what stands behind the arguments and options."""
        arguments: list[tuple[str, str]] = []
        options: list[tuple[str, str]] = []
        for item in self.get_params(ctx):
            if isinstance(item, TyperArgument):
                arguments.append((item.display_name_raw, item.help or ""))
            elif record := item.get_help_record(ctx):
                options.append((record[0], _in_words(record[1])))
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class PlainGroup(TyperGroup):
    """A group of such commands that words the usage errors of all of them."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Context | None = None, **extra: object
    ) -> Context:
        """Parse the group's own options."""
        with _plainly():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Context) -> object:
        """Parse the command's own options, and run it."""
        with _plainly():
            return super().invoke(ctx)

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write what stands behind the options, and the commands."""
        options = [record for item in self.get_params(ctx) if (record := item.get_help_record(ctx))]
        with formatter.section("Options"):
            formatter.write_dl([(name, _in_words(words)) for name, words in options])
        self.format_commands(ctx, formatter)


def _in_words(words: str) -> str:
    return _LEAST.sub(r"\1 or more", _RANGE.sub(r"\1 to \2", words))


@contextmanager
def _plainly() -> Generator[None]:
    """Word an error that Typer found in what was typed; its own words are those of a checker."""
    try:
        yield
    except typer.BadParameter as error:
        from pydantic import ValidationError

        if isinstance(error.__cause__, ValidationError):
            error.message = _sentence(error.__cause__.errors(include_url=False)[0])
        elif isinstance(error.param, TyperArgument) and not error.message:
            error.message = error.param.help or ""
        raise


def _sentence(problem: ErrorDetails) -> str:
    bounds: Mapping[str, Any] = problem.get("ctx", {})
    given = problem["input"]
    match problem["type"]:
        case "int_parsing" | "int_from_float" | "int_parsing_size":
            return f"{given!r} is no whole number."
        case "greater_than_equal":
            return f"{given} is too small; it must be {bounds['ge']:,} or more."
        case "less_than_equal":
            return f"{given} is too large; it must be {bounds['le']:,} or less."
        case _:
            return problem["msg"].removeprefix("Value error, ")
