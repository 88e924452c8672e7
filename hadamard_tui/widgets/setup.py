"""Set-up pane. Its forms edit everything in a preset except the preset's texts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.dom import DOMNode
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Static

from engine.core.parts import BadInput
from engine.spec import presets
from engine.spec.fields import fields_of
from hadamard_tui.editing.history import History, Step, shape
from hadamard_tui.editing.typed_text import steps_of_number
from hadamard_tui.keyboard import key
from hadamard_tui.state import state_file
from hadamard_tui.widgets.controls import Choice, Lines, PresetChoice, Small
from hadamard_tui.widgets.form import Edited, FieldRow, Fields, KindRow, More, PartForm, Row
from hadamard_tui.widgets.form import Stepped as RowStepped
from hadamard_tui.widgets.form import Varied as RowVaried
from hadamard_tui.widgets.item_lists import KINDS, ItemList, LearnerList

if TYPE_CHECKING:
    from engine.spec.reading import Raw
    from hadamard_tui.editing.editable_experiment import EditableExperiment

AnyRow = TypeVar("AnyRow", bound=Row)

BUTTONS = (
    ("add", "add", "Add a learner"),
    ("copy", "copy", "Add a copy of this learner"),
    ("remove", "remove", "Remove this learner"),
    ("on/off", "switch", "Leave this learner out of the run, or put it back"),
)
"""Buttons below the list of learners: label, id and effect. There is also a key for each button."""

METHODS = {"gradient": "update rule", "solver": "solver"}
OWN = ""
"""Value of the preset choice if the set-up is not a preset, or differs from its preset."""


class LearnerForm(Vertical):
    """Form with the fields of one learner: name, method and parts."""

    DEFAULT_CSS = "LearnerForm { height: auto; }"

    def __init__(self, editable: EditableExperiment, number: int) -> None:
        super().__init__()
        self.number = number
        # Read now, because the learner may be removed before the form is composed.
        self._values = editable.learners[number]

    def compose(self) -> ComposeResult:
        from engine.learners.learner import Learner

        place = f"learners[{self.number}]"
        values = self._values
        yield Fields(place, [field for field in fields_of(Learner) if not field.seldom], values)
        solving = values.get("solver") is not None
        with Horizontal(classes="line"):
            yield Static("learns by", classes="title")
            yield Choice(
                [(title, kind) for kind, title in METHODS.items()],
                value="solver" if solving else "gradient",
                id="method",
            )
        if solving:
            yield PartForm(f"{place}.solver", "solver", "solvers", values["solver"])
        else:
            yield PartForm(f"{place}.architecture", "architecture", "architectures", values["architecture"])
            if values.get("update") is not None:
                yield PartForm(f"{place}.update", "update", "updates", values["update"])
        yield Fields(place, [field for field in fields_of(Learner) if field.seldom], values)


class SetupPane(VerticalScroll, can_focus=False):
    """Pane in which the user edits the experiment.

    It reports changes to the screen, and never starts a run itself.
    """

    DEFAULT_CSS = """
    SetupPane .section { margin: 1 0 0 0; text-style: bold; color: $primary; }
    SetupPane .line { height: 1; }
    SetupPane .line .title { width: 14; color: $text-muted; }
    SetupPane .line Choice { width: 1fr; }
    SetupPane Button { min-width: 6; width: 1fr; }
    SetupPane #blurb { color: $text-muted; height: auto; }
    SetupPane #elsewhere { display: none; color: $text-error; height: auto; }
    """

    class Changed(Message):
        """Message: the set-up has changed, or another learner is selected."""

    class Stepped(Message):
        """Message: the user increased or decreased a number by a key, so a run should start immediately."""

    class Picked(Message):
        """Request to show the fields of the selected learner.

        This request is a message, so that Textual handles it after earlier messages, which may change the
        panels.
        """

    class Outdated(Message):
        """Request to show the changes of the set-up. Several quick changes cause one request."""

    class Replaced(Message):
        """Request to rebuild the panels for another set-up. Several quick requests cause one rebuild."""

    def __init__(self, editable: EditableExperiment, id: str | None = None) -> None:
        super().__init__(id=id)
        self.editable = editable
        self._learner = 0
        self._history = History(editable)
        self._complaint = editable.error
        self.filled = False
        """Whether the panels are mounted. The first paint does not wait for their 200 widgets."""
        self._entered: str | None = None
        """Place of the field to focus, "" for the first field; None if the user has not entered the pane."""
        self._stale = False
        """Whether the panels still show a previous set-up."""
        self._outdated = False
        """Whether there is a change that the pane does not show yet."""
        self._idle_axes: tuple[str, ...] = ()
        """Sentences about sweep axes that change no run, after the last valid edit."""
        self._making = asyncio.Lock()
        self._leaving: WeakSet[DOMNode] = WeakSet()
        """Panels of previous learners or set-ups that are waiting for removal."""

    @property
    def learner(self) -> int:
        return min(self._learner, len(self.editable.learners) - 1)

    def on_show(self) -> None:
        if not self.filled:
            self.call_after_refresh(self.fill)

    async def fill(self) -> None:
        """Mount the panels of the pane, unless they are mounted already or the pane is hidden."""
        async with self._making:  # the pane may be shown twice before the panels are mounted
            if self.filled or not self.display:  # the pane may be hidden again by now
                return
            self._stale = False
            await self.mount_compose(self._compose_panels())
            self.filled = True
        if self._entered is not None:
            self.enter(self._entered)
        self.show_list()
        self._show_complaint()

    def _compose_panels(self) -> ComposeResult:
        from engine.problems.problem import Problem
        from engine.spec.experiment import RunSettings

        raw = self.editable.raw
        yield Static("Preset", classes="section")
        yield PresetChoice(
            self._preset_choices(), value=self._preset_value(), not_typed=(key("setup"),), id="preset"
        )
        yield Static("", id="elsewhere", markup=False)
        yield Static("Problem", classes="section")
        yield PartForm("problem.matrix", "matrix", "matrices", raw["problem"]["matrix"])
        yield PartForm("problem.target", "target", "targets", raw["problem"]["target"])
        yield Fields("problem", fields_of(Problem), raw["problem"])
        yield Static("Learners", classes="section")
        yield LearnerList(id="learners")
        with Horizontal(classes="line"):
            for label, id, summary in BUTTONS:
                tooltip = f"{summary} ({key(f'{id}_learner')})"
                yield Small(label, id=id, tooltip=tooltip)
        yield LearnerForm(self.editable, self.learner)
        yield Static("Protocol", classes="section")
        yield PartForm("protocol", "protocol", "protocols", raw["protocol"])
        yield Static("Run", classes="section")
        yield Fields("run", fields_of(RunSettings), raw["run"])
        for kind in KINDS:
            yield Static(kind.capitalize(), classes="section")
            yield ItemList(kind)

    def _preset_value(self) -> str:
        return OWN if self.editable.preset is None or self.editable.changed else self.editable.preset

    def _preset_choices(self) -> list[tuple[str, str]]:
        """Return the presets to choose from, as pairs of displayed name and value.

        If the set-up has no preset or differs from its preset, the first pair stands for the set-up.
        """
        preset, shipped = self.editable.preset, presets.names()
        shown_name = (
            f"({presets.name_of(preset) if preset else 'your own'}, changed)"
            if self.editable.changed
            else "(your own)"
        )
        opened = [] if preset is None or preset in shipped else [preset]
        saved = list(dict.fromkeys([*opened, *state_file.own_presets()]))
        short = Counter([*shipped, *map(presets.name_of, saved)])
        named = [
            (presets.name_of(path) if short[presets.name_of(path)] == 1 else path, path) for path in saved
        ]
        return [
            *([(shown_name, OWN)] if self._preset_value() == OWN else []),
            *named,
            *((preset_name, preset_name) for preset_name in shipped),
        ]

    def saved(self, path: str, document: Raw) -> None:
        """Name the set-up after the file to which `document` was saved, unless it has changed since."""
        if self.editable.document != document:
            return
        self.editable.saved_as(path, document)
        self._history.amend(self.editable)
        self._record_change()

    async def show(self, editable: EditableExperiment, learner_number: int = 0) -> None:
        self.editable, self._learner, self._stale = editable, learner_number, True
        await self._replace_panels()
        self._record_change()

    @on(Replaced)
    async def _editable_replaced(self, event: Replaced) -> None:
        event.stop()
        if self._stale and self.filled:
            await self._replace_panels()
            self.show_list()
            self.complain(self.editable.error)

    async def _replace_panels(self) -> None:
        """Replace the panels of the pane if they still show a previous experiment."""
        place = self.scroll_y
        async with self._making:
            if self._stale and self.filled:
                self._stale = False
                self._leaving.update(self.children)
                await self.remove_children()
                await self.mount_compose(self._compose_panels())
        self.scroll_to(y=place, animate=False)

    async def fields_mounted(self) -> None:
        """Wait until all fields of the pane are mounted.

        If the app ended while fields are being mounted, it would raise errors.
        """
        async with self._making:
            pass

    def enter(self, place: str = "") -> None:
        """Focus the field at `place` of the preset document, or the first field if `place` has no field.

        If the panels are not mounted yet, the field gets the focus after they are mounted.
        """
        self._entered = place
        if rows := [row for row in self._current_rows(FieldRow) if row.place == place]:
            self.screen.set_focus(rows[0].query("Choice, Input").first())
        elif fields := self.query("Choice, Input"):  # none while the panels are replaced
            self.screen.set_focus(fields.first())

    def pick(self, number: int) -> None:
        """Select a learner at once.

        The fields of the learner are shown later. After several quick selections, only the last learner's
        fields are shown.
        """
        if number != self.learner:
            self._learner = number
            self.post_message(self.Changed())
            self.post_message(self.Picked())

    @on(Picked)
    async def _learner_picked(self, event: Picked) -> None:
        event.stop()
        forms = self.query(LearnerForm)
        if any(form.number != self.learner or form in self._leaving for form in forms):
            await self._show_learner()
            self.complain(self.editable.error)

    async def _show_learner(self) -> None:
        self.show_list()
        async with self._making:
            for old in self.query(LearnerForm):
                await self.mount(LearnerForm(self.editable, self.learner), after=old)
                await old.remove()

    def complain(self, error: BadInput | None) -> None:
        self._complaint = error
        self._show_complaint()

    def _show_complaint(self) -> None:
        error, is_shown = self._complaint, False
        faults = [omission.why for omission in self.editable.left_out.values()]
        for row in self._current_rows(Row):
            is_here = error is not None and row.is_about(error.where)
            wrong = error if is_here else next((fault for fault in faults if row.is_about(fault.where)), None)
            row.complain("" if wrong is None else _fault_with_point(wrong))
            is_shown = is_shown or is_here
            axis = self.editable.sweep_axis(row.place)
            row.say_sweep(() if axis is None else self.editable.raw["axes"][axis].get("values") or ("…",))
            if axis is None:
                row.say_value(self.editable.number(row.place))
        for elsewhere in self.query("#elsewhere").results(Static):
            complaint = f"▲ {self._named_complaint(error)}" if error is not None and not is_shown else ""
            if complaint or elsewhere.display:
                elsewhere.display = bool(complaint)
                elsewhere.update(complaint)

    def _named_complaint(self, error: BadInput) -> str:
        refused = [number for number in range(len(self.editable.learners)) if self.editable.refused(number)]
        named = f"{self.editable.learners[refused[0]]['name']}: " if refused else ""
        return f"{named}{error}"

    def _is_gone(self, widget: Widget) -> bool:
        """Return whether a widget has been replaced, or is about to be replaced.

        Its messages may arrive later.
        """
        around = widget.ancestors
        return self._stale or self not in around or not self._leaving.isdisjoint(around)

    def _current_rows(self, kind: type[AnyRow]) -> Iterator[AnyRow]:
        if not self._stale:
            for panel in self.children:
                if panel not in self._leaving:
                    yield from panel.query(kind)

    def _show_preset(self) -> None:
        """Update the preset choice, which shows whether the set-up is an unchanged preset.

        If the set-up is a changed preset, the choice shows the set-up instead of the preset. The user can
        then choose the preset again to undo the changes.
        """
        for select in self.query("#preset").results(Choice):  # none while the panels are replaced
            if select.value != self._preset_value():
                with select.prevent(Choice.Changed):
                    select.offer(self._preset_choices(), self._preset_value())

    def show_list(self) -> None:
        for learners in self.query(LearnerList):  # there are no lists while the panels are being replaced
            learners.show(self.editable, self.learner)
        for items in self.query(ItemList):
            items.show(self.editable)

    def _record_change(self, typed: str | None = None) -> None:
        """Record a change for undo, and request that the change is shown and reported.

        `typed` is the place of the field in which the user is typing.
        """
        self._history.record(self.editable, typed)
        if not self._outdated:
            self._outdated = True
            self.post_message(self.Outdated())

    @on(Outdated)
    def _show_changes(self, event: Outdated) -> None:
        event.stop()
        self._outdated = False
        self._show_preset()
        self.show_list()
        self.complain(self.editable.error)
        self.post_message(self.Changed())

    @on(Edited)
    async def _field_edited(self, event: Edited) -> None:
        event.stop()
        if self._is_gone(event.row):
            return
        if isinstance(event.row, KindRow):
            await self._choose_part_kind(event.row.part, event.value)
        elif self.editable.value(event.place) == event.value:
            return
        else:
            await asyncio.to_thread(self.editable.read_files, event.place, event.value)
            self._put_edit(event)
        if event.place.endswith("].name"):
            self._update_fields()
        self._record_change(event.place if event.row.typed else None)

    @on(RowStepped)
    def _row_stepped(self, event: RowStepped) -> None:
        event.stop()
        if not self._is_gone(event.row):
            self._step_number(event.row, event.up)

    def _put_edit(self, edit: Edited) -> None:
        was_swept = self.editable.sweep_axis(edit.place) is not None
        self.editable.put(edit.place, edit.value)
        notices: tuple[str, ...] = ()
        if self.editable.error is None:
            before, self._idle_axes = self._idle_axes, self.editable.idle_axes
            notices = tuple(sentence for sentence in self._idle_axes if sentence not in before)
        if was_swept:
            notices = ("The sweep over this number ended",)
        if notices:
            restores = f"To restore it, leave the field and press {key('undo')}."
            self.notify(f"{'. '.join(notices)}. {restores}")

    def _step_number(self, row: FieldRow, up: bool) -> None:
        """Replace the number in a form row by the next larger or smaller valid number.

        If no such number is valid, notify the user of the reason.
        """
        place, before = row.place, self.editable.value(row.place)
        refused: BadInput | None = None
        for step in steps_of_number(before, row.is_whole, up):
            self.editable.put(place, step)
            error = self.editable.error
            if error is None or not row.is_about(error.where):
                self._update_fields(typed=False)
                self._record_change(f"{place}, stepped")
                self.post_message(self.Stepped())
                return
            refused = refused or error
        self.editable.put(place, before)
        if refused is not None:
            self.notify(f"No {'larger' if up else 'smaller'} number fits here: {refused.fault}.")

    @on(RowVaried)
    def _row_varied(self, event: RowVaried) -> None:
        """Stop the message of a row that was replaced. The screen handles the messages of all other rows."""
        if self._is_gone(event.row):
            event.stop()

    def on_descendant_blur(self) -> None:
        self._history.pause()

    def change(self, place: str, value: Any) -> None:
        """Set the value at a place of the set-up as if the user had entered it in its field."""
        self.editable.put(place, value)
        self._update_fields(typed=False)
        self._record_change()

    def limit_undo(self, is_limited: bool) -> None:
        """Limit `undo` to changes after the current set-up, or remove this limit."""
        self._history.limit(is_limited)

    async def undo(self) -> None:
        where = " at this stop" if self._history.is_limited else ""
        await self._restore_step(self._history.undo(), "Undo", f"There is nothing to undo{where}.")

    async def redo(self) -> None:
        await self._restore_step(self._history.redo(), "Redo", "There is nothing to redo.")

    async def _restore_step(self, step: Step | None, done: str, nothing: str) -> None:
        if step is None:
            self.notify(nothing)
            return
        self.notify(f"{done}: {step.change}")
        step.editable.next_letter = max(step.editable.next_letter, self.editable.next_letter)
        if shape(step.editable.raw) != shape(self.editable.raw):
            letter, letters = self.editable.letters[self.learner], step.editable.letters
            near = min(max(0, self.learner - 1), len(letters) - 1)
            self._learner = letters.index(letter) if letter in letters else near
            self._stale = True
            self.post_message(self.Replaced())
        self.editable = step.editable
        self._update_fields(typed=False)
        self._record_change()

    async def choose_kind(self, place: str, kind: str) -> None:
        """Replace the part at `place` by one of another kind, as if the user had chosen it in its form."""
        await self._choose_part_kind(place, kind)
        self._record_change()

    async def _choose_part_kind(self, place: str, kind: str | None) -> None:
        self.editable.put_kind(place, kind)
        async with self._making:
            for form in self.query(PartForm):
                if form.place == place:
                    await form.rebuild(self.editable.value(place))

    @on(More.Turned)
    async def _fields_turned(self, event: More.Turned) -> None:
        event.stop()
        async with self._making:
            if self._is_gone(event.fields):
                return
            values = self.editable.value(event.fields.place)
            await event.fields.turn(values if isinstance(values, dict) else {})
        self._show_complaint()

    def _update_fields(self, typed: bool = True) -> None:
        """Show the current values of the set-up in all fields.

        If `typed`, the field with the focus keeps its text, because the user is typing there.
        """
        for row in self._current_rows(FieldRow):
            row.follow(self.editable.value(row.place), typed)

    @on(ItemList.Requested)
    async def _item_requested(self, event: ItemList.Requested) -> None:
        event.stop()
        editable, part, number = self.editable, event.part, event.number
        if self._is_gone(event.items) or (event.action != "add" and number >= len(editable.raw[part])):
            return
        opened: int | None = number
        match event.action:
            case "add":
                opened = editable.add(part)
            case "remove":
                editable.remove(part, number)
                opened = None
            case "turn":
                opened = None if event.items.open == number else number
            case by:
                editable.give_axis_by(number, by)
        async with self._making:
            await event.items.turn(editable, opened)
        event.items.enter()
        self._update_fields()
        self._record_change()

    async def add_item(self, part: str) -> None:
        await self.fill()
        for items in self.query(ItemList):
            if items.part == part:
                items.request("add")

    @on(Choice.Changed, "#preset")
    async def _preset_chosen(self, event: Choice.Changed) -> None:
        event.stop()
        if event.value not in (self._preset_value(), OWN):
            await self.choose(str(event.value))

    async def choose(self, preset: str) -> None:
        from hadamard_tui.editing.editable_experiment import EditableExperiment

        try:
            with presets.former_words(preset, self.notify):
                chosen = EditableExperiment.of(preset)
        except BadInput as error:  # only the user's own files can be invalid
            self.notify(str(error), severity="error")
            self._show_preset()
        else:
            await self.show(chosen)

    @on(LearnerList.OptionHighlighted)
    def _learner_chosen(self, event: LearnerList.OptionHighlighted) -> None:
        event.stop()
        if event.option_list.has_focus:
            self.pick(event.option_index)

    @on(LearnerList.OptionSelected)
    def _learner_opened(self, event: LearnerList.OptionSelected) -> None:
        event.stop()
        self.query_one(LearnerForm).query("Input, Choice").first().focus()

    @on(Choice.Changed, "#method")
    async def _method_chosen(self, event: Choice.Changed) -> None:
        event.stop()
        solving = self.editable.learners[self.learner].get("solver") is not None
        if not self._is_gone(event.choice) and (event.value == "solver") != solving:
            self.editable.put_method(self.learner, str(event.value))
            self._select_learner(self.learner)

    @property
    def _list_in_focus(self) -> ItemList | None:
        focused = self.screen.focused
        around = None if focused is None else focused.parent
        return around if isinstance(focused, Lines) and isinstance(around, ItemList) else None

    @on(Button.Pressed, "#add")
    async def add(self) -> None:
        if (items := self._list_in_focus) is not None:
            items.request("add")
            return
        self._select_learner(self.editable.add_learner(self.learner))

    @on(Button.Pressed, "#copy")
    async def copy(self) -> None:
        self._select_learner(self.editable.copy_learner(self.learner))

    @on(Button.Pressed, "#remove")
    async def remove_learner(self) -> None:
        if (items := self._list_in_focus) is not None:
            items.request("remove")
            return
        count = len(self.editable.learners)
        place = self.editable.remove_learner(self.learner)
        if len(self.editable.learners) == count:
            self.notify("An experiment needs at least one learner.", severity="warning")
        else:
            self._select_learner(place)

    @on(Button.Pressed, "#switch")
    async def switch(self) -> None:
        if self.editable.switch_learner(self.learner):
            self._record_change()
        else:
            self.notify("An experiment needs at least one learner.", severity="warning")

    def _select_learner(self, learner_number: int) -> None:
        self._learner = learner_number
        self._leaving.update(self.query(LearnerForm))
        self._record_change()
        self.post_message(self.Picked())


def _fault_with_point(error: BadInput) -> str:
    """Return the text about an error, shown next to the faulty field.

    If the error occurs only at one sweep point, the text names the point.
    """
    _, where, point = error.where.partition(" where ")
    return f"{error.fault} (where {point})" if where else error.fault
