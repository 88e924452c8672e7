"""Curves and bounds as one long table: a row per point, for CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import msgspec
import numpy as np

from engine.core.parts import BadInput
from engine.results.trace import Floats, Trace

COLUMNS = ("series", "name", "x", "loss", "stderr", "error")
"""A row says: `learner` or the direction of a bound, whose it is, and where; the last two may be none."""

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""Where a cell begins with one of these, spreadsheets take it for a formula."""

BLOCK = 4096
"""Rows that are written at once: the screen may wait for so many, since threads share the interpreter."""


class Part(NamedTuple):
    """The rows of one curve or bound: what their cells of text say, and the numbers [S] of the others."""

    series: str
    name: str
    x: Floats
    loss: Floats
    stderr: Floats | None = None
    error: Floats | None = None


def parts(trace: Trace) -> Iterator[Part]:
    """Every curve of a trace that does not grow meanwhile, then every bound that is drawn."""
    for curve in trace.curves:
        yield Part("learner", curve.name, curve.x, curve.loss, curve.stderr, curve.mean("error"))
    for bound in trace.bounds:
        yield Part(bound.direction, bound.kind, bound.x, bound.values)


def as_csv(trace: Trace) -> bytes:
    """Comma-separated values in UTF-8 with a header; numbers keep all their digits.

    A name that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    lines = [_cells(COLUMNS)]
    for series, name, x, *others in parts(trace):
        start = _cells((series, _no_formula(name)))
        for first in range(0, len(x), BLOCK):
            block = [
                repeat("") if column is None else as_text(column[first : first + BLOCK])
                for column in (x, *others)
            ]
            lines += map(",".join, zip(repeat(start), *block, strict=False))
    return "\n".join([*lines, ""]).encode()


def as_text(values: Floats) -> list[str]:
    """Numbers [S > 0] as `repr` has them: the shortest digits that are read back as the same number.

    JSON writes them alike four times as fast, but for the largest and smallest, which have exponents.
    """
    texts = msgspec.json.encode(values.tolist()).decode()[1:-1].split(",")
    size = np.abs(values)
    for place in np.flatnonzero(~((size >= 1e-4) & (size < 1e16) | (size == 0))).tolist():
        texts[place] = repr(float(values[place]))
    return texts


def _cells(cells: Sequence[str]) -> str:
    """Cells of text as CSV, quoted where they must be."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _no_formula(name: str) -> str:
    return f"'{name}" if name.startswith(FORMULAS) else name


def as_parquet(trace: Trace) -> bytes:
    """The table as Parquet. The labels of the axes are in its metadata.

    Raises: BadInput if the library cannot be loaded or cannot make it.
    """
    try:
        import pyarrow

        return _parquet(trace)
    except ImportError as error:
        raise BadInput("", f"pyarrow cannot be loaded: {error}") from error
    except pyarrow.ArrowException as error:
        raise BadInput("", f"the table cannot be made: {error}") from error


def _parquet(trace: Trace) -> bytes:
    import pyarrow
    from pyarrow import parquet

    types = [pyarrow.string(), pyarrow.string(), *[pyarrow.float64()] * 4]
    schema = pyarrow.schema(
        list(zip(COLUMNS, types, strict=True)), metadata={"x": trace.x_label, "loss": trace.y_label}
    )
    tables = [schema.empty_table()]
    for series, name, x, *others in parts(trace):
        length = len(x)
        columns = [pyarrow.repeat(series, length), pyarrow.repeat(name, length)]
        for column in (x, *others):
            missing = column is None
            columns.append(pyarrow.nulls(length, pyarrow.float64()) if missing else pyarrow.array(column))
        tables.append(pyarrow.Table.from_arrays(columns, schema=schema))
    table = pyarrow.concat_tables(tables).combine_chunks()
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()
