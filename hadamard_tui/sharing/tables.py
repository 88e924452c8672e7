"""Curves and bounds as one long table: a row per point, for CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from engine.core.parts import BadInput
from engine.results.trace import Trace

COLUMNS = ("series", "name", "x", "loss", "stderr", "error")
"""What a row says: `learner` or the sense of a bound, whose it is, and where; the last two may be none."""

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""Where a cell begins with one of these, spreadsheets take it for a formula."""

Row = tuple[str, str, float, float, float | None, float | None]


def rows(trace: Trace) -> Iterator[Row]:
    """Every point of every curve, as far as it is computed, then every point of every bound that is drawn."""
    for curve in trace.curves:
        count = curve.length
        stderr, error = curve.stderr, curve.mean("error")
        for i in range(count):
            yield (
                "learner",
                curve.name,
                float(curve.x[i]),
                float(curve.loss[i]),
                None if stderr is None else float(stderr[i]),
                None if error is None else float(error[i]),
            )
    for bound in trace.bounds:
        for x, loss in zip(bound.x.tolist(), bound.loss.tolist(), strict=True):
            yield bound.sense, bound.kind, x, loss, None, None


def as_csv(trace: Trace) -> bytes:
    """Comma-separated values in UTF-8 with a header; numbers keep all their digits.

    A name that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((series, _no_formula(name), *numbers) for series, name, *numbers in rows(trace))
    return text.getvalue().encode()


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
    columns: list[Any] = [list(column) for column in zip(*rows(trace), strict=True)] or [[] for _ in COLUMNS]
    table = pyarrow.table(dict(zip(COLUMNS, columns, strict=True)), schema=schema)
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()
