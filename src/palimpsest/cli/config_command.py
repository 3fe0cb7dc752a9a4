"""``palimpsest config``: what is configured, and where it comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from palimpsest.cli.usage import PlainCommand, PlainGroup

EXAMPLES = """\b
Examples:
  palimpsest config
  palimpsest config set model anthropic:claude-sonnet-4-5
  palimpsest config unset model
"""

app = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode=None,
    help="Show or change what new sessions begin with.",
    epilog=EXAMPLES,
    invoke_without_command=True,
)


@app.callback()
def config(context: typer.Context) -> None:
    """Show or change what new sessions begin with."""
    if context.invoked_subcommand is not None:
        return
    import os

    from palimpsest.cli.config import KEYS, config_path, read_config
    from palimpsest.session.create import MODEL_VARIABLE
    from palimpsest.session.places import data_directory

    found = read_config()
    typer.echo(f"data    {data_directory()}")
    typer.echo(f"config  {config_path()}")
    for key, meaning in KEYS.items():
        value = getattr(found, key)
        source = "config" if value else "not set"
        if key == "model" and (named := os.environ.get(MODEL_VARIABLE)):
            value, source = named, MODEL_VARIABLE
        typer.echo(f"{key} = {value or '—'}  ({source}: {meaning})")


@app.command("set", cls=PlainCommand, epilog=EXAMPLES)
def set_one(
    key: Annotated[str, typer.Argument(metavar="KEY", help="model, window or permission_preset.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The new value.")],
) -> None:
    """Set one value; the rest of the file stays as it is."""
    from palimpsest.cli.config import config_path, missing_for, write_setting

    write_setting(key, value)
    typer.echo(f"{key} = {value}  ({config_path()})")
    if key == "model" and (missing := missing_for(value)):
        typer.echo(f"Still to be done: {missing}")


@app.command(cls=PlainCommand, epilog=EXAMPLES)
def unset(
    key: Annotated[str, typer.Argument(metavar="KEY", help="model, window or permission_preset.")],
) -> None:
    """Remove one value."""
    from palimpsest.cli.config import config_path, remove_setting

    remove_setting(key)
    typer.echo(f"{key} is not set  ({config_path()})")
