"""Commands that run presets and write the results."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hadamard_tui.commands.command_types import Command, new_group
from hadamard_tui.commands.loading import devices_at, load_to_run, print_error
from hadamard_tui.commands.options import (
    RUNS,
    STANDARD_OUTPUT,
    Ascii,
    ComputedBy,
    Device,
    Fresh,
    NoParts,
    Out,
    Parts,
    Place,
    Settings,
    flag,
)
from hadamard_tui.terminal.standard_streams import Delivery, echo, print_ascii

if TYPE_CHECKING:
    from hadamard_tui.headless.compute import Done

commands = new_group()
command = partial(commands.command, cls=Command)


@command("run")
def run_headless(
    preset: Annotated[str, typer.Argument(metavar="PRESET|FILE", help=RUNS)],
    settings: Settings = None,
    device: Device = None,
    path: ComputedBy = None,
    place: Place = None,
    as_json: Annotated[bool, flag("--json", help="Print only the result, as JSON.")] = False,
    out: Out = None,
    exports: Annotated[
        list[Path] | None,
        typer.Option(
            "--export",
            metavar="FILE",
            help="Also write a file: curves as .csv, .json or .parquet, the chart as .svg, .pdf or .png, an "
            "animation as .gif or .cast, a web page as .html, the set-up as .toml. Repeat --export for "
            "more files.",
        ),
    ] = None,
    bounds: Annotated[
        bool,
        flag(
            "--bounds",
            help="For each theory line, list the learners that it applies to, or why it does not apply.",
        ),
    ] = False,
    notes: Annotated[
        bool,
        flag("--notes", help="Show how the result was computed: backends, and the tried learning rates."),
    ] = False,
    by_replica: Annotated[
        bool,
        flag("--by-replica", help="Include the values of every replica in the JSON of --json and --out."),
    ] = False,
    fresh: Fresh = False,
    detach: Annotated[
        bool,
        flag(
            "--detach", help="Run in a separate process, which outlives this terminal; watch shows the run."
        ),
    ] = False,
    ascii_only: Ascii = False,
    parts: Parts = None,
    no_parts: NoParts = False,
) -> int:
    """Run a preset without the app: print its chart or pictures, the table and the claims.

    Claims are about the preset's own problem, protocol and learners. If --set changes these, claims are not
    judged.

    Exit code 0: done. 1: a claim failed, or a learner diverged or lost accuracy unexpectedly. 2: bad input.
    3: the program failed. 130: stopped by Ctrl-C. 128 + n: stopped by signal n. The results of a stopped run
    are stored.
    """
    from engine.core import files
    from engine.core.parts import BadInput

    if ascii_only:
        print_ascii()
    if out == STANDARD_OUTPUT:
        out, as_json = None, True
    if by_replica and not as_json and out is None:
        raise BadInput("--by-replica", "this needs JSON output: add --json or --out FILE")
    if out is not None:
        files.check(out)
    if exports or out is not None:
        from hadamard_tui.sharing import exporting

        if out is not None and out.suffix.lower() in exporting.KINDS.keys() - {".json"}:
            raise BadInput(
                f"--out {out}", f"this option writes JSON; use --export {out} for a {out.suffix} file"
            )
        for file in exports or ():
            exporting.check(file, "--export")
    from hadamard_tui.headless import console
    from hadamard_tui.state.run_choice import file_of

    preset = file_of(preset)
    devices, set_device = devices_at(place, device)
    document = load_to_run(preset, settings, set_device, path)
    if detach:
        from hadamard_tui.headless import detaching
        from hadamard_tui.state.run_store import needed_store

        needed_store()
        choices_by_option = {"--device": device, "--path": path, "--on": place, "--out": out}
        arguments = [f"{option}={choice}" for option, choice in choices_by_option.items() if choice]
        arguments += [word for setting in settings or () for word in ("--set", setting)]
        arguments += [word for file in exports or () for word in ("--export", str(file))]
        run = detaching.detach([preset, *arguments, *(["--fresh"] if fresh else [])])
        console.output().print(detaching.sentence(run), soft_wrap=True)
        return 0
    from hadamard_tui.headless.compute import computed

    done = computed(preset, document, console.errors(), fresh or by_replica, devices)

    def show() -> None:
        if as_json:
            echo(done.as_json(by_replica), nl=False)
        else:
            from hadamard_tui.headless import summary
            from hadamard_tui.tours import onward

            steps = () if settings else onward(preset)
            summary.show(done, console.output(), settings or (), bounds, notes, steps)

    with Delivery() as delivery:
        delivery.attempt(show)
        if out is not None:
            delivery.attempt(lambda: files.write(out, done.as_json(by_replica)))
        for file in exports or ():
            delivery.attempt(partial(export, file, done))
    return done.exit_code


@command("share")
def share_page(
    preset: Annotated[
        str,
        typer.Argument(metavar="PRESET|FILE|PATH", help=f"{RUNS} Also a guided path or talk."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE.html", help="File of the page; PRESET.html by default."),
    ] = None,
    settings: Settings = None,
    device: Device = None,
    place: Place = None,
    fresh: Fresh = False,
    parts: Parts = None,
    no_parts: NoParts = False,
) -> int:
    """Run a preset and write an HTML page that shows the result: pictures, story, theorems and claims.

    For a guided path, the page shows the question, run and explanation of each stop, and the change that
    breaks its result. The page needs no other file and no network. The exit codes are those of the command
    run.
    """
    from engine.core import files
    from engine.core.journal import SUFFIX
    from engine.core.parts import BadInput
    from engine.spec import presets
    from hadamard_tui.state.run_choice import file_of

    preset = file_of(preset)
    page = Path(f"{presets.name_of(preset)}.html") if out is None else out
    if page.suffix != ".html":
        raise BadInput(f"--out {page}", "this writes an HTML page, so the name must end in .html")
    files.check(page)
    from hadamard_tui.headless import console
    from hadamard_tui.headless.compute import computed
    from hadamard_tui.sharing.file_writer import place_file
    from hadamard_tui.sharing.web_page import web_page
    from hadamard_tui.tours import stops_of, title_of

    if (stops := stops_of(preset)) is not None:
        if settings:
            raise BadInput(
                "--set",
                "the set-ups of a path are fixed; to share a changed set-up, give a preset, not a path",
            )
        from hadamard_tui.headless.pages import shared_path

        devices, device = devices_at(place, device)
        content, exit_code = shared_path(title_of([preset]), stops, console.errors(), device, fresh, devices)
        console.output().print(place_file(page, content))
        return exit_code
    if preset.endswith(SUFFIX) and not settings and not device and not place:
        from hadamard_tui.headless.stored_results import done as stored

        run, done = stored(Path(preset))
        content = web_page(done.results, done.outcomes, run.preset, run.document)
        console.output().print(place_file(page, content))
        return done.exit_code
    devices, device = devices_at(place, device)
    document = load_to_run(preset, settings, device)
    done = computed(preset, document, console.errors(), fresh, devices)
    console.output().print(place_file(page, web_page(done.results, done.outcomes, preset, document)))
    return done.exit_code


@command("report")
def write_report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder for the pages.")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="PRESET|FILE", help="Presets; all by default.")
    ] = None,
    fresh: Fresh = False,
    parts: Parts = None,
    no_parts: NoParts = False,
) -> int:
    """Write a page for each preset, as share does, and an index.

    The exit code is 1 if a claim does not hold, or if a page cannot be made. If a report was stopped, the
    same command continues it. Pages of built-in presets are reused until the program or the preset changes.
    """
    from engine.spec import presets
    from hadamard_tui.headless import console
    from hadamard_tui.headless.pages import report

    failed, chosen, errors = False, names or presets.names(), console.errors()
    for number, reported in enumerate(report(folder, chosen, errors, fresh), start=1):
        failed |= not reported.holds
        where = f"{number} of {len(chosen)}  {reported.preset}"
        console.output().print(f"{where}: {reported.in_words}", soft_wrap=True)
    return int(failed)


def export(file: Path, done: Done) -> None:
    from hadamard_tui.headless import console
    from hadamard_tui.sharing import exporting

    if done.has_pictures:
        shown = exporting.first_picture(done.document, done.results, done.outcomes)
    else:
        shown = exporting.finished(done.experiment, done.trace, done.document, done.outcomes)
    with console.progress(console.errors()) as show:
        show(f"writing {file}", 0.0)
        exporting.export(file, shown, "--export", partial(show, f"writing {file}"))
    if note := exporting.missing_letters(file, shown):
        print_error(note)
