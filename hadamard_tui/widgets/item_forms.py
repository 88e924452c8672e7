"""Forms of axes, pictures and claims, and the lines that list them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Static

from engine.spec.axis import Axis
from engine.spec.fields import fields_of
from hadamard_tui.editing.typed_text import text_of
from hadamard_tui.widgets.choice import Choice
from hadamard_tui.widgets.form import Fields, PartForm

VALUES, RANGE = "values", "range"
"""Ways to write the values of an axis: as a list, or by its ends."""

AXIS_FIELDS = {
    VALUES: ("name", "values", "log", "set"),
    RANGE: ("name", "from", "to", "points", "log", "set"),
}


class AxisForm(Vertical):
    """The fields of an axis, for the way in which its values are written."""

    DEFAULT_CSS = "AxisForm { height: auto; }"

    def __init__(self, place: str, values: dict[str, Any]) -> None:
        super().__init__()
        self._place, self._values = place, values

    def compose(self) -> ComposeResult:
        by = VALUES if self._values.get("from") is None and self._values.get("to") is None else RANGE
        with Horizontal(classes="line"):
            yield Static("given by", classes="title")
            options = [("its values", VALUES), ("its ends", RANGE)]
            yield Choice(options, value=by, id="given-by")
        fields = {field.name: field for field in fields_of(Axis)}
        yield Fields(self._place, [fields[name] for name in AXIS_FIELDS[by]], self._values)


def picture_form(place: str, values: dict[str, Any]) -> Iterator[Widget]:
    """Yield the fields of a picture and of its measure."""
    from engine.pictures.picture import Picture

    yield PartForm(f"{place}.measure", "measure", "measures", values["measure"])
    yield Fields(place, fields_of(Picture), values)


def axis_form(place: str, values: dict[str, Any]) -> Iterator[Widget]:
    """Yield the fields of an axis."""
    yield AxisForm(place, values)


def claim_form(place: str, values: dict[str, Any]) -> Iterator[Widget]:
    """Yield the fields of a claim."""
    yield PartForm(place, "claim", "claims", values)


def axis_line(values: dict[str, Any]) -> str:
    """Return an axis in one line."""
    if values.get("values") is not None:
        return f"{values.get('name')}: {text_of(values['values'])}"
    return f"{values.get('name')}: {text_of(values.get('from'))} … {text_of(values.get('to'))}"


def picture_line(values: dict[str, Any]) -> str:
    """Return a picture in one line."""
    against = f"{values['measure']['kind']} against {values.get('x')}"
    return str(values.get("title") or values.get("name") or against)


def claim_line(values: dict[str, Any]) -> str:
    """Return a claim in one line."""
    return str(values.get("text"))


class Kind(msgspec.Struct, frozen=True):
    """Items of a section: their name, their purpose, their line and their form."""

    one: str
    about: str
    line: Callable[[dict[str, Any]], str]
    form: Callable[[str, dict[str, Any]], Iterator[Widget]]

    @property
    def with_article(self) -> str:
        """Name behind the indefinite article."""
        return f"{'an' if self.one[0] in 'aeiou' else 'a'} {self.one}"


KINDS = {
    "axes": Kind("axis", "runs the experiment for each of its values", axis_line, axis_form),
    "pictures": Kind(
        "picture", "draws a measure against examples, steps or an axis", picture_line, picture_form
    ),
    "claims": Kind("claim", "is a statement about the curves that every run judges", claim_line, claim_form),
}
"""Kinds by the part of the document that holds the items."""
