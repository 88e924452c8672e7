"""Commands that list presets and parts, and that write and check the user's own parts."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hadamard_tui import NAME
from hadamard_tui.commands.command_types import Command, new_group
from hadamard_tui.commands.loading import print_error
from hadamard_tui.commands.options import NoParts, Parts

commands = new_group()
command = partial(commands.command, cls=Command)


@command("presets")
def list_presets(parts: Parts = None, no_parts: NoParts = False) -> None:
    """List the presets."""
    from hadamard_tui.headless import console, listing

    console.output().print(listing.presets_table())


parts_app = new_group()
commands.add_typer(
    parts_app, name="parts", help="List the parts of experiments, write parts of your own, and check them."
)
part_command = partial(parts_app.command, cls=Command)

Family = Annotated[
    str | None,
    typer.Argument(
        metavar="FAMILY",
        help="matrices, targets, architectures, updates, solvers, losses, protocols, measures, theory "
        "or claims.",
    ),
]


@part_command("list")
def list_parts(family: Family = None, parts: Parts = None, no_parts: NoParts = False) -> None:
    """List the parts of a family with their fields; without FAMILY, list the families.

    In presets, a number may be an expression such as 1/(2d). Its names are d (entries of an instance), n
    (instances) and m (targets).
    """
    from engine.spec.upgrade import sentence
    from hadamard_tui.headless import console, listing

    if family in listing.FORMER:
        print_error(sentence("list", {family: listing.FORMER[family]}))
    console.output().print(listing.families_table() if family is None else listing.members_list(family))


@command("list", hidden=True)
def list_parts_by_former_name(family: Family = None, parts: Parts = None, no_parts: NoParts = False) -> None:
    """List parts. This is the former name of the command parts list."""
    from engine.core.texts import message

    print_error(
        f"the command list is now called parts list: {NAME} parts list {message(family or '')}".rstrip()
    )
    list_parts(family)


@part_command("new")
def new_part(
    family: Annotated[
        str,
        typer.Argument(
            metavar="FAMILY",
            help="update, architecture, solver, loss, matrix, target, measure, protocol, panel, or line "
            "(a theory line).",
        ),
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE.py", help="File to write, such as my_rule.py.")],
) -> None:
    """Write a complete example of a part to a new file. Change it to make a part of your own.

    The name of the file gives the part its name in presets: my_rule.py defines the kind my-rule.
    """
    from hadamard_tui.headless import console, part_files

    kind = part_files.write_new(family, file)
    console.output().print(
        f"{file} defines the kind {kind}.\n"
        f"{NAME} parts check {file}  checks it, and\n"
        f"{NAME} --parts {file}  opens the app with it.",
        soft_wrap=True,
    )


@part_command("check")
def check_parts(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE.py", help="Python files of parts, which are executed.")
    ],
) -> int:
    """Check the parts in files on small experiments, as the program's own parts are tested.

    Each part must have a docstring and run. A second run with the same seed must have equal results. If
    replicas run one by one, or if the run uses float32, results may differ only by rounding errors. The part
    must agree with its naive twin, a simple function for comparison, if the file has one. It must have the
    symmetries that it declares. With random settings, it must run or refuse them. The exit code is 1 if a
    check fails.
    """
    from engine.core.outside import outside
    from engine.core.parts import BadInput
    from hadamard_tui.headless import console, part_checks, part_files

    outside.only_requested()
    outside.request(files)
    checked = list(part_checks.check_modules(outside.modules()))
    if not checked:
        raise BadInput(str(files[0]), "this file defines no part that can be checked")
    console.output().print(part_files.report(checked))
    return int(any(check.holds is False for part in checked for check in part.checks))
