"""First row: preset, matrix family, learner, architecture, protocol, and the progress of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message

from engine.spec import presets
from hadamard_tui.charts.series_builder import mark
from hadamard_tui.keyboard import motions
from hadamard_tui.widgets.choice import Choice
from hadamard_tui.widgets.preset_choice import PresetChoice
from hadamard_tui.widgets.progress import Progress

if TYPE_CHECKING:
    from hadamard_tui.editing.editable_experiment import EditableExperiment

ADD = "+"
"""Value of the line that adds a learner."""

LABELLED = 100
"""Columns from which the choices have labels."""

LEAST_PROGRESS, LEAST_WORDS = 18, 4
"""Least cells of the progress and of each choice."""

ARROW, GAP = " ▾", 1


class PartWord(Choice):
    """A choice of the bar: label, chosen value, and an arrow; `place` is the place of the part."""

    DEFAULT_CSS = """
    PartWord { width: auto; background: transparent; margin: 0 1 0 0; }
    PartWord:focus { text-style: bold reverse; }
    PartWord > Offered { width: 36; }
    """

    SEARCHED_BY_LETTERS = False

    def __init__(self, label: str, id: str) -> None:
        super().__init__((), value="", id=id)
        self.label = label
        self.words, self.place, self.family = "", "", ""

    def show(self, words: str, value: str, place: str = "", family: str = "") -> None:
        """Show the chosen value; the members of `family` are listed when the list is opened."""
        self.words, self.place, self.family = words, place, family
        with self.prevent(Choice.Changed):
            self.offer(((words, value),), value)

    async def action_show_list(self) -> None:
        from engine.core.catalogue import members

        if self.family and not self.expanded:
            self.offer([(kind, kind) for kind in members(self.family)], self.value)
        await super().action_show_list()

    async def on_key(self, event: events.Key) -> None:
        """Leave letters to the app: enter opens the list, and letters search there."""

    def render(self) -> Content:
        return _shown(self)


class PresetWord(PresetChoice):
    """The preset, which opens the page of presets."""

    DEFAULT_CSS = """
    PresetWord { width: auto; background: transparent; margin: 0 1 0 0; }
    PresetWord:focus { text-style: bold reverse; }
    """

    SEARCHED_BY_LETTERS = False
    label, words = "preset", ""

    async def on_key(self, event: events.Key) -> None:
        """Leave letters to the app."""

    def render(self) -> Content:
        return _shown(self)


def _shown(choice: PartWord | PresetWord) -> Content:
    """Label, words and arrow, in the cells that a choice has."""
    room = choice.content_size.width - cell_len(ARROW)
    label = f"{choice.label} " if choice.label and room >= cell_len(_labelled(choice)) else ""
    words = Content(choice.words).truncate(max(room - cell_len(label), 0), ellipsis=True)
    return Content.assemble((label, "dim"), words, (ARROW, "dim"))


def _labelled(choice: PartWord | PresetWord) -> str:
    return f"{choice.label} {choice.words}".strip()


class SelectionBar(Horizontal):
    """Recipe of the experiment, of which each part is exchanged by a key or a click."""

    DEFAULT_CSS = "SelectionBar { height: 1; padding: 0 1; background: $boost; } Progress { width: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [*motions(move_left="next(-1)", move_right="next(1)")]

    class Chosen(Message):
        """Message: another kind of part was chosen for a place of the set-up."""

        def __init__(self, place: str, kind: str) -> None:
            super().__init__()
            self.place, self.kind = place, kind

    class LearnerChosen(Message):
        """Message: another learner was chosen, by its number; None for a new one."""

        def __init__(self, number: int | None) -> None:
            super().__init__()
            self.number = number

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: object = None

    def compose(self) -> ComposeResult:
        yield PresetWord((), value="", id="bar-preset")
        for name in ("matrix", "learner", "architecture", "protocol"):
            yield PartWord("" if name == "protocol" else name, id=f"bar-{name}")
        yield Progress(id="progress")

    @property
    def _choices(self) -> Sequence[PartWord | PresetWord]:
        return [child for child in self.children if isinstance(child, PartWord | PresetWord)]

    def show(self, editable: EditableExperiment, learner: int) -> None:
        """Show the parts of a set-up, with this learner selected."""
        raw, chosen = editable.raw, editable.learners[learner]
        is_solved = chosen.get("solver") is not None
        role = "solver" if is_solved else "architecture"
        matrix, part, protocol = raw["problem"]["matrix"], chosen[role], raw["protocol"]
        size = _with_size(matrix, raw["axes"])
        names = tuple(
            (f"{mark(letter)} {values['name']}", str(number))
            for number, (letter, values) in enumerate(zip(editable.letters, editable.learners, strict=True))
        )
        preset = presets.name_of(editable.preset) if editable.preset else "your own"
        preset = f"{preset}*" if editable.changed and editable.preset else preset
        shown = preset, size, names, learner, role, _kind(part), _kind(protocol)
        if shown == self._shown or not self.children:
            return
        self._shown = shown
        self.query_one(PresetWord).words = preset
        self._choice("matrix").show(size, _kind(matrix), "problem.matrix", "matrices")
        self._choice("learner").show(names[learner][0], str(learner))
        self._choice("learner").choices = (*names, ("add a learner", ADD))
        self._choice("architecture").label = role
        self._choice("architecture").show(_kind(part), _kind(part), f"learners[{learner}].{role}", f"{role}s")
        self._choice("protocol").show(_kind(protocol), _kind(protocol), "protocol", "protocols")
        self._fit()

    def _choice(self, label: str) -> PartWord:
        return self.query_one(f"#bar-{label}", PartWord)

    def on_resize(self, event: events.Resize) -> None:
        self._fit()

    def _fit(self) -> None:
        """Give each choice its cells: labels go first, then the longest words are cut."""
        width = self.content_size.width
        if not width:
            return
        choices = self._choices
        room = width - LEAST_PROGRESS - len(choices) * (GAP + cell_len(ARROW))
        words = [cell_len(choice.words) for choice in choices]
        labelled = [
            length + cell_len(f"{choice.label} ") for length, choice in zip(words, choices, strict=True)
        ]
        cells = labelled if width >= LABELLED and sum(labelled) <= room else words
        while sum(cells) > room and max(cells) > LEAST_WORDS:
            cells[cells.index(max(cells))] -= 1
        for choice, count in zip(choices, cells, strict=True):
            choice.styles.width = count + cell_len(ARROW)
            choice.refresh()

    def enter(self) -> None:
        """Focus the first choice."""
        self._choices[0].focus()

    def action_next(self, places: int) -> None:
        """Go to another choice."""
        choices = self._choices
        number = next((at for at, choice in enumerate(choices) if choice.has_focus), 0)
        choices[(number + places) % len(choices)].focus()

    @on(Choice.Changed)
    def _changed(self, event: Choice.Changed) -> None:
        event.stop()
        choice = event.choice
        if not isinstance(choice, PartWord):
            return
        self._shown = None  # what was refused is taken back at the next look
        if choice.id == "bar-learner":
            self.post_message(self.LearnerChosen(None if event.value == ADD else int(event.value)))
        else:
            self.post_message(self.Chosen(choice.place, event.value))


def _kind(part: Any) -> str:
    """Return the kind of a part, which is a string or one of its fields."""
    return str(part["kind"]) if isinstance(part, dict) else str(part)


def _with_size(matrix: Any, axes: Sequence[Mapping[str, Any]]) -> str:
    """Return the kind of a matrix and its d, if it has one, or the values that an axis gives to d."""
    size = matrix.get("d") if isinstance(matrix, dict) else None
    for axis in axes:
        if axis.get("set") == "problem.matrix.d" and axis.get("values"):
            size = f"{axis['values'][0]}…{axis['values'][-1]}"
    return _kind(matrix) if size is None else f"{_kind(matrix)} d {size}"
