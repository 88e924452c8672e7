"""Lists of the learners, sweep axes, pictures and claims of a set-up, and forms that edit an item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, OptionList, Static

from engine.spec.axis import Axis
from engine.spec.fields import fields_of
from hadamard_tui.charts.plots.series_builder import colour, mark
from hadamard_tui.colours.contrast import legible
from hadamard_tui.editing.typed_text import text_of
from hadamard_tui.keyboard import key
from hadamard_tui.widgets.controls import Choice, Lines, Small, compact
from hadamard_tui.widgets.form import Fields, PartForm

if TYPE_CHECKING:
    from hadamard_tui.editing.editable_experiment import EditableExperiment


class LearnerList(Lines):
    """List with one line per learner. It reports moves of the highlight only if the user makes them."""

    DEFAULT_CSS = """
    LearnerList {
        height: auto; max-height: 9; border: none; padding: 0;
        background: transparent; scrollbar-size-vertical: 1;
    }
    LearnerList:focus { border: none; }
    """

    def show(self, editable: EditableExperiment, selected: int) -> None:
        with self.prevent(OptionList.OptionHighlighted):
            self.write([learner_line(editable, number) for number in range(len(editable.learners))])
            self.highlighted = selected


def learner_line(editable: EditableExperiment, number: int) -> Text:
    learner = editable.learners[number]
    place = editable.place_in_run(number)
    if editable.refused(number):
        sign, style = "▲", "bold"
    elif place is None:
        sign, style = "○", "dim"
    else:
        kind_place = editable.kind_places.get(str(learner["name"]))
        sign, style = mark(editable.letters[number]), f"bold {legible(colour(kind_place))}"
    off = "off, " if place is None else ""
    return Text.assemble(
        (f"{sign} ", style), str(learner["name"]), (f"  {off}{learner_method(learner)}", "dim")
    )


def learner_method(learner: dict[str, Any]) -> str:
    parts = (learner.get(part) for part in ("architecture", "update", "solver"))
    return " · ".join(str(part["kind"]) for part in parts if part)


VALUES, RANGE = "values", "range"
"""Two ways to give a sweep axis: as a list of values, or as a range."""

AXIS_FIELDS = {
    VALUES: ("name", "values", "log", "set"),
    RANGE: ("name", "from", "to", "points", "log", "set"),
}


class AxisForm(Vertical):
    """Form of a sweep axis: a choice between a list of values and a range, and the fields for this choice."""

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
        yield Fields(self._place, [fields[field_name] for field_name in AXIS_FIELDS[by]], self._values)


def picture_form(place: str, picture: dict[str, Any]) -> Iterator[Widget]:
    from engine.pictures.picture import Picture

    yield PartForm(f"{place}.measure", "measure", "measures", picture["measure"])
    yield Fields(place, fields_of(Picture), picture)


def axis_form(place: str, axis: dict[str, Any]) -> Iterator[Widget]:
    yield AxisForm(place, axis)


def claim_form(place: str, claim: dict[str, Any]) -> Iterator[Widget]:
    yield PartForm(place, "claim", "claims", claim)


def axis_line(axis: dict[str, Any]) -> str:
    if axis.get("values") is not None:
        return f"{axis.get('name')}: {text_of(axis['values'])}"
    return f"{axis.get('name')}: {text_of(axis.get('from'))} … {text_of(axis.get('to'))}"


def picture_line(picture: dict[str, Any]) -> str:
    against = f"{picture['measure']['kind']} against {picture.get('x')}"
    return str(picture.get("title") or picture.get("name") or against)


def claim_line(claim: dict[str, Any]) -> str:
    return str(claim.get("text"))


class ItemKind(msgspec.Struct, frozen=True):
    """Kind of the items in a list, such as sweep axes.

    `line` returns the line of text of an item, and `form` returns its form.
    """

    singular: str
    about: str
    line: Callable[[dict[str, Any]], str]
    form: Callable[[str, dict[str, Any]], Iterator[Widget]]

    @property
    def with_article(self) -> str:
        return f"{'an' if self.singular[0] in 'aeiou' else 'a'} {self.singular}"

    @property
    def sentence(self) -> str:
        return f"{self.with_article.capitalize()} {self.about}"


KINDS = {
    "axes": ItemKind("axis", "runs the experiment once for each value of a field", axis_line, axis_form),
    "pictures": ItemKind(
        "picture", "draws a measure against examples, steps or a sweep axis", picture_line, picture_form
    ),
    "claims": ItemKind(
        "claim", "states what the curves do, and every run checks the statement", claim_line, claim_form
    ),
}
"""Kinds of items, by the key of their list in a preset file."""


class ItemForm(Vertical):
    """Form of one sweep axis, picture or claim."""

    DEFAULT_CSS = "ItemForm { height: auto; border-left: outer $panel; padding: 0 0 0 1; }"

    def __init__(self, part: str, number: int, values: dict[str, Any]) -> None:
        super().__init__()
        self._part, self._number, self._values = part, number, values

    def compose(self) -> ComposeResult:
        yield from KINDS[self._part].form(f"{self._part}[{self._number}]", self._values)


class ItemList(Vertical):
    """List of the sweep axes, pictures or claims of a set-up, with one line per item.

    Enter opens or closes the form of an item.
    """

    DEFAULT_CSS = """
    ItemList { height: auto; }
    ItemList > Lines {
        height: auto; max-height: 9; border: none; padding: 0;
        background: transparent; scrollbar-size-vertical: 1;
    }
    ItemList > Lines:focus { border: none; }
    """

    class Requested(Message):
        """Message: the user wants to add or remove an item of the list, or to open or close its form.

        For a sweep axis, the request may also be to give its values as a list or as a range.
        """

        def __init__(self, items: ItemList, action: str, number: int = 0) -> None:
            super().__init__()
            self.items, self.part, self.action, self.number = items, items.part, action, number

    def __init__(self, part: str) -> None:
        super().__init__(id=f"{part}-items")
        self.part = part
        self.open: int | None = None
        """Number of the open item; None if all items are closed."""

        self._editable: EditableExperiment | None = None

    def on_mount(self) -> None:
        if self._editable is not None:
            self.show(self._editable)

    def compose(self) -> ComposeResult:
        kind = KINDS[self.part]
        yield compact(Lines(id=f"{self.part}-list"))
        with Horizontal(classes="line"):
            for button_id, action in (
                ("add", f"Add {kind.with_article}"),
                ("remove", f"Remove this {kind.singular}"),
            ):
                tooltip = f"{action} ({key(f'{button_id}_learner')} in the list)"
                yield Small(button_id, classes=button_id, tooltip=tooltip)

    @property
    def selected(self) -> int | None:
        number = self.query_one(Lines).highlighted
        return self.open if number is None else number

    def show(self, editable: EditableExperiment) -> None:
        """List the items of a set-up.

        A key press may call this method before the list is mounted. In this case, only the set-up is stored.
        """
        self._editable = editable
        if not self.query(Lines):
            return
        lines = self.query_one(Lines)
        place = lines.highlighted
        items = editable.raw[self.part]
        with self.prevent(OptionList.OptionHighlighted):
            lines.write([self._item_line(editable, number) for number in range(len(items))])
            lines.highlighted = min(place, len(items) - 1) if place is not None and items else None
        lines.display = bool(items)

    def _item_line(self, editable: EditableExperiment, number: int) -> Text:
        sign = "▾ " if number == self.open else "▸ "
        line = KINDS[self.part].line(editable.raw[self.part][number])
        left_out = editable.left_out.get(number) if self.part == "claims" else None
        if left_out is None:
            place = f"{self.part}[{number}]"
            wrong = editable.error is not None and editable.error.where.startswith(place)
            return Text.assemble(("▲ " if wrong else sign, "bold"), line)
        return Text.assemble(("▲ left out: ", "bold"), line, (f" – {left_out.why.fault}", "italic"))

    async def turn(self, editable: EditableExperiment, number: int | None) -> None:
        self.open = number
        await self.query(ItemForm).remove()
        if number is not None:
            await self.mount(ItemForm(self.part, number, editable.raw[self.part][number]), after=0)
        self.show(editable)

    def enter(self) -> None:
        if fields := self.query("ItemForm Input, ItemForm Choice"):
            self.screen.set_focus(fields.first())

    @on(OptionList.OptionSelected)
    def _item_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Requested(self, "turn", event.option_index))

    @on(OptionList.OptionHighlighted)
    def _item_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()  # otherwise, the set-up would select the learner with this number

    @on(Choice.Changed, "#given-by")
    def _given_by_chosen(self, event: Choice.Changed) -> None:
        event.stop()
        if self.open is not None:
            self.post_message(self.Requested(self, str(event.value), self.open))

    @on(Button.Pressed)
    def _button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.request("add" if event.button.has_class("add") else "remove")

    def request(self, action: str) -> None:
        """Request "add", or another action on the highlighted item.

        If another action is requested and no item is highlighted, notify the user.
        """
        number = self.selected
        if action == "add" or number is not None:
            self.post_message(self.Requested(self, action, number or 0))
        else:
            self.notify(f"No {KINDS[self.part].singular} is selected; enter in the list opens one.")
