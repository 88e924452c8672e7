"""Commands that print the theory pages."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from hadamard_tui.commands.command_types import Command, new_group

commands = new_group()
command = partial(commands.command, cls=Command)


@command("theory")
def print_theory(
    section: Annotated[
        str | None,
        typer.Argument(
            metavar="SECTION",
            help="Section such as hadamard#bounds or just bounds, whole page such as hadamard, or citation "
            "such as theory/hadamard#bounds.",
        ),
    ] = None,
) -> None:
    """Print a section of the theory pages; without SECTION, list all sections.

    A section states a theorem with its conditions, says which learners it applies to and why, and gives the
    idea of the proof. It shows stored charts of presets, and claims that were checked in their runs.
    """
    from engine.spec import theory_pages
    from hadamard_tui.browsing import theory_text
    from hadamard_tui.headless import console

    output = console.output()
    if section is None:
        output.print(theory_text.contents())
        return
    for part in theory_pages.named(section):
        output.print(*theory_text.section_parts(part, not output.no_color))
