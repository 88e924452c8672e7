"""Tables with words, dates and missing cells, read from a user's files as pandas DataFrames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine.core.parts import BadField, BadInput
from engine.problems.data_files import LeftOut, version_of
from engine.problems.formats import Content, NotATable, refuse_settings
from engine.problems.table import ColumnLayout, Request, check_size, layout_of, reading_faults

if TYPE_CHECKING:
    import pandas as pd


class MixedFrame(NamedTuple):
    """Columns of a file that may hold numbers, words, dates and missing cells."""

    features: pd.DataFrame
    """Features of all rows. Columns have different names, which are texts."""

    places: tuple[int, ...]
    """Positions of the features in the file."""

    labels: pd.Series[Any]
    label: str
    """Name of the column of labels."""

    left_out: tuple[LeftOut, ...]
    has_header: bool | None
    """Whether the file has a header, or None for formats without headers."""


def read_frame(request: Request, where: str) -> MixedFrame | None:
    """Return the columns of a file, or None if its format can only hold numbers.

    Settings have the same meaning as for a table of numbers. The request must name the column of labels.

    Args:
        where: path of the table's section in messages, such as data.

    Raises: BadInput, at the faulty field, for a file that cannot be read as a table.
    """
    from engine.problems.formats.of_file import format_of  # imports all readers, so only if needed

    file = version_of(request.path, f"{where}.path", "a table").file
    try:
        with reading_faults(file_format := format_of(file)):
            refuse_settings(request.settings, file_format, file.name)
            content = file_format.content(file, request.settings, request.rows_wanted)
            if content.frame is None:
                return None
            # Without the descriptions of words, the layout has columns of words as features.
            layout = layout_of(replace(content, words={}), request.settings, request.label, is_target=False)
            check_size(content)
            return _frame_with_names(content, layout, content.frame)
    except NotATable as error:
        raise BadInput(f"{where}.path", f"{file.name} cannot be read as a table: {error}") from error
    except BadField as error:
        raise BadInput(f"{where}.{error.field}", error.fault) from error


def _frame_with_names(content: Content, layout: ColumnLayout, read: Callable[[], pd.DataFrame]) -> MixedFrame:
    """Read a table, and name its columns. A column without a unique name is named by its position."""
    assert layout.label is not None, "a diagnosis names the column of labels"
    frame = read()
    headings = content.names or ("",) * content.width
    counts = Counter(headings)
    names = [
        heading if heading and counts[heading] == 1 else f"column {place}"
        for place, heading in enumerate(headings)
    ]
    features = frame[[*layout.features]]
    features.columns = [names[place] for place in layout.features]
    labels, label = frame[layout.label], names[layout.label]
    _check_cells(features, labels, label)
    return MixedFrame(features, layout.features, labels, label, layout.left_out, content.has_header)


def _check_cells(features: pd.DataFrame, labels: pd.Series[Any], label: str) -> None:
    """Check that labels are not all missing, and not dates, and that all cells have usable values.

    Infinite numbers and lists are not usable. Raises: BadField, which names the column.
    """
    from pandas.api import types

    if labels.isna().all():
        raise BadField("label", f"column {label!r} has no labels: all of its cells are empty")
    if types.is_datetime64_any_dtype(labels):
        raise BadField("label", f"column {label!r} holds dates; labels must be numbers or words")
    for name, column in {**dict(features.items()), label: labels}.items():
        if types.is_float_dtype(column):
            cells = column.to_numpy(np.float64, na_value=np.nan)
            if np.isinf(cells).any():
                row = int(np.isinf(cells).argmax()) + 1
                raise BadField(
                    "path",
                    f"column {name!r} holds {cells[row - 1]} in row {row}; every number must be finite",
                )
        elif types.is_object_dtype(column) and not column.map(types.is_scalar).all():
            raise BadField(
                "path", f"column {name!r} holds lists or tables; every cell must be a number, word or date"
            )
