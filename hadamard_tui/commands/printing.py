"""Commands that print the configuration and the schema."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated

from hadamard_tui.commands.command_types import Command, new_group
from hadamard_tui.commands.options import NoParts, Parts, flag
from hadamard_tui.terminal.standard_streams import echo

commands = new_group()
command = partial(commands.command, cls=Command)


@command("config")
def print_config(
    path: Annotated[bool, flag("--path", help="Print the path of the configuration file.")] = False,
    default: Annotated[
        bool,
        flag("--default", help="Print a template of the configuration file, with every line commented out."),
    ] = False,
) -> None:
    """Print the path or a template of the configuration file."""
    from engine.core import files
    from engine.core.parts import BadInput
    from hadamard_tui.state import config

    if path == default:
        raise BadInput(
            "config", "give --path or --default; hadamard-tui config --default > FILE writes a template"
        )
    with files.faults("config --path", "the path of the configuration file is unknown"):
        text = str(config.path()) if path else config.default_text()
    echo(text, nl=path)


@command("schema")
def print_schema(parts: Parts = None, no_parts: NoParts = False) -> None:
    """Print the JSON Schema of preset files."""
    from engine.spec.documents import preset_schema

    echo(json.dumps(preset_schema(), indent=2, ensure_ascii=False).encode())
