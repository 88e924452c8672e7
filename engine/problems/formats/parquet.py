"""Reader of .parquet files, which store tables column by column. Arrow and pandas write such files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.problems.data_files import TableSettings
from engine.problems.formats import (
    FLOAT,
    Content,
    Format,
    IndexFinding,
    TableCells,
    numbers_of,
    quoted_cell,
    words_of,
)
from engine.problems.formats.dialect import index_of

COPIES = 3
"""Number of copies of the data in memory during reading: in Arrow, in pandas, and in the final table."""

FIRST_ROWS = 1000
"""Number of first rows from which it is decided whether a column only counts the rows."""

NAMELESS_INDEX = re.compile(r"__index_level_\d+__")
"""Pattern of the column names that pandas gives to an index without a name."""


def content(file: Path, settings: TableSettings, rows_wanted: int | None = None) -> Content:
    """Describe the table in a .parquet file. Raises: NotATable, or errors of Arrow."""
    import pyarrow
    from pyarrow import parquet

    with parquet.ParquetFile(file) as table:
        rows, schema = table.metadata.num_rows, table.schema_arrow

    def read(columns: Sequence[int], label: int | None) -> TableCells:
        with parquet.ParquetFile(file) as table:
            arrow = table.read().select([*columns, *([] if label is None else [label])])
        # Columns are selected by position, because a repeated name would select several columns.
        arrow = arrow.rename_columns([str(number) for number in range(arrow.num_columns)])
        frame = arrow.to_pandas(ignore_metadata=True)
        labels = None if label is None else _label_cells(frame.pop(str(len(columns))), label, schema.names)
        frame.columns = [*columns]
        return TableCells(
            numbers_of(frame, lambda row, column: _place_in_words(row, schema.names[column])), labels
        )

    def frame() -> Any:
        with parquet.ParquetFile(file) as table:
            arrow = table.read()
        cells = arrow.rename_columns([str(number) for number in range(arrow.num_columns)])
        in_pandas = cells.to_pandas(ignore_metadata=True)
        in_pandas.columns = [*range(arrow.num_columns)]
        return in_pandas

    return Content(
        len(schema),
        read,
        rows,
        COPIES * FLOAT * rows * len(schema),
        names=tuple(schema.names),
        index=_find_index(file, schema),
        truth_values=frozenset(
            column for column, kind in enumerate(schema.types) if pyarrow.types.is_boolean(kind)
        ),
        words=dict(_columns_of_words(schema)),
        frame=frame,
    )


def faults() -> tuple[type[Exception], ...]:
    """Return the errors that Arrow raises for unusable files."""
    import pyarrow

    return ValueError, pyarrow.ArrowException


PARQUET = Format(content, faults)


def _label_cells(cells: Any, column: int, names: Sequence[str]) -> Any:
    if cells.dtype.kind in "iuf":
        frame = cells.to_frame(column)
        return numbers_of(frame, lambda row, _: _place_in_words(row, names[column]))[:, 0]
    return words_of(cells, column, lambda row, _: _place_in_words(row, names[column]))


def _find_index(file: Path, schema: Any) -> IndexFinding:
    """Find the index columns of a DataFrame, by pandas' metadata or by the columns' names and cells."""
    from pyarrow import parquet

    def cells_of(column: int) -> list[str]:
        with parquet.ParquetFile(file) as table:
            batch = next(table.iter_batches(FIRST_ROWS, use_threads=False), None)
        return [] if batch is None else [str(cell) for cell in batch.column(column).to_pylist()]

    metadata = schema.pandas_metadata or {}
    declared = [name for name in metadata.get("index_columns", ()) if isinstance(name, str)]
    columns = {
        position: "the index of the pandas DataFrame"
        for position, name in enumerate(schema.names)
        if name in declared or NAMELESS_INDEX.fullmatch(name)
    }
    finding = index_of(schema.names, cells_of)
    return IndexFinding({**finding.columns, **columns}, "" if 0 in columns else finding.doubt)


def _columns_of_words(schema: Any) -> Iterator[tuple[int, str]]:
    """Yield the position of each column that does not hold numbers, with a description of its content."""
    import pyarrow

    types = pyarrow.types
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    for position, column in enumerate(schema):
        kind = column.type.value_type if types.is_dictionary(column.type) else column.type
        if not any(admits(kind) for admits in numeric):
            yield (
                position,
                "categories" if types.is_dictionary(column.type) else f"values of type {kind}, not numbers",
            )


def _place_in_words(row: int, name: str) -> str:
    return f"row {row + 1}, column {quoted_cell(name)},"
