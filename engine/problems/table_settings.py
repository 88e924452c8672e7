"""Settings that say how a table is read, for the cases in which the file alone does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from engine.core.parts import MOST, SELDOM

MOST_PATH = 4096
"""Letters of a path at most: Linux opens none that is longer."""

MOST_NAME = 1000
"""Letters of the name of a column or array at most."""

Position = Annotated[int, Meta(ge=-MOST, lt=MOST)]
Name = Annotated[str, Meta(min_length=1, max_length=MOST_NAME)]
Column = Position | Name
"""A column: its position, counted from 0, or its name in the header. −1 is the last one."""

FilePath = Annotated[str, Meta(min_length=1, max_length=MOST_PATH)]
DataPath = Annotated[
    FilePath, Meta(title="path", description=".csv, .tsv, .txt, .parquet, .npy, .npz or .svm; ~ is home")
]
LabelPath = Annotated[
    FilePath | None,
    Meta(title="path", description="file of labels; none: the label column of the instances' file"),
]
Header = Annotated[
    bool | None,
    Meta(title="header", description="whether the first line has names; auto: detect it", extra=SELDOM),
]
Index = Annotated[
    bool | Position | Name | None,
    Meta(
        title="index",
        description="column that only counts or names rows: true (the first), false, or one column",
        extra=SELDOM,
    ),
]
Columns = Annotated[
    Annotated[tuple[Column, ...], Meta(min_length=1, max_length=MOST)] | None,
    Meta(
        title="columns",
        description="names, or positions from 0; none: all but index and label",
        extra=SELDOM,
    ),
]
Array = Annotated[
    Name | None, Meta(title="array", description="of the several arrays of an .npz file", extra=SELDOM)
]
Separator = Annotated[
    Literal[",", ";", "|", "tab", "space"] | None,
    Meta(title="separator", description="between cells of a text file; none: detect it", extra=SELDOM),
]
Decimal = Annotated[
    Literal[".", ","] | None,
    Meta(title="decimal", description="decimal sign of a text file; none: detect it", extra=SELDOM),
]


@dataclass(frozen=True)
class TableSettings:
    """How a table is read; None leaves the decision to what the file shows."""

    header: bool | None = None
    index: bool | int | str | None = None
    columns: tuple[int | str, ...] | None = None
    array: str | None = None
    separator: str | None = None
    decimal: str | None = None
