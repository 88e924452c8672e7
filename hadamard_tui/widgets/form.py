"""Forms that write themselves: the fields of a part come from its Struct, not from this file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Select, Static

from engine.core.catalogue import members
from engine.core.parts import summary_of
from engine.spec.fields import Field, fields_of
from hadamard_tui.editing.typed_text import text_of, value_of
from hadamard_tui.widgets.choice import Choice
from hadamard_tui.widgets.entry import Entry


class Edited(Message):
    """A person changed the value at a place of the set-up, such as `problem.matrix.d`."""

    def __init__(self, row: Row, value: Any) -> None:
        super().__init__()
        self.row, self.place, self.value = row, row.place, value

    @property
    def choice(self) -> bool:
        """Whether the kind of a part was chosen, so that other fields belong below it now."""
        return self.place.endswith(".kind")


TITLE = 14
"""Columns of a title."""

NONE = ""
"""What a choice has in place of no value."""

FLAGS = {None: NONE, True: "yes", False: "no"}
AUTO = [("auto", NONE), ("yes", "yes"), ("no", "no")]
"""A flag that may be left to what it is about."""


class Row(Vertical):
    """A title, a control, what an expression in it comes to, and below them what is wrong with the value, and
    its help while it is edited.

    What stands beside the control is drawn by the row itself, and what most rows never say below it has a
    widget once it is said: there are many rows, and widgets are what a form costs.
    """

    DEFAULT_CSS = """
    Row { height: auto; color: $text-muted; }
    Row > Input, Row > Select, Row > Checkbox { width: 1fr; margin: 0 0 0 14; }
    Row > Checkbox { color: $foreground; }
    Row .problem { display: none; color: $text-error; padding: 0 0 0 1; height: auto; }
    Row.-wrong .problem { display: block; }
    Row .help { display: none; color: $text-muted; text-style: italic; padding: 0 0 0 1; height: auto; }
    Row.-edited .help { display: block; }
    """

    def __init__(self, place: str, title: str, help: str, control: Widget, value: Any) -> None:
        """`value` is what the control shows at first, and nothing to tell of."""
        super().__init__()
        self.place, self._value = place, value
        self._title, self._control = title, control
        self.said = ""
        """What is said beside the control."""
        self.explain(help)

    def compose(self) -> ComposeResult:
        yield self._control

    def render(self) -> Content:
        """The title, left of the control, and what the expression in it comes to, right of it."""
        title = Content(self._title).truncate(TITLE, ellipsis=True, pad=True)
        return title.pad_right(max(0, self.size.width - TITLE - cell_len(self.said))) + self.said

    def explain(self, help: str) -> None:
        """Say what the value means: below the control while it has the focus, and to the mouse."""
        self._help = help
        self.tooltip = Content(help) if help else None
        if self.has_class("-edited"):
            self._write("help", help)

    def on_descendant_focus(self) -> None:
        self.add_class("-edited")
        self._write("help", self._help)

    def on_descendant_blur(self) -> None:
        self.remove_class("-edited")

    def say_value(self, value: Any) -> None:
        """Say beside the control what the expression in it comes to, or nothing."""
        self.said = "" if value is None else f"= {text_of(value, digits=6)}"
        self._control.styles.margin = (0, cell_len(self.said) + 1 if self.said else 0, 0, TITLE)
        self.refresh()

    @property
    def _ready(self) -> bool:
        """Whether lines can be added: a row is spoken to before it is composed, and when it is taken away."""
        return self.is_attached and self._control.is_attached

    def is_about(self, where: str) -> bool:
        """Whether a place is that of this row, or inside its value."""
        where = where.partition(" where ")[0]  # at which point of the axes
        if self.place.endswith(".kind"):
            return where in (self.place, self.place.removesuffix(".kind"))
        return where == self.place or where.startswith((f"{self.place}[", f"{self.place}."))

    def complain(self, problem: str) -> None:
        """Say below the control what is wrong, or nothing."""
        self.set_class(bool(problem), "-wrong")
        if problem:
            self._write("problem", f"▲ {problem}")

    def _write(self, kind: str, text: str) -> None:
        """Have a line below the control say something."""
        if lines := self.query(f".{kind}"):
            lines.only_one(Static).update(text)
        elif text and self._ready:
            line = Static(text, classes=kind, markup=False)
            self.mount(line, after=0 if kind == "problem" else None)

    @on(Input.Changed)
    @on(Select.Changed)
    @on(Checkbox.Changed)
    def _edited(self, event: Input.Changed | Select.Changed | Checkbox.Changed) -> None:
        event.stop()
        if (value := self._read(event.value)) != self._value:
            self._value = value
            self.post_message(Edited(self, value))

    def _read(self, value: Any) -> Any:
        return value


class Flag(Checkbox):
    """A check box that says yes or no: Textual's own tells them apart by colour only."""

    def __init__(self, value: bool) -> None:
        super().__init__("", value=value, compact=True)
        self._say()

    def watch_value(self) -> None:
        super().watch_value()
        self._say()

    def _say(self) -> None:
        self.BUTTON_INNER = "X" if self.value else " "
        self.label = "yes" if self.value else "no"


class FieldRow(Row):
    """The row of one hyperparameter."""

    def __init__(self, place: str, field: Field, value: Any) -> None:
        self._field = field
        range_ = f" ({field.limits})" if field.limits else ""
        control = self._make(field, value)
        shown = self._read(control.value) if isinstance(control, Input) else value
        super().__init__(place, field.title, f"{field.help}{range_}", control, shown)

    def _make(self, field: Field, value: Any) -> Widget:
        if field.kind == "flag" and not field.optional:
            return Flag(bool(value))
        if field.kind == "flag":
            return Choice(AUTO, value=_word(value), allow_blank=False, compact=True)
        if field.kind == "choice":
            none = [("none", NONE)] if field.optional else []
            options = [*none, *((choice, choice) for choice in field.choices)]
            return Choice(options, value=_word(value), allow_blank=False, compact=True)
        hint = "none" if field.optional else "" if field.default is None else text_of(field.default)
        return Entry(text_of(value), placeholder=hint, compact=True)

    def follow(self, value: Any) -> None:
        """Show another value, which came about elsewhere, unless a person is at this one."""
        text, control = text_of(value), self._control
        if isinstance(control, Entry) and not control.has_focus and control.value != text:
            self._value = self._read(text)
            with control.prevent(Input.Changed):
                control.value = text

    def _read(self, value: Any) -> Any:
        """The value as TOML would give it."""
        if self._field.kind == "flag" and isinstance(value, str):
            return {word: said for said, word in FLAGS.items()}[value]
        if self._field.kind == "choice":
            return None if value == NONE else value
        if not isinstance(value, str) or (self._field.kind == "text" and not self._field.optional):
            return value
        if self._field.kind == "text":
            return value or None
        return value_of(self._field, value)


def _word(value: Any) -> str:
    """What a choice has for a value."""
    return FLAGS[value] if value in (None, True, False) else str(value)


class Fields(Vertical):
    """The rows of a Struct at a place of the set-up: all of them, or some in the order of `names`."""

    DEFAULT_CSS = "Fields { height: auto; }"

    def __init__(
        self,
        place: str,
        struct: type[msgspec.Struct],
        values: dict[str, Any],
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self._place, self._values = place, values
        fields = {field.name: field for field in fields_of(struct)}
        self._fields = [fields[name] for name in names or fields]

    def compose(self) -> ComposeResult:
        for field in self._fields:
            yield FieldRow(f"{self._place}.{field.name}", field, self._values.get(field.name, field.default))


class PartForm(Vertical):
    """A choice among the members of a family, and the fields of the member chosen."""

    DEFAULT_CSS = "PartForm { height: auto; }"

    def __init__(self, place: str, title: str, family: str, values: dict[str, Any]) -> None:
        super().__init__()
        self.place = place
        self._title, self._family, self._values = title, family, values

    def compose(self) -> ComposeResult:
        kinds = members(self._family)
        kind = str(self._values["kind"])
        select = Choice([(name, name) for name in kinds], value=kind, allow_blank=False, compact=True)
        part = kinds[kind]
        yield Row(f"{self.place}.kind", self._title, summary_of(part), select, kind)
        yield Fields(self.place, part, self._values)

    async def rebuild(self, values: dict[str, Any]) -> None:
        """Show the fields of the member that was chosen."""
        self._values = values
        part = members(self._family)[str(values["kind"])]
        self.query_one(Row).explain(summary_of(part))
        await self.query_one(Fields).remove()
        await self.mount(Fields(self.place, part, values))
