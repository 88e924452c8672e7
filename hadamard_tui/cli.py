"""Command line. Commands import heavy modules themselves, so that start-up is instant."""

from __future__ import annotations

import errno
import gc
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from hadamard_tui import NAME
from hadamard_tui.headless import exit_codes
from hadamard_tui.terminal.standard_streams import (
    Delivery,
    ReaderGone,
    discard,
    echo,
    prepare,
    print_ascii,
    printing,
)

if TYPE_CHECKING:
    from engine.spec.reading import Raw
    from hadamard_tui.headless.compute import Done

DEFAULT_PRESET = "hadamard-128"

STANDARD_OUTPUT = Path("-")
"""File name that stands for standard output."""

GARBAGE, TIMES = 50_000, 1
"""Settings of the garbage collector; every fourth collection examines all objects.

Textual creates about ten dictionaries per line of every frame. With Python's own 700, collections take a
tenth of the loading time, and a quarter of the time of keys. With Python's own 10 young collections per older
one, the remains of two thousand runs would pile up before the first is freed.
"""


class _PlainHelp:
    """Command with plain help: no <bool> after --help, and paragraphs that fill their lines."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.help: str | None = "\n\n".join(
            " ".join(paragraph.split()) for paragraph in (self.help or "").split("\n\n")
        )

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = ""
        return option


class _Command(_PlainHelp, TyperCommand):
    """Single command."""


class _Group(_PlainHelp, TyperGroup):
    """Group of commands about one subject."""


class CommandGroup(_Group):
    """Group of the commands. A preset in place of a command is refused with the two commands that take it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:
            _refuse_preset(args[0])
        return super().resolve_command(ctx, args)


def _flag(option: str, help: str, **more: Any) -> Any:
    """Return an option without a value, and without typer's <bool> in the help."""
    return typer.Option(option, metavar="", help=help, **more)


HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(cls=CommandGroup, add_completion=False, context_settings=HELP)
command = partial(app.command, cls=_Command)

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PLACE=VALUE",
        help="Change one value: --set problem.matrix.d=256 or --set 'learners.GD.update.lr=1/(4d)'. "
        "Repeat --set for more values.",
    ),
]
Device = Annotated[
    str | None,
    typer.Option("--device", metavar="DEVICE", help="Device (run.device): auto, cpu, cuda or cuda:1."),
]

RUNS = "Preset name, preset file (.toml), or result (.json), which holds its experiment."
Fresh = Annotated[
    bool, _flag("--fresh", help="Compute every point anew: use no point stored by an earlier run.")
]


def _request_parts(files: list[Path] | None) -> None:
    if files:
        from engine.core.outside import outside

        outside.request(files)


def _only_requested_parts(wanted: bool) -> None:
    if wanted:
        from engine.core.outside import outside

        outside.only_requested()


def _configured_parts() -> list[Path]:
    from hadamard_tui.state import config

    return config.files_of_parts()


Parts = Annotated[
    list[Path] | None,
    typer.Option(
        "--parts",
        metavar="FILE.py",
        help="Load parts of your own from a Python file, which this runs. Repeat --parts for more files.",
        callback=_request_parts,
        expose_value=False,
    ),
]
NoParts = Annotated[
    bool,
    _flag(
        "--no-parts",
        help="Load no parts that the configuration or installed packages name.",
        callback=_only_requested_parts,
        expose_value=False,
        is_eager=True,
    ),
]

Theme = Annotated[
    str | None, typer.Option("--theme", metavar="THEME", help="Colours: dark, light or contrast.")
]
Ascii = Annotated[bool, _flag("--ascii", help="Draw with ASCII characters only.")]
ComputedBy = Annotated[
    str | None,
    typer.Option(
        "--path",
        metavar="PATH",
        help="Backend (run.path): auto, or a name such as dense or structured.",
    ),
]


def _version(wanted: bool) -> None:
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
    run: Annotated[bool, _flag("--run", help="Start the run at once.")] = False,
    settings: Settings = None,
    device: Device = None,
    reset: Annotated[bool, _flag("--reset", help="Start fresh: ignore the saved set-up and view.")] = False,
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
        _flag("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> int:
    """Watch learning algorithms train in your terminal, against the lower bounds that theory proves for them.

    Without a command, it opens the app.
    """
    from engine.core.outside import outside

    outside.configure(_configured_parts)
    if context.invoked_subcommand is not None:
        if any((preset, run, settings, device, reset, theme, ascii_only, view)):
            from engine.core.parts import BadInput

            where = context.invoked_subcommand
            raise BadInput("", f"options before {where} are options of the app; put them after the command")
        return 0
    _need_terminal(preset or DEFAULT_PRESET)
    from hadamard_tui.state.launch import begin

    wanted: Raw | None = None
    answers: list[str] = []
    if preset or settings or device:
        preset = preset or DEFAULT_PRESET
        wanted = _load(preset, settings, device, answer=answers.append)
    start = begin(wanted, preset or DEFAULT_PRESET, run, reset, theme, ascii_only, view or (), answers)
    from hadamard_tui.app import open_app

    return open_app(start)


@command("run")
def run_headless(
    preset: Annotated[str, typer.Argument(metavar="PRESET|FILE", help=RUNS)],
    settings: Settings = None,
    device: Device = None,
    path: ComputedBy = None,
    as_json: Annotated[bool, _flag("--json", help="Print only the result, as JSON.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Also write the result as JSON to a file; - is standard output, with nothing else.",
        ),
    ] = None,
    exports: Annotated[
        list[Path] | None,
        typer.Option(
            "--export",
            metavar="FILE",
            help="Also write a file: curves as .csv, .json or .parquet, the chart as .svg, .pdf or .png, an "
            "animation as .gif or .cast, a page to send as .html, the set-up as .toml. Repeat --export for "
            "more files.",
        ),
    ] = None,
    bounds: Annotated[
        bool,
        _flag("--bounds", help="List the theory lines: which learners each binds, or why it does not apply."),
    ] = False,
    notes: Annotated[
        bool, _flag("--notes", help="Show how it was computed: backends, and learning rates tried.")
    ] = False,
    by_replica: Annotated[
        bool,
        _flag("--by-replica", help="Include the values of every replica in the JSON of --json and --out."),
    ] = False,
    fresh: Fresh = False,
    ascii_only: Ascii = False,
    parts: Parts = None,
    no_parts: NoParts = False,
) -> int:
    """Run a preset without the app: print its chart or pictures, the table and the claims.

    Claims are about the preset's own problem, protocol and learners. If --set changes these, claims are not
    judged.

    Exit code 0: done. 1: a claim failed, or a learner diverged or lost accuracy unexpectedly. 2: bad input.
    3: the program failed. 130: stopped by Ctrl-C.
    """
    from engine.core import files
    from engine.core.parts import BadInput

    if ascii_only:
        print_ascii()
    if out == STANDARD_OUTPUT:
        out, as_json = None, True
    if by_replica and not as_json and out is None:
        raise BadInput("--by-replica", "needs JSON: add --json or --out FILE")
    if out is not None:
        files.check(out)
    if exports or out is not None:
        from hadamard_tui.sharing import exporting

        if out is not None and out.suffix.lower() in exporting.KINDS.keys() - {".json"}:
            raise BadInput(f"--out {out}", f"writes JSON; --export {out} writes a {out.suffix}")
        for file in exports or ():
            exporting.check(file, "--export")
    document = _load(preset, settings, device, path)
    from hadamard_tui.headless import console
    from hadamard_tui.headless.compute import computed

    done = computed(preset, document, console.errors(), fresh)

    def show() -> None:
        if as_json:
            echo(done.as_json(by_replica), nl=False)
        else:
            from hadamard_tui.headless import summary
            from hadamard_tui.tours import onward

            steps = onward(preset)
            summary.show(done, console.output(), bool(settings), bounds, notes, steps)

    with Delivery() as delivery:
        delivery.attempt(show)
        if out is not None:
            delivery.attempt(lambda: files.write(out, done.as_json(by_replica)))
        for file in exports or ():
            delivery.attempt(partial(_export, file, done))
    return done.exit_code


@command("share")
def share_page(
    preset: Annotated[
        str, typer.Argument(metavar="PRESET|FILE|PATH", help=f"{RUNS} Or a guided path or talk.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE.html", help="File of the page; PRESET.html by default."),
    ] = None,
    settings: Settings = None,
    device: Device = None,
    fresh: Fresh = False,
    parts: Parts = None,
    no_parts: NoParts = False,
) -> int:
    """Run a preset and write one page of HTML that shows it anywhere: pictures, story, theorems and claims.

    The page of a guided path shows every stop: its question, run, reason and break. The page needs no other
    file and no network. Exit codes are those of run.
    """
    from engine.core import files
    from engine.core.parts import BadInput
    from engine.spec import presets

    page = Path(f"{presets.name_of(preset)}.html") if out is None else out
    if page.suffix != ".html":
        raise BadInput(f"--out {page}", "writes an HTML page, so its name must end in .html")
    files.check(page)
    from hadamard_tui.headless import console
    from hadamard_tui.headless.compute import computed
    from hadamard_tui.sharing.file_writer import place_file
    from hadamard_tui.sharing.web_page import web_page
    from hadamard_tui.tours import stops_of, title_of

    if (stops := stops_of(preset)) is not None:
        if settings:
            raise BadInput("--set", "a path has its own set-ups; share one of its presets to change it")
        from hadamard_tui.headless.pages import shared_path

        content, exit_code = shared_path(title_of([preset]), stops, console.errors(), device, fresh)
        console.output().print(place_file(page, content))
        return exit_code
    document = _load(preset, settings, device)
    done = computed(preset, document, console.errors(), fresh)
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
    """Write a page per preset, as share does, and an index. The exit code is 1 if a claim fails.

    A stopped report can continue: pages of shipped presets are reused until the program or the preset
    changes.
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


@command("verify")
def verify_presets(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="PRESET|FILE.toml", help="Presets; all by default.")
    ] = None,
    as_json: Annotated[bool, _flag("--json", help="Print only the result, as JSON.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.md",
            help="Also write a readable report to a file; - is standard output, with nothing else.",
        ),
    ] = None,
    parts: Parts = None,
    no_parts: NoParts = False,
) -> int:
    """Run presets and judge their claims. The exit code is 1 if a claim fails."""
    from engine.core import files
    from engine.core.parts import BadInput
    from engine.spec import presets
    from hadamard_tui.headless import console, verifying

    prints_report = report == STANDARD_OUTPUT
    if prints_report and as_json:
        raise BadInput("--report -", "standard output already holds the JSON of --json; name a file")
    if prints_report:
        report = None
    elif report is not None:
        files.check(report, "--report")
    done = []
    with Delivery() as delivery:
        for verified in verifying.verify(names or presets.names(), console.errors()):
            done.append(verified)
            if not as_json and not prints_report:
                delivery.attempt(lambda: console.output().print(verifying.shown(done[-1])))
            if delivery.hindered and report is None:
                return 0  # no reader is left for the other presets
        if as_json:
            delivery.attempt(lambda: echo(json.dumps(verifying.as_json(done), ensure_ascii=False).encode()))
        elif prints_report:
            delivery.attempt(lambda: echo(verifying.as_markdown(done), nl=False))
        else:
            delivery.attempt(lambda: console.output().print(verifying.total(done)))
        if report is not None:
            delivery.attempt(lambda: files.write(report, verifying.as_markdown(done).encode(), "--report"))
    return 0 if all(verified.holds for verified in done) else 1


Markdown = Annotated[
    Path | None,
    typer.Option(
        "--markdown",
        metavar="FILE.md",
        help="Also write the result as Markdown, for an appendix; - is standard output, with nothing else.",
    ),
]


@command("judge")
def judge(
    target: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.py:CLASS|PRESET",
            help="Update rule (egu), optimizer of torch.optim or pytorch-optimizer (AdamW), class in a file "
            "that this runs (my_rule.py:MyOptimizer), or preset.",
        ),
    ],
    settings: Settings = None,
    device: Device = None,
    as_json: Annotated[bool, _flag("--json", help="Print only the result, as JSON.")] = False,
    markdown: Markdown = None,
    parts: Parts = None,
    no_parts: NoParts = False,
) -> int:
    """Judge an optimizer, or the learners of a preset: its symmetries, and what follows for the loss.

    For an optimizer: do rotations, permutations, sign flips or scalings of the inputs change what it learns,
    and is its loss below or above the bound on rotation-invariant learners? For a preset: the verdicts on
    each learner by structure, by measurement, and by its bounds.

    The exit code is 1 if structure and measurement disagree, or if a bound is broken.
    """
    from engine.core import files
    from engine.core.parts import BadInput
    from engine.spec import presets
    from hadamard_tui.headless import console

    prints_markdown = markdown == STANDARD_OUTPUT
    if prints_markdown and as_json:
        raise BadInput("--markdown -", "standard output already holds the JSON of --json; name a file")
    if markdown is not None and not prints_markdown:
        files.check(markdown, "--markdown")
    if target in presets.names() or target.endswith(presets.FILES):
        from hadamard_tui.headless import verdicts

        page = verdicts.page(_load(target, settings, device), console.errors())
    else:
        if settings or device:
            raise BadInput(target, "--set and --device change presets, and an optimizer is judged as it is")
        from hadamard_tui.headless import rule_pages

        page = rule_pages.page(target, console.errors())
    with Delivery() as delivery:
        if as_json:
            delivery.attempt(lambda: echo(json.dumps(page.as_json, ensure_ascii=False).encode()))
        elif prints_markdown:
            delivery.attempt(lambda: echo(page.as_markdown, nl=False))
        else:
            delivery.attempt(lambda: console.output().print(page.shown(console.output())))
        if markdown is not None and not prints_markdown:
            delivery.attempt(lambda: files.write(markdown, page.as_markdown.encode(), "--markdown"))
    return 0 if page.is_sound else 1


@command("verdict", hidden=True)
def judge_by_former_name(
    preset: Annotated[str, typer.Argument(metavar="PRESET|FILE.toml")],
    settings: Settings = None,
    device: Device = None,
    as_json: Annotated[bool, _flag("--json", help="Print only the result, as JSON.")] = False,
) -> int:
    """Judge a preset, by the former name of `judge`."""
    from engine.core.texts import message

    _print_error(f"verdict is called judge now: {NAME} judge {message(preset)}")
    return judge(preset, settings, device, as_json)


@command("bench")
def bench_machine(
    quick: Annotated[bool, _flag("--quick", help="Run only the short jobs, which take seconds.")] = False,
    as_json: Annotated[bool, _flag("--json", help="Print only the result, as JSON.")] = False,
) -> None:
    """Time the engine on this machine, and compare it with the reference machine.

    This takes about a minute.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy reads it at import
    from hadamard_tui.headless import bench, console

    timings = list(bench.timed(quick, console.errors()))
    if as_json:
        echo(json.dumps(bench.as_json(timings), ensure_ascii=False).encode())
    else:
        console.output().print(bench.table(timings))


@command("presets")
def list_presets(parts: Parts = None, no_parts: NoParts = False) -> None:
    """List the presets."""
    from hadamard_tui.headless import console, listing

    console.output().print(listing.presets_table())


parts_app = typer.Typer(cls=_Group, add_completion=False, context_settings=HELP)
app.add_typer(
    parts_app, name="parts", help="List the parts of experiments, write parts of your own, and check them."
)
part_command = partial(parts_app.command, cls=_Command)

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

    Every number may be an expression of d, n and m, as in 1/(2d).
    """
    from engine.spec.upgrade import sentence
    from hadamard_tui.headless import console, listing

    if family in listing.FORMER:
        _print_error(sentence("list", {family: listing.FORMER[family]}))
    console.output().print(listing.families_table() if family is None else listing.members_list(family))


@command("list", hidden=True)
def list_parts_by_former_name(family: Family = None, parts: Parts = None, no_parts: NoParts = False) -> None:
    """List parts, by the former name of `parts list`."""
    from engine.core.texts import message

    _print_error(f"list is called parts list now: {NAME} parts list {message(family or '')}".rstrip())
    list_parts(family)


@part_command("new")
def new_part(
    family: Annotated[
        str,
        typer.Argument(
            metavar="FAMILY",
            help="update, architecture, solver, loss, matrix, target, measure or line.",
        ),
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE.py", help="File to write, as in my_rule.py.")],
) -> None:
    """Write a part of your own to a new file: a complete example, to change.

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
    files: Annotated[list[Path], typer.Argument(metavar="FILE.py", help="Files of parts, which this runs.")],
) -> int:
    """Check the parts of files on small experiments, as the program's own parts are tested.

    Each part must document itself, run, agree with its naive twin if the file has one, give the same numbers
    side by side and alone, with the same seed and in float32, have the symmetry that it declares, and run or
    refuse random settings. The exit code is 1 if a check fails.
    """
    from engine.core.outside import outside
    from engine.core.parts import BadInput
    from hadamard_tui.headless import console, part_checks, part_files

    outside.only_requested()
    outside.request(files)
    checked = list(part_checks.check_modules(outside.modules()))
    if not checked:
        raise BadInput(str(files[0]), "it defines nothing that can be checked; panels are not")
    console.output().print(part_files.report(checked))
    return int(any(check.holds is False for part in checked for check in part.checks))


@command("demo")
def open_demo(
    stops: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH|TALK|PRESET|FILE.toml",
            help="Path, talk or tour to open; without one, list them all.",
        ),
    ] = None,
    script: Annotated[bool, _flag("--script", help="Play the tour in a loop, without keys.")] = False,
    sheet: Annotated[
        Path | None,
        typer.Option(
            "--sheet",
            metavar="FILE.html",
            help="Write a sheet for a class in place of opening the app: questions, and the answers of real "
            "runs on a page of their own.",
        ),
    ] = None,
    theme: Theme = None,
    ascii_only: Ascii = False,
    parts: Parts = None,
    no_parts: NoParts = False,
) -> int:
    """Walk a guided path, or give a talk. Without a name, list the paths and talks.

    A path asks for a prediction at each stop, runs it, explains the result, and breaks it (B). Page down or >
    moves on, page up or < goes back, and a full stop blanks the screen. Backspace returns to the tour after
    changes of your own.
    """
    if not stops and not script and sheet is None:
        from hadamard_tui.headless import console, listing

        console.output().print(listing.talks_table())
        return 0
    stops = stops or []
    if sheet is not None:
        _write_sheet(stops, sheet)
        return 0
    _need_terminal(DEFAULT_PRESET)
    from hadamard_tui.state.launch import begin_tour

    start = begin_tour(stops, script, theme, ascii_only)
    from hadamard_tui.app import open_app

    return open_app(start)


@command("serve")
def serve_app(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 8000,
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="The preset to open; without one, the welcome opens."),
    ] = None,
    viewers: Annotated[
        int,
        typer.Option(min=1, max=100, help="Maximum number of viewers at a time; each takes about 300 MB."),
    ] = 8,
    parts: Parts = None,
) -> None:
    """Open the app in a browser on this machine; every viewer has a separate engine.

    The printed address is secret: everybody who knows it can use the app. Append ?preset=NAME to open that
    preset. No parts from outside are loaded: neither those of the configuration nor of installed packages.
    """
    from engine.core.outside import outside
    from engine.core.parts import BadInput

    if outside.requested:
        raise BadInput("--parts", "serve runs only the program's own parts, because others can use the app")
    outside.only_requested()
    if preset is not None:
        _load(preset, None, None)
    from hadamard_tui.serving.server import serve

    serve(port, preset, viewers)


@command("config")
def print_config(
    path: Annotated[bool, _flag("--path", help="Print the path of the configuration file.")] = False,
    default: Annotated[
        bool,
        _flag("--default", help="Print a template of the configuration file, with every line commented out."),
    ] = False,
) -> None:
    """Print the path or a template of the configuration file."""
    from engine.core import files
    from engine.core.parts import BadInput
    from hadamard_tui.state import config

    if path == default:
        raise BadInput("config", "give --path or --default; hadamard-tui config --default > FILE begins one")
    with files.faults("config --path", "there is none"):
        text = str(config.path()) if path else config.default_text()
    echo(text, nl=path)


@command("schema")
def print_schema(parts: Parts = None, no_parts: NoParts = False) -> None:
    """Print the JSON Schema of preset files."""
    from engine.spec.documents import preset_schema

    echo(json.dumps(preset_schema(), indent=2, ensure_ascii=False).encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; bad input becomes one line on stderr and code 2."""
    gc.set_threshold(GARBAGE, TIMES, TIMES)
    prepare()
    from engine.core.parts import BadInput, restore

    for registered in (app.registered_callback, *app.registered_commands, *parts_app.registered_commands):
        if registered is not None and registered.callback is not None:
            restore(registered.callback)  # typer prints it as help

    try:
        code = typer.main.get_command(app).main(arguments, prog_name=NAME, standalone_mode=False)
        with printing():
            pass  # flush, because the buffer may fail, too
    except BadInput as error:
        return exit_codes.refused(str(error))
    except TyperException as error:
        return exit_codes.refused(exit_codes.usage(error))
    except (ReaderGone, SystemExit):  # typer and rich raise it if the reader of help is gone
        return 0
    except KeyboardInterrupt:
        code = exit_codes.STOPPED
    except OSError as error:
        if error.errno != errno.ENOSPC:
            return exit_codes.broken(error)
        discard()
        return exit_codes.refused(
            f"standard output: cannot be written: {error.strerror}"
        )  # typer was printing help
    except Exception as error:
        return exit_codes.broken(error)
    if code == exit_codes.STOPPED:
        exit_codes.stop()
    return code or 0


def _print_error(words: str) -> None:
    from hadamard_tui.headless import console

    console.errors().print(words, soft_wrap=True)


def _load(
    preset: str,
    settings: list[str] | None,
    device: str | None,
    path: str | None = None,
    answer: Callable[[str], object] = _print_error,
) -> Raw:
    """Return a changed preset's document, and report former words. Raises: BadInput."""
    from engine.core.parts import BadInput
    from engine.spec import presets

    overrides = list(settings or [])
    for option, value in (("device", device), ("path", path)):
        if value is not None:
            overrides.append(f"run.{option}={json.dumps(value)}")
    try:
        with presets.former_words(preset, answer):
            return presets.document(preset, overrides)
    except BadInput as error:
        are_own = any(setting.lstrip().startswith("claims") for setting in settings or ())
        if not settings or are_own or "claims[" not in error.where:
            raise
        remedy = "the claims are about the preset's own settings; --set 'claims=[]' drops them"
        raise BadInput(error.where, f"{error.fault}; {remedy}") from error


def _export(file: Path, done: Done) -> None:
    """Write a finished run to a file. Raises: BadInput."""
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
        _print_error(note)


def _write_sheet(stops: list[str], file: Path) -> None:
    """Write the sheet of a path, talk or preset. Raises: BadInput."""
    from engine.core import files
    from hadamard_tui.headless import console
    from hadamard_tui.headless.pages import sheet
    from hadamard_tui.tours import stops_to, title_of

    files.check(file, "--sheet")
    questions = stops_to(stops)
    files.write(file, sheet(title_of(stops), questions, console.errors()).encode(), "--sheet")
    console.output().print(f"{file}: {len(questions)} questions and their answers")


def _need_terminal(preset: str) -> None:
    """Check that the app can draw and receive keys. Raises: BadInput."""
    from engine.core.parts import BadInput

    if "TEXTUAL_DRIVER" in os.environ:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        lack = "this is not one"
    elif os.environ.get("TERM", "dumb") in ("", "dumb"):
        lack = f"TERM is {os.environ.get('TERM') or 'not set'}"
    else:
        return
    raise BadInput("", f"the app needs a terminal and {lack}; use {NAME} run {preset}")


def _refuse_preset(word: str) -> None:
    """Refuse a preset in place of a command. Raises: BadInput."""
    from engine.core.parts import BadInput
    from engine.spec import presets

    if word in presets.names() or word.endswith(presets.FILES):
        raise BadInput(word, f"a preset is not a command; use {NAME} --preset {word} or {NAME} run {word}")
