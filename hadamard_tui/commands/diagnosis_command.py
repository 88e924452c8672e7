"""Command that diagnoses the user's tables."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from hadamard_tui.commands.command_types import Command, new_group
from hadamard_tui.commands.options import flag
from hadamard_tui.terminal.standard_streams import Delivery, echo

commands = new_group()
command = partial(commands.command, cls=Command)


@command("diagnose")
def diagnose_table(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE|SET",
            help="Table (.csv, .tsv, .parquet, .npy, .npz or .svm), or a data set of scikit-learn: digits, "
            "breast-cancer, wine, diabetes or iris.",
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", help="Column of labels: its name, or its position from 0."),
    ] = None,
    kind: Annotated[
        Literal["classes", "numbers"] | None,
        typer.Option(
            "--as", metavar="KIND", help="Kind of the labels: classes or numbers; detected by default."
        ),
    ] = None,
    omitted: Annotated[
        str, typer.Option("--leave-out", metavar="COLUMNS", help="Columns to leave out, separated by commas.")
    ] = "",
    header: Annotated[
        Literal["true", "false"] | None,
        typer.Option("--header", metavar="true|false", help="Whether the first line has the column names."),
    ] = None,
    index: Annotated[
        str | None,
        typer.Option(
            "--index",
            metavar="true|false|COLUMN",
            help="Column that only counts or names the rows; true: the first column, false: none.",
        ),
    ] = None,
    separator: Annotated[
        Literal[",", ";", "|", "tab", "space"] | None,
        typer.Option("--separator", metavar="SIGN", help='Separator of cells: "," ";" "|" tab or space.'),
    ] = None,
    decimal: Annotated[
        Literal[".", ","] | None, typer.Option("--decimal", metavar="SIGN", help='Decimal sign: "." or ",".')
    ] = None,
    array: Annotated[
        str | None,
        typer.Option("--array", metavar="NAME", help="Array to read from an .npz file of several arrays."),
    ] = None,
    judged_only: Annotated[
        bool, flag("--quick", help="Measure only the learners that decide the diagnosis: L1, L2, trees, RBF.")
    ] = False,
    splits: Annotated[int, typer.Option(min=2, max=100, help="Number of random splits.")] = 12,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the splits.")] = 0,
    as_json: Annotated[bool, flag("--json", help="Print only the result, as JSON.")] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE.html", help="Also write the result to an HTML page."),
    ] = None,
) -> None:
    """Diagnose from pairs of learning curves which inductive bias is right for a table.

    In each pair, one learner uses the columns as they are, and its partner is rotation-invariant. Both train
    on the same rows, before and after a random rotation of the standardised columns. The columns carry
    meaning if the first learner is better than its partner before the rotation, and worse after the rotation
    than before.
    """
    from engine.core import files
    from engine.core.parts import BadInput
    from engine.diagnosis.answer import as_json as json_of
    from engine.diagnosis.plan import plan_of
    from engine.diagnosis.table_reading import read_table
    from engine.problems.data_files import TableSettings
    from hadamard_tui.headless import console
    from hadamard_tui.headless.diagnosis_text import diagnosed, shown

    if html is not None:
        if html.suffix != ".html":
            raise BadInput(f"--html {html}", "this writes an HTML page, so the name must end in .html")
        files.check(html, "--html")
    settings = TableSettings(
        header=None if header is None else header == "true",
        index=None if index is None else {"true": True, "false": False}.get(index, _column_reference(index)),
        array=array,
        separator=separator,
        decimal=decimal,
    )
    table = read_table(source, label, kind, settings, [*filter(None, map(str.strip, omitted.split(",")))])
    diagnosis = diagnosed(table, plan_of(table, seed, splits, not judged_only), console.errors())
    with Delivery() as delivery:
        if as_json:
            delivery.attempt(lambda: echo(json.dumps(json_of(diagnosis), ensure_ascii=False).encode()))
        else:
            delivery.attempt(lambda: console.output().print(shown(diagnosis, console.output())))
        if html is not None:
            from hadamard_tui.sharing.diagnosis_page import diagnosis_page

            page = html
            delivery.attempt(lambda: files.write(page, diagnosis_page(diagnosis), "--html"))


def _column_reference(typed: str) -> int | str:
    return int(typed) if typed.removeprefix("-").isdecimal() else typed
