"""Commands that open the app: on a path or a talk, on a stored run, and in a browser."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hadamard_tui.commands.command_types import Command, new_group
from hadamard_tui.commands.loading import DEFAULT_PRESET, load, need_terminal
from hadamard_tui.commands.options import Ascii, NoParts, Parts, Theme, flag

commands = new_group()
command = partial(commands.command, cls=Command)


@command("demo")
def open_demo(
    stops: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH|TALK|PRESET|FILE.toml",
            help="Guided path, talk or preset to open; without one, list all paths and talks.",
        ),
    ] = None,
    script: Annotated[bool, flag("--script", help="Play the path in a loop, without key presses.")] = False,
    sheet: Annotated[
        Path | None,
        typer.Option(
            "--sheet",
            metavar="FILE.html",
            help="Do not open the app, but write a sheet of questions for students. A separate page has the "
            "answers from real runs.",
        ),
    ] = None,
    theme: Theme = None,
    ascii_only: Ascii = False,
    parts: Parts = None,
    no_parts: NoParts = False,
) -> int:
    """Follow a guided path, or give a talk. Without a name, list the paths and talks.

    At each stop, a path asks for a prediction, runs a preset, and explains the result. The key B runs the
    preset with one change that breaks this result. Page down or > goes to the next stop, page up or < to the
    previous one. The full stop key blanks the screen. Backspace shows the preset of the stop again, without
    changes.
    """
    if not stops and not script and sheet is None:
        from hadamard_tui.headless import console, listing

        console.output().print(listing.talks_table())
        return 0
    stops = stops or []
    if sheet is not None:
        _write_sheet(stops, sheet)
        return 0
    need_terminal(DEFAULT_PRESET)
    from hadamard_tui.state.launch import begin_tour

    start = begin_tour(stops, script, theme, ascii_only)
    from hadamard_tui.app import open_app

    return open_app(start)


@command("watch")
def watch_run(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="A run: @last, @NAME, the file of the run, or a copy of this file."
        ),
    ] = "@last",
    theme: Theme = None,
    ascii_only: Ascii = False,
    parts: Parts = None,
    no_parts: NoParts = False,
) -> int:
    """Open the app on a run that another process computes, or that has ended.

    The app is at most a second behind the run, and computes nothing itself. The command "runs open" does the
    same as "watch".
    """
    need_terminal(DEFAULT_PRESET)
    from dataclasses import replace

    from hadamard_tui.state.launch import begin
    from hadamard_tui.state.run_choice import single

    path = Path(single(run).path)
    start = begin(None, DEFAULT_PRESET, False, True, theme, ascii_only)
    from hadamard_tui.app import open_app

    return open_app(replace(start, watched=path))


@command("serve")
def serve_app(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 8000,
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="The preset to open; without one, the welcome page."),
    ] = None,
    viewers: Annotated[
        int,
        typer.Option(min=1, max=100, help="Maximum number of simultaneous viewers; each takes about 300 MB."),
    ] = 8,
    parts: Parts = None,
) -> None:
    """Open the app in a browser on this machine; every viewer has a separate engine.

    The printed address is secret: everybody who knows it can use the app. Append ?preset=NAME to open that
    preset. Parts from the configuration file and from installed packages are not loaded.
    """
    from engine.core.outside import outside
    from engine.core.parts import BadInput

    if outside.requested:
        raise BadInput(
            "--parts",
            "serve loads no parts from files, because other people can use the app; leave --parts out",
        )
    outside.only_requested()
    if preset is not None:
        load(preset, None, None)
    from hadamard_tui.serving.server import serve

    serve(port, preset, viewers)


def _write_sheet(stops: list[str], file: Path) -> None:
    from engine.core import files
    from hadamard_tui.headless import console
    from hadamard_tui.headless.pages import sheet
    from hadamard_tui.tours import stops_to, title_of

    files.check(file, "--sheet")
    questions = stops_to(stops)
    files.write(file, sheet(title_of(stops), questions, console.errors()).encode(), "--sheet")
    console.output().print(f"{file}: {len(questions)} questions and their answers")
