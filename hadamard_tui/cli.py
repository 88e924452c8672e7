"""Command line of the program. Without a command, it opens the app."""

from __future__ import annotations

import errno
import gc
import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from hadamard_tui import NAME
from hadamard_tui.commands import (
    diagnosis_command,
    judging,
    opening,
    part_commands,
    printing,
    run_commands,
    running,
    theory_command,
)
from hadamard_tui.commands.command_types import CommandGroup, documented_functions, new_group
from hadamard_tui.commands.loading import DEFAULT_PRESET, devices_at, load, need_terminal
from hadamard_tui.commands.options import (
    Ascii,
    Device,
    NoParts,
    Parts,
    Place,
    Settings,
    Theme,
    configured_parts,
    flag,
)
from hadamard_tui.headless import exit_codes
from hadamard_tui.terminal.signals import Terminated, exit_code
from hadamard_tui.terminal.standard_streams import ReaderGone, discard, prepare
from hadamard_tui.terminal.standard_streams import printing as flushing

if TYPE_CHECKING:
    from engine.spec.reading import Raw

GARBAGE, TIMES = 50_000, 1
"""Thresholds of Python's garbage collector. They let every fourth collection examine all objects.

Textual creates about ten dictionaries per screen row of every frame. With Python's default threshold of 700
objects, collections take a tenth of the loading time, and a quarter of the time to handle a key. By default,
Python collects older objects only after 10 collections of young objects. The garbage of two thousand runs
would then pile up before any of it is freed.
"""


app = new_group(CommandGroup)
"""Group of all commands. Its options, without a command, are those of the app."""

all_commands = new_group()
for subject in (
    running,
    run_commands,
    judging,
    diagnosis_command,
    part_commands,
    theory_command,
    opening,
    printing,
):
    all_commands.add_typer(subject.commands)


def _print_version(wanted: bool) -> None:
    if wanted:
        from engine import __version__

        typer.echo(f"{NAME} {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def laboratory(
    context: typer.Context,
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help=f"The preset to open; {DEFAULT_PRESET} if none is given."),
    ] = None,
    run: Annotated[bool, flag("--run", help="Start the run at once.")] = False,
    settings: Settings = None,
    device: Device = None,
    place: Place = None,
    reset: Annotated[bool, flag("--reset", help="Start fresh: ignore the saved set-up and view.")] = False,
    theme: Theme = None,
    ascii_only: Ascii = False,
    parts: Parts = None,
    no_parts: NoParts = False,
    view: Annotated[
        list[str] | None,
        typer.Option(
            "--view",
            metavar="PLACE=VALUE",
            help="Set one value of the view: --view panel=svd or --view chart.y_log=true. "
            "Repeat --view for more values.",
        ),
    ] = None,
    version: Annotated[
        bool,
        flag("--version", callback=_print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> int:
    """Watch learning algorithms train in your terminal, against the lower bounds that theory proves for them.

    Without a command, it opens the app.
    """
    from engine.core.outside import outside

    outside.configure(configured_parts)
    if context.invoked_subcommand is not None:
        if any((preset, run, settings, device, place, reset, theme, ascii_only, view)):
            from engine.core.parts import BadInput

            where = context.invoked_subcommand
            raise BadInput("", f"the options stand before the command {where}; put them after {where}")
        return 0
    need_terminal(preset or DEFAULT_PRESET)
    gc.disable()  # until the first paint, before which nearly no object becomes garbage
    try:
        from hadamard_tui.state.launch import begin

        devices, set_device = devices_at(place, device)
        wanted: Raw | None = None
        answers: list[str] = []
        if preset or settings or device:
            preset = preset or DEFAULT_PRESET
            wanted = load(preset, settings, set_device, answer=answers.append)
        start = begin(wanted, preset or DEFAULT_PRESET, run, reset, theme, ascii_only, view or (), answers)
        start = replace(start, devices=devices)
        from hadamard_tui.app import open_app

        return open_app(start)
    finally:
        gc.enable()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code. Bad input prints one line on stderr and returns 2."""
    gc.set_threshold(GARBAGE, TIMES, TIMES)
    prepare()
    from engine.core.parts import BadInput, restore

    for function in (*documented_functions(app), *documented_functions(all_commands)):
        restore(function)  # typer prints the docstrings as help

    try:
        code = _command_line().main(arguments, prog_name=NAME, standalone_mode=False)
        with flushing():
            pass  # flush now, so that errors of writing the buffer are caught here
    except BadInput as error:
        return exit_codes.refused(str(error))
    except TyperException as error:
        return exit_codes.refused(exit_codes.usage(error))
    except (ReaderGone, SystemExit):  # SystemExit: the program that reads the help has ended
        return 0
    except KeyboardInterrupt:
        code = exit_codes.STOPPED
    except Terminated as ending:
        exit_codes.stop(exit_code(ending.number), signal.Signals(ending.number).name)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            return _exit_code_of(error)
        discard()
        return exit_codes.refused(
            f"standard output: cannot be written: {error.strerror}"
        )  # raised while typer printed help
    except Exception as error:
        return _exit_code_of(error)
    if code == exit_codes.STOPPED:
        exit_codes.stop()
    return code or 0


def _command_line() -> TyperGroup:
    """Return the group of all commands.

    The commands are created when a command is first looked up, because their creation takes 50 ms.
    """
    group = typer.main.get_group(app)
    assert isinstance(group, CommandGroup)
    group.make_commands = lambda: typer.main.get_group(all_commands).commands
    return group


def _exit_code_of(error: Exception) -> int:
    from engine.core.outside import outside

    refusal = outside.refusal(error)
    return exit_codes.broken(error) if refusal is None else exit_codes.refused(str(refusal))
