"""Texts of a document in which expressions may stand in braces: titles, the story, names of marks, claims."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import msgspec

from engine.core.expressions import BadExpression, fill, has_braces, plain
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.spec.experiment import Experiment

Raw = dict[str, Any]
Path = tuple[str | int, ...]
"""Where a text stands: the keys and numbers that lead to it."""

Change = Callable[[str, Path], str]

TEXTS: Mapping[str, tuple[str, ...]] = {"": ("title", "story"), "pictures": ("title",), "claims": ("text",)}
"""The texts of a document, of each of its pictures, and of each of its claims."""

NAMED = ("marks", "contours")
"""The lists of a picture whose items have a name that is a text."""

PARTS = (("run",), ("problem",), ("problem", "matrix"), ("problem", "target"), ("protocol",))
"""The tables whose numbers texts may name, the last ones first where they have the same name."""


def with_texts_changed(document: Mapping[str, Any], change: Change) -> Raw:
    """A copy of a document with every such text as `change` makes it; what makes no sense is as it was."""
    made = _changed(document, TEXTS[""], (), change)
    for part in ("pictures", "claims"):
        if isinstance(made.get(part), list | tuple):
            made[part] = [_item(item, part, (part, number), change) for number, item in enumerate(made[part])]
    return made


def _item(item: Any, part: str, path: Path, change: Change) -> Any:
    if not isinstance(item, Mapping):
        return item
    made = _changed(item, TEXTS[part], path, change)
    for key in NAMED if part == "pictures" else ():
        if isinstance(made.get(key), list | tuple):
            made[key] = [
                _changed(one, ("name",), (*path, key, number), change) if isinstance(one, Mapping) else one
                for number, one in enumerate(made[key])
            ]
    return made


def _changed(table: Mapping[str, Any], keys: Sequence[str], path: Path, change: Change) -> Raw:
    texts = {key: table[key] for key in keys if isinstance(table.get(key), str)}
    return {**table, **{key: change(text, (*path, key)) for key, text in texts.items()}}


def place_of(path: Path) -> str:
    """A path as messages say it: `pictures[0].title`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def texts_of(document: Mapping[str, Any]) -> dict[Path, str]:
    """Every such text of a document."""
    found: dict[Path, str] = {}

    def note(text: str, path: Path) -> str:
        found[path] = text
        return text

    with_texts_changed(document, note)
    return found


def filled(document: Mapping[str, Any], numbers: Mapping[str, Any], names: Mapping[str, float]) -> Raw:
    """A document with values in place of the expressions of its texts.

    They may name d, n, m and axes, the numbers of the protocol, the target, the matrix, the problem and the
    run by the names of their fields, and the numbers beside the text: those of the same claim or mark, and
    those that `at` of the same picture sets.

    Args:
        numbers: the document with numbers for all other expressions.
        names: the values of axes, and d, n and m.

    Raises: BadInput for an expression without a value.
    """
    if not any(map(has_braces, texts_of(document).values())):
        return dict(document)
    of_parts = {name: value for path in PARTS for name, value in _numbers_in(_at(numbers, path))}
    known = {**names, **of_parts, **names}

    def change(text: str, path: Path) -> str:
        if not has_braces(text):
            return text
        table = _at(numbers, path[:-1])
        beside = dict([*_numbers_in(table), *_numbers_in(table.get("at"))])
        try:
            return fill(text, {**known, **beside})
        except BadExpression as error:
            right = f"braces hold an expression of {listed({**known, **beside})}"
            raise BadInput(place_of(path), f"{error}; {right}") from error

    return with_texts_changed(document, change)


def _at(document: Mapping[str, Any], path: Path) -> Any:
    """What stands at a path; an empty table where there is nothing."""
    try:
        return reduce(operator.getitem, path, document)  # type: ignore[arg-type]
    except (KeyError, IndexError, TypeError):
        return {}


def _numbers_in(table: Any) -> Iterator[tuple[str, float]]:
    for key, value in table.items() if isinstance(table, Mapping) else ():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield str(key), value


def as_document(described: Experiment | Raw) -> Raw:
    """An experiment as a document, in which the braces of its texts are braces; or a copy of a document."""
    document: Raw = dict(msgspec.to_builtins(described))
    if isinstance(described, Experiment):
        return with_texts_changed(document, lambda text, _: plain(text))
    return document
