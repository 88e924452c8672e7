"""Curves, theory lines and heat maps as one table, for CSV, Parquet, pandas and Arrow.

The table has one row for every point of a curve or theory line, and for every cell of a heat map.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from engine.claims import Outcome
from engine.core.parts import BadInput
from engine.pictures.view import Floats, View
from engine.results.headlines import headline
from engine.results.results import Results
from engine.results.views import view
from engine.spec.experiment import drawn, of_run

if TYPE_CHECKING:
    import pandas
    import pyarrow

Numbers = Floats | None


class TablePart(NamedTuple):
    """The rows of a table that belong to one curve, theory line or heat map."""

    texts: tuple[str, ...]
    """Values of the text columns, which are the same in all of these rows."""

    numbers: tuple[Numbers, ...]
    """Number columns [S]; None for a column that is empty in these rows. The first is never empty."""


class CurveTable(NamedTuple):
    """Table of results. Its first columns hold texts, and its last columns hold numbers.

    `texts` and `numbers` are the names of the columns. `labels` holds the labels of the axes and the
    captions.
    """

    texts: tuple[str, ...]
    numbers: tuple[str, ...]
    parts: Sequence[TablePart]
    labels: dict[str, str]


FORMULAS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""Characters at the start of a cell from which spreadsheets conclude that the cell is a formula."""

BLOCK = 4096
"""Number of rows that are converted at a time.

A conversion holds Python's interpreter lock, so that the screen cannot update until it ends.
"""


def table_of(results: Results, outcomes: Sequence[Outcome]) -> CurveTable:
    """Return the table with the results of all pictures of an experiment.

    If the experiment has no pictures, the table has the losses and the 0/1 errors of its run.
    """
    experiment = results.sweep.experiment
    if pictures := drawn(experiment):
        views = [view(picture, results) for picture in pictures]
        return of_views(views, [headline(shown_view, experiment, outcomes, results) for shown_view in views])
    losses, errors = (view(of_run(experiment, measure), results) for measure in ("loss", "error"))
    return of_run_views(losses, errors, headline(losses, experiment, outcomes))


def of_run_views(losses: View, errors: View, caption: str = "") -> CurveTable:
    """Return the table of a run, from the views of its loss and of its 0/1 error.

    The columns are series, name, x, loss, stderr (standard error of the loss) and error (0/1 error). The
    series of a curve is `learner`, and that of a theory line is its direction, such as `lower`. In the rows
    of theory lines, and of curves without such values, the columns stderr and error are empty.
    """
    error = {curve.name: curve.y for curve in errors.curves if len(curve.y)}
    curves = [
        TablePart(("learner", curve.name), (curve.x, curve.y, curve.stderr, error.get(curve.name)))
        for curve in losses.curves
    ]
    bounds = [TablePart((line.direction, line.kind), (line.x, line.y, None, None)) for line in losses.lines]
    labels = {"x": losses.axes.x_label, "loss": losses.axes.y_label, "caption": caption}
    return CurveTable(("series", "name"), ("x", "loss", "stderr", "error"), [*curves, *bounds], labels)


def of_views(views: Sequence[View], captions: Sequence[str]) -> CurveTable:
    """Return the table of all curves, theory lines and heat maps of the given views.

    The text columns are the picture, the series, and the name of the curve or theory line. The number columns
    are x, y, the value, and the standard error of the value. The series is `learner`, `reference` or the
    direction of a theory line. Only heat maps have a y, so this cell is empty for curves and theory lines.

    Args:
        captions: one caption for each view.
    """
    parts: list[TablePart] = []
    labels: dict[str, str] = {}
    for number, (shown_view, caption) in enumerate(zip(views, captions, strict=True), start=1):
        picture = shown_view.picture.name or shown_view.picture.title or f"picture {number}"
        labels |= {f"{picture}: x": shown_view.axes.x_label, f"{picture}: value": shown_view.axes.y_label}
        labels[f"{picture}: caption"] = caption
        for curve in shown_view.curves:
            series = "reference" if curve.training.is_reference else "learner"
            parts.append(TablePart((picture, series, curve.name), (curve.x, None, curve.y, curve.stderr)))
        for line in shown_view.lines:
            parts.append(TablePart((picture, line.direction, line.name), (line.x, None, line.y, None)))
        for heat in shown_view.heats:
            x, y = np.meshgrid(heat.x, heat.y)
            stderr = None if heat.stderr is None else heat.stderr.ravel()
            parts.append(
                TablePart((picture, "learner", heat.learner), (x.ravel(), y.ravel(), heat.z.ravel(), stderr))
            )
            for contour in heat.contours:
                line_name = f"{contour.kind} of {heat.learner}"
                values = contour.values.ravel()
                parts.append(
                    TablePart((picture, contour.direction, line_name), (x.ravel(), y.ravel(), values, None))
                )
    return CurveTable(("picture", "series", "name"), ("x", "y", "value", "stderr"), parts, labels)


def as_csv(table: CurveTable) -> bytes:
    """Return the table as comma-separated values with a header, in UTF-8. Numbers keep all their digits.

    An apostrophe is put before a name that a spreadsheet would take for a formula.
    """
    lines = [_csv_line((*table.texts, *table.numbers))]
    for texts, numbers in table.parts:
        start, length = _csv_line(tuple(map(_text_without_formula, texts))), len(_first_column(numbers))
        for first in range(0, length, BLOCK):
            block = [
                repeat("") if column is None else as_text(column[first : first + BLOCK]) for column in numbers
            ]
            lines += map(",".join, zip(repeat(start), *block, strict=False))
    return "\n".join([*lines, ""]).encode()


def _first_column(numbers: tuple[Numbers, ...]) -> Floats:
    first = numbers[0]
    assert first is not None, "the first column is where a row is"
    return first


def as_text(values: Floats) -> list[str]:
    """Return each number as text, with the fewest digits that determine it, like `repr`.

    `values` has shape [S] with S > 0. The function uses the JSON encoder, which writes the same text as
    `repr` in a quarter of the time. Only very large and very small numbers, for which `repr` writes an
    exponent, are converted by `repr`.
    """
    texts = msgspec.json.encode(values.tolist()).decode()[1:-1].split(",")
    size = np.abs(values)
    for place in np.flatnonzero(~((size >= 1e-4) & (size < 1e16) | (size == 0))).tolist():
        texts[place] = repr(float(values[place]))
    return texts


def _csv_line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _text_without_formula(name: str) -> str:
    return f"'{name}" if name.startswith(FORMULAS) else name


def as_parquet(table: CurveTable) -> bytes:
    """Return the table as a Parquet file, with the labels of the axes and the captions in its metadata.

    Raises: BadInput if pyarrow cannot make the table, ImportError if pyarrow cannot be loaded.
    """
    import pyarrow
    from pyarrow import parquet

    buffer = io.BytesIO()
    try:
        parquet.write_table(as_arrow(table), buffer)
    except pyarrow.ArrowException as error:
        raise BadInput("", f"the table cannot be made: {error}") from error
    return buffer.getvalue()


def as_arrow(table: CurveTable) -> pyarrow.Table:
    """Return the table as an Arrow table, with the labels of the axes and the captions in its metadata."""
    import pyarrow

    types = [pyarrow.string()] * len(table.texts) + [pyarrow.float64()] * len(table.numbers)
    names = (*table.texts, *table.numbers)
    schema = pyarrow.schema(list(zip(names, types, strict=True)), metadata=table.labels)
    tables = [schema.empty_table()]
    for texts, numbers in table.parts:
        length = len(_first_column(numbers))
        columns = [pyarrow.repeat(text, length) for text in texts]
        for column in numbers:
            missing = column is None
            columns.append(pyarrow.nulls(length, pyarrow.float64()) if missing else pyarrow.array(column))
        tables.append(pyarrow.Table.from_arrays(columns, schema=schema))
    return pyarrow.concat_tables(tables).combine_chunks()


def as_frame(table: CurveTable) -> pandas.DataFrame:
    """Return the table as a pandas frame, with the labels of the axes and the captions in `attrs`.

    Missing numbers are NaN.
    """
    import pandas

    names = (*table.texts, *table.numbers)
    frames = [pandas.DataFrame(columns=names).astype(dict.fromkeys(table.numbers, float))]
    for texts, numbers in table.parts:
        if length := len(_first_column(numbers)):
            columns = [np.full(length, np.nan) if column is None else column for column in numbers]
            words = [[text] * length for text in texts]
            frames.append(pandas.DataFrame(dict(zip(names, [*words, *columns], strict=True))))
    frame = pandas.concat(frames[1:] or frames, ignore_index=True)
    frame.attrs = dict(table.labels)
    return frame
