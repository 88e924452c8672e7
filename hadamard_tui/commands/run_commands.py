"""Commands that list, show, compare, open, export, pin and delete stored runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hadamard_tui.commands.command_types import Command, new_group
from hadamard_tui.commands.opening import watch_run
from hadamard_tui.commands.options import flag
from hadamard_tui.terminal.standard_streams import echo

if TYPE_CHECKING:
    from engine.runtime.stored_run import StoredRun

commands = new_group()
runs_app = new_group()
commands.add_typer(runs_app, name="runs", help="List, show, compare, export and delete stored runs.")
command = partial(runs_app.command, cls=Command)

NEWEST = 50
"""Number of runs that a list shows by default."""

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN",
        help="@last, @last-1, the beginning of an id, a name, a preset, a date such as 2026-11-28, or a tag. "
        "Several words select the runs that fit all of them.",
    ),
]
Word = Annotated[
    str, typer.Argument(metavar="RUN", help="@last, @last-1, the beginning of an id, a name or a file.")
]
AsJson = Annotated[bool, flag("--json", help="Print JSON only.")]


@command("list")
def list_runs(
    runs: Words = None,
    newest: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help=f"Number of newest runs to list; 0 lists all. Default: {NEWEST}, or all with --json.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the stored runs, the newest first."""
    from hadamard_tui.headless import console, run_listing
    from hadamard_tui.state import run_choice, run_store

    store = run_store.needed_store()
    limit = (0 if as_json else NEWEST) if newest is None else newest
    if runs:
        chosen = run_choice.chosen(runs, store.runs(details=as_json))
        listed, total = chosen[: limit or None], len(chosen)
    else:
        listed, total = store.runs(limit or -1, details=as_json), store.count()
    if as_json:
        echo(run_listing.as_json(listed), nl=False)
    elif listed:
        out = console.output()
        out.print(run_listing.table(listed, out.width))
        if len(listed) < total:
            out.print(run_listing.left_out(len(listed), total), soft_wrap=True)
    else:
        console.output().print("No run is stored yet. The command run and the app store every run.")


@command("show")
def show_run(run: Word, as_json: AsJson = False) -> None:
    """Print a stored run as the command "run" prints a new one; with --json, as "run --json" does."""
    from hadamard_tui.headless import console, stored_results, summary
    from hadamard_tui.running.run_words import state

    stored, done = stored_results.done(_path_of_run(run))
    if as_json:
        echo(done.as_json(), nl=False)
        return
    out = console.output()
    out.print(f"{stored.id}  {state(stored)}  version {stored.version}", soft_wrap=True)
    if done.results.traces:
        summary.show(done, out)


@command("diff")
def diff_runs(before: Word, after: Word) -> None:
    """Compare two runs: print the differences of their experiments, and their findings and claims."""
    from hadamard_tui.headless import console, stored_results
    from hadamard_tui.state.run_choice import single

    for part in stored_results.difference(single(before), single(after)):
        console.output().print(part)


command("open", help="Open the app on a stored run, as watch does.")(watch_run)


@command("export")
def export_run(
    run: Word,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Files to write, with suffixes as in run --export."),
    ],
) -> None:
    """Write a stored run to files: .csv, .json, .parquet, .svg, .pdf, .png, .gif, .cast, .html or .toml."""
    from hadamard_tui.commands.running import export
    from hadamard_tui.headless import console, stored_results
    from hadamard_tui.sharing import exporting

    for file in files:
        exporting.check(file, "FILE")
    _, done = stored_results.done(_path_of_run(run))
    for file in files:
        export(file, done)
        console.output().print(str(file))


@command("pin")
def pin_runs(
    runs: Words = None,
    off: Annotated[bool, flag("--off", help="Unpin the runs.")] = False,
    tag: Annotated[
        str | None,
        typer.Option("--tag", metavar="TAG", help="Also give the runs a tag, which can select them later."),
    ] = None,
) -> None:
    """Pin runs, so that the store never removes them to make room."""
    from hadamard_tui.headless import console
    from hadamard_tui.state import run_store

    store = run_store.needed_store()
    for run in _chosen_runs(runs or ["@last"]):
        tags = [*run.tags, *([tag] if tag and tag not in run.tags else [])]
        store.mark(run, pinned=not off, tags=tags)
        console.output().print(f"{run.id}: {'unpinned' if off else 'pinned'}")


@command("delete")
def delete_runs(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN", help="Words that select runs, as in runs list.")
    ],
) -> None:
    """Delete the selected runs. The command stops with an error at a run that is pinned or still running."""
    from engine.core.parts import BadInput
    from hadamard_tui.headless import console
    from hadamard_tui.state import run_store

    store = run_store.needed_store()
    for run in _chosen_runs(runs):
        if run.pinned:
            raise BadInput(run.id, "this run is pinned; unpin the run by `runs pin --off`")
        store.remove(run)
        console.output().print(f"{run.id}: deleted")


@command("prune")
def prune_runs(
    keep: Annotated[int, typer.Option(min=0, metavar="N", help="Number of newest runs to keep.")] = 100,
) -> None:
    """Delete all runs except the newest, the pinned and the running ones."""
    from hadamard_tui.headless import console
    from hadamard_tui.state import run_store

    store = run_store.needed_store()
    old = [run for run in store.runs()[keep:] if not run.pinned and not run.is_written]
    for run in old:
        store.remove(run)
    remains = store.remove_remains()
    console.output().print(f"{len(old)} runs deleted")
    if remains:
        console.output().print(f"{remains} leftover files of killed programs deleted")


def _chosen_runs(words: list[str] | None) -> list[StoredRun]:
    from hadamard_tui.state import run_choice, run_store

    return run_choice.chosen(words or [], run_store.needed_store().runs())


def _path_of_run(word: str) -> Path:
    from hadamard_tui.state.run_choice import single

    return Path(single(word).path)
