"""Tables by columns as Arrow writes them: .parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.problems.formats import PIECE, Format, Found, NotATable

COPIES = 3
"""How often the numbers are held: as columns of Arrow, of numpy, and as a table."""


def found(file: Path) -> Found:
    """What a .parquet file holds. Raises: NotATable, or what Arrow raises."""
    import pyarrow
    from pyarrow import parquet

    types = pyarrow.types
    with parquet.ParquetFile(file) as table:
        rows, schema = table.metadata.num_rows, table.schema_arrow
    for column in schema:
        numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
        if not any(admits(column.type) for admits in numeric):
            what = f"column {column.name!r} holds {column.type}, and every column must hold numbers"
            raise NotATable(what)

    def numbers(columns: Any) -> list[NDArray[Any]]:
        as_numbers = (column.cast(pyarrow.float64(), safe=False) for column in columns)
        return [column.to_numpy(zero_copy_only=False) for column in as_numbers]

    def read() -> NDArray[Any]:
        with parquet.ParquetFile(file) as table:
            columns = table.read().columns
        return np.column_stack(numbers(columns))

    def pieces() -> Iterator[NDArray[Any]]:
        with parquet.ParquetFile(file) as table:
            for batch in table.iter_batches(max(1, PIECE // len(schema)), use_threads=False):
                yield np.column_stack(numbers(batch.columns))

    shape = rows, len(schema)
    return Found(COPIES * np.dtype(np.float64).itemsize * rows * len(schema), read, pieces, shape)


def faults() -> tuple[type[Exception], ...]:
    """What Arrow raises."""
    import pyarrow

    return ValueError, pyarrow.ArrowException


PARQUET = Format(found, faults)
