"""Which columns of a table are features, which one is the label, and which are left out, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    if content.has_labels and label is not None:
        raise BadField("label", "in this format the label stands first in every line; leave it out")
    place = None if label is None else _position(label, content, "label")
    index = _index(content, settings)
    if place is not None and index.pop(place, "") and settings.index is not None:
        raise BadField("index", f"{name_of(place, content)} is the label; leave one of the two out")
    if settings.columns is None:
        features, left_out = _all_features(content, place, index)
    else:
        chosen_index = () if settings.index is None else index
        features, left_out = _chosen_features(content, settings.columns, place, chosen_index)
    if is_target and content.has_labels:
        features = []
    elif is_target and len(features) == 1 and features[0] in content.words:
        features, place = [], features[0]
    _check_words(features, content, is_target, place is not None)
    if not features and not (is_target and (place is not None or content.has_labels)):
        rest = "index" if index else "label"
        raise BadField(rest, f"the {rest} is the only column; the table has no other")
    return Layout(tuple(features), place, tuple(left_out))


def _all_features(
    content: Content, label: int | None, index: Mapping[int, str]
) -> tuple[list[int], list[LeftOut]]:
    """All columns but the label, the index and empty ones, and why the latter are no features."""
    left_out = [LeftOut(name_of(column, content), reason) for column, reason in index.items()]
    if content.empty:
        left_out.append(LeftOut(_names(content.empty, content), "empty, at the end of every line"))
    aside = {label, *index, *content.empty}
    return [column for column in range(content.width) if column not in aside], left_out


def _chosen_features(
    content: Content, columns: Sequence[int | str], label: int | None, index: Collection[int]
) -> tuple[list[int], list[LeftOut]]:
    """The columns that the settings choose, and those that they leave out. Raises: BadField."""
    features = [_position(column, content, "columns") for column in columns]
    for number, column in enumerate(features):
        if column == label:
            raise BadField("columns", f"{name_of(column, content)} is the label; leave it out of `columns`")
        if column in index:
            raise BadField("columns", f"{name_of(column, content)} is the index; leave it out of `columns`")
        if column in features[:number]:
            raise BadField("columns", f"{name_of(column, content)} comes twice")
    unchosen = set(range(content.width)) - {*features, *content.empty, label}
    reason = "not among `columns`"
    return features, [LeftOut(_names(sorted(unchosen), content), reason)] if unchosen else []


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


def _check_words(features: Sequence[int], content: Content, is_target: bool, has_label: bool) -> None:
    """Raises: BadField for a feature that holds words."""
    column = next((column for column in features if column in content.words), None)
    if column is None:
        return
    holds = f"{name_of(column, content)} holds {content.words[column]}"
    if is_target:
        raise BadField("columns", f"{holds}; choose one column of words, or columns of numbers")
    if has_label:
        raise BadField("columns", f"{holds}; choose the columns of numbers")
    choice = repr(content.names[column]) if content.names and content.names[column] else str(column)
    raise BadField(
        "label", f"{holds}; set label = {choice} if these are the labels, or leave it out by `columns`"
    )
