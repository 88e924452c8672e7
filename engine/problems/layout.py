"""Which columns of a table are features, which one is the label, and which are left out, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.core.parts import BadField
from engine.core.texts import cut, listed
from engine.problems.data_report import LeftOut
from engine.problems.formats import Content
from engine.problems.table_settings import TableSettings

LONGEST_NAME = 40
"""Letters of the name of a column in a message at most."""


class Layout(NamedTuple):
    """The columns of a table, by what they are for."""

    features: tuple[int, ...]
    label: int | None
    left_out: tuple[LeftOut, ...]


def layout_of(content: Content, settings: TableSettings, label: int | str | None, is_target: bool) -> Layout:
    """The columns of a file by what they are for.

    Args:
        label: the column of labels that the settings name.
        is_target: whether the table holds nothing but labels, of which a single column may be words.

    Raises: BadField, with the setting that decides what the file does not.
    """
    index = _index(content, settings)
    place = None if label is None else _position(label, content, "label")
    if content.has_labels and label is not None:
        raise BadField("label", "in this format the label stands first in every line; leave it out")
    aside = {*index, *content.empty, *([] if place is None else [place])}
    left_out = [LeftOut(name_of(column, content), reason) for column, reason in index.items()]
    if content.empty:
        left_out.append(LeftOut(_names(content.empty, content), "empty, at the end of every line"))
    if settings.columns is None:
        features = [column for column in range(content.width) if column not in aside]
    else:
        features = [_position(column, content, "columns") for column in settings.columns]
        _check_chosen(features, place, content)
        index_and_others = set(range(content.width)) - {*features, *content.empty, place}
        left_out = [one for one in left_out if not index]
        if index_and_others:
            left_out.append(LeftOut(_names(sorted(index_and_others), content), "not among `columns`"))
    if is_target and content.has_labels:
        features = []
    elif is_target and len(features) == 1 and features[0] in content.words:
        features, place = [], features[0]
    _check_words(features, content, is_target)
    if not features and not (is_target and (place is not None or content.has_labels)):
        rest = "the index" if index else "the label"
        raise BadField("index" if index else "label", f"no column is left beside {rest}")
    return Layout(tuple(features), place, tuple(left_out))


def name_of(column: int, content: Content) -> str:
    """A column as messages name it."""
    name = content.names[column] if content.names else ""
    return f"column {cut(name, LONGEST_NAME)!r}" if name else f"column {column}"


def _names(columns: Sequence[int], content: Content) -> str:
    if len(columns) == 1:
        return name_of(columns[0], content)
    return f"columns {listed(_bare(column, content) for column in columns)}"


def _bare(column: int, content: Content) -> str:
    name = content.names[column] if content.names else ""
    return cut(name, LONGEST_NAME) or str(column)


def _index(content: Content, settings: TableSettings) -> dict[int, str]:
    """Columns that are the index, and why. Raises: BadField."""
    if settings.index is False:
        return {}
    if settings.index is True:
        return {0: "the index"}
    if settings.index is not None:
        return {_position(settings.index, content, "index"): "the index"}
    finding = content.index
    if finding.doubt and settings.columns is None:
        raise BadField(
            "index",
            f"{finding.doubt}, so it may be an index or a feature; set index = true to leave it out, or "
            "index = false to keep it",
        )
    return dict(finding.columns)


def _position(column: int | str, content: Content, field: str) -> int:
    """The position of a column. Raises: BadField."""
    last = content.width - 1
    if isinstance(column, int):
        if not -content.width <= column <= last:
            raise BadField(field, f"there is no column {column}; columns have the positions 0 … {last}")
        return column % content.width
    if not any(content.names):
        raise BadField(
            field, f"the columns have no names, so {column!r} is none; take a position, 0 … {last}"
        )
    places = [place for place, name in enumerate(content.names) if name == column]
    if not places:
        raise BadField(field, f"there is no column {column!r}; there are {listed(content.names)}")
    if len(places) > 1:
        at = ", ".join(map(str, places))
        raise BadField(field, f"{len(places)} columns are called {column!r}; take a position: {at}")
    return places[0]


def _check_chosen(features: Sequence[int], label: int | None, content: Content) -> None:
    """Raises: BadField for a column that is chosen twice, or is the label."""
    for number, column in enumerate(features):
        if column == label:
            raise BadField("columns", f"{name_of(column, content)} is the label; leave it out here")
        if column in features[:number]:
            raise BadField("columns", f"{name_of(column, content)} comes twice")


def _check_words(features: Sequence[int], content: Content, is_target: bool) -> None:
    """Raises: BadField for a feature that holds words."""
    column = next((column for column in features if column in content.words), None)
    if column is None:
        return
    holds = f"{name_of(column, content)} holds {content.words[column]}"
    if is_target:
        raise BadField("columns", f"{holds}; choose one column of words, or columns of numbers")
    choice = repr(content.names[column]) if content.names and content.names[column] else str(column)
    raise BadField(
        "label", f"{holds}; set label = {choice} if these are the labels, or leave it out by `columns`"
    )
