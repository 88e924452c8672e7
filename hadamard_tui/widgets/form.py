"""Forms that edit the parts of a set-up. They are built from the fields of the parts' classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Static

from engine.core.catalogue import members
from engine.core.parts import summary_of
from engine.spec.fields import UNTAGGED, Field, fields_of
from hadamard_tui.editing.typed_text import text_of, value_of
from hadamard_tui.keyboard import motions
from hadamard_tui.widgets.controls import Choice, Entry, NumberEntry, compact


class Edited(Message):
    """Message: the user changed the value at a place of the set-up, such as `problem.matrix.d`."""

    def __init__(self, row: Row, value: Any) -> None:
        super().__init__()
        self.row, self.place, self.value = row, row.place, value


class Stepped(Message):
    """Message: the user requests the next larger or smaller number at a place of the set-up."""

    def __init__(self, row: FieldRow, up: bool) -> None:
        super().__init__()
        self.row, self.place, self.up = row, row.place, up


class Varied(Message):
    """Message: the user wants to run a sweep, which tries several values of the number in a form row."""

    def __init__(self, row: FieldRow) -> None:
        super().__init__()
        self.row = row


TITLE = 14
"""Width of a title in cells."""

NONE = ""
"""Value of a choice for "no value"."""

NUMBERS = ("whole", "number", "numbers", "rates")
"""Kinds of fields that can hold a single number."""

FLAGS = {None: NONE, True: "yes", False: "no"}
AUTO = [("auto", NONE), ("yes", "yes"), ("no", "no")]
"""Words and values of an optional flag. Its third value, "auto", lets the program decide."""


class Row(Vertical):
    """Form row: a title, a control, and the value of a typed expression.

    An error and a help text may follow below. The row itself draws the title and the value. Because a set-up
    has many rows and each widget takes time, widgets for the error and the help exist only if these have
    text. The help is visible while the control has the focus.
    """

    DEFAULT_CSS = """
    Row { height: 1; color: $text-muted; }
    Row.-wrong, Row.-edited { height: auto; }
    Row > Input, Row > Choice, Row > Checkbox { width: 1fr; margin: 0 0 0 14; }
    Row > Checkbox { color: $foreground; }
    Row .problem { display: none; color: $text-error; padding: 0 0 0 1; height: auto; }
    Row.-wrong .problem { display: block; }
    Row .help { display: none; color: $text-muted; text-style: italic; padding: 0 0 0 1; height: auto; }
    Row.-edited .help { display: block; }
    """

    def __init__(self, place: str, title: str, help: str, control: Widget, value: Any) -> None:
        super().__init__()
        self.place, self._value = place, value
        self._title, self._control = title, control
        self.value_text = ""
        """Value of the typed expression as text, to the right of the control; empty if no value is shown."""
        self._sweep = ""
        """Sentences that say that a sweep replaces the value of the row; empty if none does."""
        self.explain(help)

    def compose(self) -> ComposeResult:
        yield self._control

    def render(self) -> Content:
        """Return the title at the left and the value of an expression at the right.

        The control covers the space between them.
        """
        title = Content(self._title).truncate(TITLE, ellipsis=True, pad=True)
        return title.pad_right(max(0, self.size.width - TITLE - cell_len(self.value_text))) + self.value_text

    def explain(self, help: str) -> None:
        """Set the help text, shown as a tooltip, and below the control while the control has the focus."""
        self._help = help
        self.tooltip = Content(help) if help else None
        if self.has_class("-edited"):
            self._write_below("help", self._help_with_sweep)

    def on_descendant_focus(self) -> None:
        self.add_class("-edited")
        self._write_below("help", self._help_with_sweep)

    def on_descendant_blur(self) -> None:
        self.remove_class("-edited")

    def say_value(self, value: Any) -> None:
        self._show_beside("" if value is None else f"= {text_of(value, digits=6)}")

    def say_sweep(self, points: Sequence[Any]) -> None:
        """Show that a sweep replaces the row's value by `points`. Without points, remove this remark."""
        sweep = f"Swept: {text_of(points, digits=6)}. A typed value ends the sweep." if points else ""
        if sweep == self._sweep:
            return
        self._sweep = sweep
        if sweep:
            self._show_beside(f"swept to {text_of(points[-1], digits=6)}")
        if self.has_class("-edited"):
            self._write_below("help", self._help_with_sweep)

    def _show_beside(self, words: str) -> None:
        if words != self.value_text:  # only then, because a new margin lays out the whole form again
            self.value_text = words
            self._control.styles.margin = (0, cell_len(words) + 1 if words else 0, 0, TITLE)
            self.refresh()

    @property
    def _help_with_sweep(self) -> str:
        return " ".join(filter(None, (self._sweep, self._help)))

    @property
    def _is_mountable(self) -> bool:
        """Whether widgets can be mounted below the control of the form row.

        This is impossible before the row is composed, and while it is being removed.
        """
        return self.is_attached and self._control.is_attached

    def is_about(self, where: str) -> bool:
        """Return whether an error is about this row's value. `where` is the path of the error."""
        where = where.partition(" where ")[0]  # without the sweep point
        return where == self.place or where.startswith((f"{self.place}[", f"{self.place}."))

    def complain(self, problem: str) -> None:
        self.set_class(bool(problem), "-wrong")
        if problem:
            self._write_below("problem", f"▲ {problem}")

    def _write_below(self, kind: str, text: str) -> None:
        """Show an error or a help text below the control of the row; `kind` is "problem" or "help"."""
        if lines := self.query(f".{kind}"):
            lines.only_one(Static).update(text)
        elif text and self._is_mountable:
            line = Static(text, classes=kind, markup=False)
            self.mount(line, after=0 if kind == "problem" else None)

    @property
    def typed(self) -> bool:
        return isinstance(self._control, Entry)

    @on(Input.Changed)
    @on(Choice.Changed)
    @on(Checkbox.Changed)
    def _control_changed(self, event: Input.Changed | Choice.Changed | Checkbox.Changed) -> None:
        event.stop()
        if (value := self._entered_value(event.value)) != self._value:
            self._value = value
            self.post_message(Edited(self, value))

    def _entered_value(self, value: Any) -> Any:
        return value


class Flag(Checkbox):
    """Check box that is labelled "yes" or "no". Textual's own check box shows its state only by a colour."""

    def __init__(self, value: bool) -> None:
        super().__init__("", value=value, classes="-on" if value else "")
        compact(self)
        self._show_state()

    def watch_value(self) -> None:
        super().watch_value()
        self._show_state()

    def _show_state(self) -> None:
        self.BUTTON_INNER = "X" if self.value else " "
        self.label = "yes" if self.value else "no"


class FieldRow(Row):
    """Form row in which the user edits one hyperparameter."""

    def __init__(self, place: str, field: Field, value: Any) -> None:
        self._field = field
        range_ = f" ({field.limits})" if field.limits else ""
        control = self._new_control(field, value)
        shown = self._entered_value(control.value) if isinstance(control, Input) else value
        super().__init__(place, field.title, f"{field.help}{range_}", control, shown)

    def _new_control(self, field: Field, value: Any) -> Widget:
        if field.kind == "flag" and not field.optional:
            return Flag(bool(value))
        if field.kind == "flag":
            return Choice(AUTO, value=_choice_word(value))
        if field.kind == "choice":
            none = [("none", NONE)] if field.optional else []
            options = [*none, *((choice, choice) for choice in field.choices)]
            return Choice(options, value=_choice_word(value))
        hint = "none" if field.optional else "" if field.default is None else text_of(field.default)
        entry = NumberEntry if field.kind in NUMBERS else Entry
        return compact(entry(text_of(value, kind=field.kind), placeholder=hint))

    @property
    def is_whole(self) -> bool:
        return self._field.kind == "whole"

    @on(NumberEntry.Stepped)
    def _number_stepped(self, event: NumberEntry.Stepped) -> None:
        event.stop()
        self.post_message(Stepped(self, event.up))

    @on(NumberEntry.Varied)
    def _number_varied(self, event: NumberEntry.Varied) -> None:
        event.stop()
        self.post_message(Varied(self))

    @property
    def symbol(self) -> str:
        """Symbol of the hyperparameter in formulas: the last word of its title, such as η in "rate η"."""
        return self._title.split()[-1]

    def follow(self, value: Any, typed: bool = True) -> None:
        """Show a value that was set outside this row.

        If `typed`, an input line that has the focus keeps its text. A list of choices ignores a value that it
        does not offer. Such a value belongs to another part, whose rows will soon replace this row.
        """
        text, control = text_of(value, kind=self._field.kind), self._control
        if isinstance(control, Entry):
            if control.value != text and not (typed and control.has_focus):
                self._value = self._entered_value(text)
                with control.prevent(Input.Changed):
                    control.value = text
        elif isinstance(control, Choice):
            if value != self._value and control.offers(_choice_word(value)):
                self._value = value
                with control.prevent(Choice.Changed):
                    control.value = _choice_word(value)
        elif value != self._value:
            assert isinstance(control, Flag), "a field is a line of text, a choice or a flag"
            self._value = value
            with control.prevent(Checkbox.Changed):
                control.value = bool(value)

    def _entered_value(self, value: Any) -> Any:
        """Convert the value of the row's control to the value of the field in a preset file."""
        if self._field.kind == "flag" and isinstance(value, str):
            return {word: flag for flag, word in FLAGS.items()}[value]
        if self._field.kind == "choice":
            return None if value == NONE else value
        if not isinstance(value, str) or (self._field.kind == "text" and not self._field.optional):
            return value
        if self._field.kind == "text":
            return value or None
        return value_of(self._field, value)


def _choice_word(value: Any) -> str:
    return FLAGS[value] if value in (None, True, False) else str(value)


class KindRow(Row):
    """Form row in which the user chooses the kind of a part, such as the kind of update rule, or no part."""

    def __init__(self, part: str, title: str, help: str, control: Widget, value: Any) -> None:
        super().__init__(f"{part}.kind", title, help, control, value)
        self.part = part

    def is_about(self, where: str) -> bool:
        """Return whether an error is about the part or its kind. `where` is the path of the error.

        An error about a field of the part is not: the row of this field shows it.
        """
        return where.partition(" where ")[0] in (self.part, self.place)

    def show_kind(self, kind: str | None) -> None:
        control = self._control
        if isinstance(control, Choice) and control.offers(kind or NONE):
            self._value = kind
            with control.prevent(Choice.Changed):
                control.value = kind or NONE

    def _entered_value(self, value: Any) -> str | None:
        if isinstance(value, bool):
            return UNTAGGED if value else None
        return value or None


class More(Static, can_focus=True):
    """Line in a form. It shows or hides the rows of fields that few experiments set."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    More { height: 1; color: $text-muted; }
    More:focus { background: $boost; color: $foreground; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *motions(choose="turn"),
        Binding("space", "turn", "Open or close", show=False),
    ]

    class Turned(Message):
        """Message: the user opens or closes the rows of rarely used fields."""

        def __init__(self, fields: Fields) -> None:
            super().__init__()
            self.fields = fields

    def __init__(self, titles: Iterable[str]) -> None:
        super().__init__()
        self._titles = ", ".join(titles)
        self.opened = False

    def render(self) -> Content:
        line = Content(f"{'▾' if self.opened else '▸'} more: {self._titles}")
        return line.truncate(self.content_size.width, ellipsis=True)

    def action_turn(self) -> None:
        above = self.parent
        assert isinstance(above, Fields), "it stands for fields beside it"
        self.post_message(self.Turned(above))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.action_turn()


class Fields(Vertical):
    """Rows for some fields of a part.

    Fields that few experiments set are hidden behind one line while they have their default values. Their
    rows are mounted when the user opens this line.
    """

    DEFAULT_CSS = "Fields { height: auto; }"

    def __init__(self, place: str, fields: Sequence[Field], values: Mapping[str, Any]) -> None:
        super().__init__()
        self.place = place
        self._choose_rows(fields, values)

    def _choose_rows(self, fields: Sequence[Field], values: Mapping[str, Any]) -> None:
        """Set which fields get rows when the form is next composed, and which fields are hidden.

        Fields that are seldom changed are hidden while they have their default values.
        """
        self._values = values
        self._hidden = [
            field for field in fields if field.seldom and field.is_default(_value_at(values, field))
        ]
        self._fields = [field for field in fields if field not in self._hidden]
        self._opened: list[Widget] = []

    def compose(self) -> ComposeResult:
        yield from self._field_rows(self._fields, self._values)
        if self._hidden:
            yield More(field.title for field in self._hidden)

    async def turn(self, values: Mapping[str, Any]) -> None:
        """Show the hidden fields with their current `values`, or hide them again.

        Do nothing if the line that opens them no longer exists.
        """
        more = next(iter(self.query_children(More)), None)
        if more is None:  # the form now shows a part without such fields
            return
        more.opened = not more.opened
        more.refresh()
        if self._opened:
            await self.remove_children(self._opened)
            self._opened = []
        else:
            self._opened = list(self._field_rows(self._hidden, values))
            await self.mount_all(self._opened, after=more)

    def _field_rows(self, fields: Sequence[Field], values: Mapping[str, Any]) -> Iterator[Widget]:
        for field in fields:
            place, value = f"{self.place}.{field.name}", _value_at(values, field)
            yield OptionalPart(place, field, value) if field.members else FieldRow(place, field, value)


class PartForm(Fields):
    """Form of a part of the set-up, such as a learner's update rule.

    The form has a choice of the part's kind, and the fields of the chosen kind.
    """

    def __init__(self, place: str, title: str, family: str, values: Any) -> None:
        """Show the part at `place`. `values` is a table of the part's fields, or the name of its kind."""
        self._start_form(place, title, members(family), values)

    def _start_form(
        self, place: str, title: str, kinds: Mapping[str, type[msgspec.Struct]], values: Any
    ) -> None:
        self._title, self._members = title, kinds
        self._kind, fields = self._kind_and_values(values)
        super().__init__(place, self._fields_of_kind(), fields)

    def _kind_and_values(self, values: Any) -> tuple[str | None, Mapping[str, Any]]:
        """Return the kind of the part, or None if there is no part, and the values of its fields."""
        fields: Mapping[str, Any] = values if isinstance(values, Mapping) else {"kind": values}
        return str(fields["kind"]), fields

    def _fields_of_kind(self) -> tuple[Field, ...]:
        return () if self._kind is None else fields_of(self._members[self._kind])

    def compose(self) -> ComposeResult:
        yield KindRow(self.place, self._title, self._kind_summary, self._kind_choice(), self._kind)
        yield from super().compose()

    @property
    def _kind_summary(self) -> str:
        return "" if self._kind is None else summary_of(self._members[self._kind])

    def _kind_choice(self) -> Widget:
        return Choice([(kind, kind) for kind in self._members], value=self._kind or NONE)

    async def rebuild(self, values: Any) -> None:
        """Show the part in `values`, which may be of another kind."""
        choice, *field_rows = self.children
        self._kind, fields = self._kind_and_values(values)
        choice.show_kind(self._kind)  # type: ignore[attr-defined]
        self._choose_rows(self._fields_of_kind(), fields)
        choice.explain(self._kind_summary)  # type: ignore[attr-defined]
        await self.remove_children(field_rows)
        await self.mount_all(Fields.compose(self))


class OptionalPart(PartForm):
    """Form of an optional part. If the part can have only one kind, a check box switches it on or off."""

    def __init__(self, place: str, field: Field, values: Any) -> None:
        self._about = field.help
        self._start_form(place, field.title, field.members, values)

    def _kind_and_values(self, values: Any) -> tuple[str | None, Mapping[str, Any]]:
        if values is None:
            return None, {}
        return (UNTAGGED, values) if UNTAGGED in self._members else super()._kind_and_values(values)

    @property
    def _kind_summary(self) -> str:
        return super()._kind_summary if self._kind else self._about

    def _kind_choice(self) -> Widget:
        if UNTAGGED in self._members:
            return Flag(self._kind is not None)
        names = [("none", NONE), *((kind, kind) for kind in self._members)]
        return Choice(names, value=self._kind or NONE)


def _value_at(values: Mapping[str, Any], field: Field) -> Any:
    return values.get(field.name, field.default)
