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
            help="Section such as hadamard#bounds, its last part alone, a whole page such as hadamard, or a "
            "citation such as theory/hadamard#bounds.",
        ),
    ] = None,
) -> None:
    """Print a section of the theory pages; without SECTION, list all sections.

    A section has a statement with its conditions, says who is bound and why, gives the idea of the proof, and
    shows the stored charts of its presets with the claims that a run measured.
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
