"""First row of the screen: preset, matrix family, learner, architecture, protocol, and progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from engine.core.expressions import number
from engine.pictures.view import along_records
from engine.spec import presets
from hadamard_tui.charts.plots.series_builder import mark
from hadamard_tui.keyboard import key, motions
from hadamard_tui.running.playback import Pace
from hadamard_tui.widgets.controls import Choice, PresetChoice

if TYPE_CHECKING:
    from engine.results.trace import Trace
    from hadamard_tui.charts.plots.look import Look
    from hadamard_tui.editing.editable_experiment import EditableExperiment
    from hadamard_tui.running.session import Session


STATES = {
    "ready": ("○", "bold"),
    "running": ("▶", "bold green"),
    "replaying": ("▶", "bold green"),
    "paused": ("‖", "bold yellow"),
    "finished": ("●", "bold cyan"),
    "stopped": ("■", "bold yellow"),
    "failed": ("✗", "bold red"),
}
"""Sign and style for each state of a run. Other states, such as loading the engine, use `LOADING`."""

LOADING = ("◌", "bold")

UNITS = {"epoch": "epochs", "time": ""}
"""Units of the engine's speed, for clocks that do not count steps. For time, no speed is stated."""

Piece = str | tuple[str, str]
"""Piece of text: plain text, or text with a style."""


@dataclass(frozen=True)
class Situation:
    """Facts that the display of progress depends on.

    Args:
        session: the run on the screen, or None before the first run.
        editable: the set-up, which may have changed since the run began.
        look: the picture on the screen.
        learner: the name of the selected learner.
        in_field: whether a field of the set-up has the focus. If so, the user must leave the field before a
            key can run the set-up.
        runs_at_start: whether the set-up is about to run without a key press.
    """

    session: Session | None
    editable: EditableExperiment
    pace: Pace
    fps: float
    look: Look | None = None
    learner: str = ""
    in_field: bool = False
    runs_at_start: bool = False


class Progress(Static):
    """Display of the progress of the run, long or short as the space allows."""

    DEFAULT_CSS = "Progress { height: 1; text-align: right; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._text: Text | None = None
        self._situation: Situation | None = None

    def show(self, situation: Situation) -> None:
        self._situation = situation
        text = progress_text(situation, self.size.width)
        if text != self._text:
            self._text = text
            self.update(text, layout=False)

    def on_resize(self, event: events.Resize) -> None:
        if self._situation is not None:
            self.show(self._situation)


def progress_text(situation: Situation, width: int) -> Text:
    if situation.session is None and situation.runs_at_start:
        sign, style = LOADING
        return Text(f"{sign} loading engine", style)
    forms = [Text.assemble(*form) for form in _progress_forms(situation)]
    return next((form for form in forms if cell_len(form.plain) <= width), forms[-1])


def _progress_forms(situation: Situation) -> list[list[Piece]]:
    """Return texts about the progress of a run, from the longest to the shortest.

    Each text is a list of pieces. The caller shows the first text that fits.
    """
    session, editable, pace = situation.session, situation.editable, situation.pace
    state = "ready" if session is None else session.state
    sign, style = STATES.get(state, LOADING)
    state_piece = f"{sign} {state}", style
    run = keys_to_run(situation.in_field)
    pending, brief_pending = _pending_texts(session, editable, run)
    if session is None:
        on_device = f"  {editable.experiment.run.device}", "dim"
        if pace != Pace():
            hints = [f"  the run will be shown {pace.describe()}", f"  {pace.describe().removeprefix('at ')}"]
        else:
            hints = ["" if editable.error is not None else f"  press {run} to run"]
        return [
            [state_piece, pending, hints[0], on_device],
            *[[state_piece, pending, hint] for hint in hints],
            [state_piece, brief_pending],
            [state_piece],
        ]
    point, brief_point, shortest_point = _sweep_point_texts(session)
    clock, brief_clock, more_shown = _clock_texts(session, situation.look)
    device, brief_device, speed = _machine_texts(session, situation.learner)
    frames = "" if session.over else f"  {situation.fps:.0f} fps"
    shown = f"  shown {session.playback.describe()}" if session.point.last and not session.over else ""
    return [
        [state_piece, pending, point, clock, more_shown, (device + speed + frames + shown, "dim")],
        [state_piece, pending, point, clock, more_shown, (device + speed + frames, "dim")],
        [state_piece, pending, point, clock, more_shown, (brief_device + speed + frames, "dim")],
        [state_piece, pending, point, clock, more_shown, (brief_device + speed, "dim")],
        [state_piece, pending, point, clock, (brief_device + speed, "dim")],
        [state_piece, pending, point, clock, (brief_device, "dim")],
        [state_piece, pending, point, clock],
        [state_piece, brief_pending, brief_point, brief_clock],
        [state_piece, brief_pending, shortest_point, brief_clock],
        *([[(sign, style), brief_pending, shortest_point, brief_clock]] if brief_pending else []),
        *([[(sign, style), brief_pending]] if brief_pending else []),
        *([[(sign, style), brief_pending, brief_clock]] if brief_pending else []),
        [state_piece, shortest_point, brief_clock],
        [state_piece, brief_clock],
        [(sign, style), brief_clock],
    ]


def keys_to_run(in_field: bool) -> str:
    return f"{key('leave')} {key('run')}" if in_field else key("run")


def _sweep_point_texts(session: Session) -> tuple[str, str, str]:
    """Return the current sweep point as a long text, as a short text, and as a count such as " 2/5".

    After the last point, the texts give the number of points. The point that the panels show is then any
    point that the user chooses, so its position would look like an unfinished sweep.
    """
    if not session.point.count:
        return "", "", ""
    where, remaining = session.point.label, session.engine_time.remaining
    remaining = f", {remaining}" if remaining else ""
    skipped = f", {session.point.skipped}" if session.point.skipped else ""
    if session.over:
        total = len(session.sweep.points)
        points = f"{total} points" if total > 1 else "1 point"
        return f"  {points}{skipped}; panels show {where}", f" {points}", f" {total}/{total}"
    count = f" {session.point.count}{remaining}"
    numbered = f"point {session.point.count.replace('/', ' of ')}{skipped}{remaining}"
    brief = where.replace(" = ", "=").replace(", ", ",")
    return f"  {where} ({numbered})", f" {brief}{count}", count


def _pending_texts(session: Session | None, editable: EditableExperiment, run: str) -> tuple[Piece, Piece]:
    """Return a long and a short text about an error in the set-up, or about a change that has not been run.

    Without an error or a change, both texts are empty. `run` names the keys that run the set-up.
    """
    if editable.error is not None:
        return ("  cannot run", "bold red"), (" !", "bold red")
    if session is not None and session.sweep.experiment != editable.experiment:
        style = "bold magenta"
        return (f"  changed, not run yet: {run}", style), (f" new: {run}", style)
    return "", ""


def _clock_texts(session: Session, look: Look | None) -> tuple[str, str, str]:
    """Return the playhead's x as a long and a short text, and a text on the shown part of the run.

    All texts are empty if the length of the run is unknown. They are also empty if the run has ended and the
    x-axis of the shown picture is a sweep axis.
    """
    point, playback = session.point, session.playback
    seen = look or (session.look() if session.trace is not None else None)
    along_axis = seen is not None and session.over and not along_records(seen.view)
    if not point.last or along_axis:
        return "", "", ""
    end, clock = number(point.last), session.experiment.protocol.clock
    if session.trace is None:
        return f"  {clock} –/{end}", f" –/{end}", ""
    place, shown = point.x_at(playback.place), point.x_at(playback.shown)
    more = f" of {number(shown)} shown" if place < shown < point.last else ""
    return f"  {clock} {number(place)}/{end}", f" {number(place)}/{end}", more


def _machine_texts(session: Session, learner_name: str) -> tuple[str, str, str]:
    """Return three texts: the device with the backend, the device in short form, and the engine's speed."""
    trace, point = session.trace, session.point
    if trace is None:
        device = f"  {session.experiment.run.device}"
        return device, device, ""
    device = _device_and_backend(trace, learner_name)
    unit = UNITS.get(session.experiment.protocol.clock, "steps")
    speed = session.engine_time.speed(point.x_at(max(trace.frontier, 0)))
    per_second = f"  {_short_number(speed)} {unit}/s" if unit and point.last and not session.over else ""
    return f"  {device}", f"  {device.partition(',')[0].partition(' ')[0]}", per_second


def _device_and_backend(trace: Trace, learner_name: str) -> str:
    backend = next((curve.backend for curve in trace.curves if curve.learner == learner_name), "")
    return ", ".join(filter(None, (trace.environment["device"], backend)))


def _short_number(number: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


ADD = "+"
"""Value of the line "add a learner" in the list of learners."""

ANOTHER_SIZE = "problem.matrix.d"
"""Value of the line "another d" in the list of matrices: the place of d in a preset document."""

LABELLED = 100
"""Minimum width of the bar, in cells, at which the choices have labels."""

LEAST_PROGRESS, LEAST_WORDS = 18, 4
"""Minimum width of the progress display, and minimum width of each choice."""

SIZE = " d "
"""Text between the kind of a matrix and its number of features."""

ARROW, GAP = " ▾", 1


class PartWord(Choice):
    """Choice of a part of the experiment in the bar, drawn as a label, a value and an arrow.

    The user's choice replaces the part at `place` of the preset document, such as `problem.matrix`.
    """

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
        self.more: Sequence[tuple[str, str]] = ()

    def show(
        self,
        words: str,
        value: str,
        place: str = "",
        family: str = "",
        more: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Show the chosen value.

        The opened list offers first the pairs in `more` of displayed words and value. Then it offers all
        kinds of parts in `family`.
        """
        self.words, self.place, self.family, self.more = words, place, family, more
        with self.prevent(Choice.Changed):
            self.offer(((words, value),), value)

    async def action_show_list(self) -> None:
        from engine.core.catalogue import members

        if self.family and not self.expanded:
            self.offer([*self.more, *((kind, kind) for kind in members(self.family))], self.value)
        await super().action_show_list()

    async def on_key(self, event: events.Key) -> None:
        """Do nothing, so that letters remain keys of the app until enter opens the list."""

    def render(self) -> Content:
        return _choice_content(self)


class PresetWord(PresetChoice):
    """Choice of the preset, which opens the page of presets."""

    DEFAULT_CSS = """
    PresetWord { width: auto; background: transparent; margin: 0 1 0 0; }
    PresetWord:focus { text-style: bold reverse; }
    """

    SEARCHED_BY_LETTERS = False
    label, words = "preset", ""

    async def on_key(self, event: events.Key) -> None:
        """Do nothing, so that letters remain keys of the app."""

    def render(self) -> Content:
        return _choice_content(self)


def _choice_content(choice: PartWord | PresetWord) -> Content:
    """Return a label, a value and an arrow, cut to the width of the choice.

    The size of a matrix is not cut, because users change it most often.
    """
    room = choice.content_size.width - cell_len(ARROW)
    label = f"{choice.label} " if choice.label and room >= cell_len(_label_and_words(choice)) else ""
    kind, separator, size = choice.words.partition(SIZE)
    size = f"{separator}{size}"
    words = Content(kind).truncate(max(room - cell_len(label) - cell_len(size), 0), ellipsis=True)
    return Content.assemble((label, "dim"), words, size, (ARROW, "dim"))


def _label_and_words(choice: PartWord | PresetWord) -> str:
    return f"{choice.label} {choice.words}".strip()


class SelectionBar(Horizontal):
    """Bar with the main parts of the experiment, which the user exchanges with keys or clicks."""

    DEFAULT_CSS = "SelectionBar { height: 1; padding: 0 1; background: $boost; } Progress { width: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [*motions(move_left="next(-1)", move_right="next(1)")]

    class Chosen(Message):
        """Message: the user chose another kind for a part of the set-up, such as the architecture."""

        def __init__(self, place: str, kind: str) -> None:
            super().__init__()
            self.place, self.kind = place, kind

    class LearnerChosen(Message):
        """Message: the user chose the learner `number`, or wants to add a learner if `number` is None."""

        def __init__(self, number: int | None) -> None:
            super().__init__()
            self.number = number

    class FieldWanted(Message):
        """Message: the user wants to change the number at `place` of the preset document."""

        def __init__(self, place: str) -> None:
            super().__init__()
            self.place = place

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: object = None

    def compose(self) -> ComposeResult:
        yield PresetWord((), value="", id="bar-preset")
        for choice_name in ("matrix", "learner", "architecture", "protocol"):
            yield PartWord("" if choice_name == "protocol" else choice_name, id=f"bar-{choice_name}")
        yield Progress(id="progress")

    @property
    def _choices(self) -> Sequence[PartWord | PresetWord]:
        return [child for child in self.children if isinstance(child, PartWord | PresetWord)]

    def show(self, editable: EditableExperiment, learner_number: int) -> None:
        raw, chosen = editable.raw, editable.learners[learner_number]
        is_solved = chosen.get("solver") is not None
        role = "solver" if is_solved else "architecture"
        matrix, part, protocol = raw["problem"]["matrix"], chosen[role], raw["protocol"]
        size = _matrix_with_size(matrix, raw["axes"])
        names = tuple(
            (f"{mark(letter)} {learner['name']}", str(number))
            for number, (letter, learner) in enumerate(zip(editable.letters, editable.learners, strict=True))
        )
        preset = presets.name_of(editable.preset) if editable.preset else "your own"
        preset = f"{preset}*" if editable.changed and editable.preset else preset
        shown = preset, size, names, learner_number, role, _kind_of_part(part), _kind_of_part(protocol)
        if shown == self._shown or not self.children:
            return
        self._shown = shown
        self.query_one(PresetWord).words = preset
        has_size = isinstance(matrix, dict) and "d" in matrix
        sizes = [("another d", ANOTHER_SIZE)] if has_size else []
        self._labelled_choice("matrix").show(size, _kind_of_part(matrix), "problem.matrix", "matrices", sizes)
        self._labelled_choice("learner").show(names[learner_number][0], str(learner_number))
        self._labelled_choice("learner").choices = (*names, ("add a learner", ADD))
        self._labelled_choice("architecture").label = role
        self._labelled_choice("architecture").show(
            _kind_of_part(part), _kind_of_part(part), f"learners[{learner_number}].{role}", f"{role}s"
        )
        self._labelled_choice("protocol").show(
            _kind_of_part(protocol), _kind_of_part(protocol), "protocol", "protocols"
        )
        self._fit_choices()

    def _labelled_choice(self, label: str) -> PartWord:
        return self.query_one(f"#bar-{label}", PartWord)

    def on_resize(self, event: events.Resize) -> None:
        self._fit_choices()

    def _fit_choices(self) -> None:
        """Distribute the width of the bar among its choices.

        If they do not fit, labels are dropped, the longest first. If this is not enough, values are cut.
        """
        width = self.content_size.width
        if not width:
            return
        choices = self._choices
        room = width - LEAST_PROGRESS - len(choices) * (GAP + cell_len(ARROW))
        lengths = [cell_len(choice.words) for choice in choices]
        labelled = [
            length + cell_len(f"{choice.label} ") for length, choice in zip(lengths, choices, strict=True)
        ]
        widths = labelled if width >= LABELLED else lengths
        for at in sorted(range(len(choices)), key=lambda at: lengths[at] - labelled[at]):
            if sum(widths) > room:
                widths[at] = lengths[at]
        while sum(widths) > room and max(widths) > LEAST_WORDS:
            widths[widths.index(max(widths))] -= 1
        for choice, choice_width in zip(choices, widths, strict=True):
            choice.styles.width = choice_width + cell_len(ARROW)
            choice.refresh()

    def enter(self) -> None:
        self._choices[0].focus()

    def action_next(self, places: int) -> None:
        choices = self._choices
        number = next((at for at, choice in enumerate(choices) if choice.has_focus), 0)
        choices[(number + places) % len(choices)].focus()

    @on(Choice.Changed)
    def _choice_changed(self, event: Choice.Changed) -> None:
        event.stop()
        choice = event.choice
        if not isinstance(choice, PartWord):
            return
        self._shown = None  # so that the next frame shows the old value again if the choice is refused
        if choice.id == "bar-learner":
            self.post_message(self.LearnerChosen(None if event.value == ADD else int(event.value)))
        elif event.value == ANOTHER_SIZE:
            self.post_message(self.FieldWanted(event.value))
        else:
            self.post_message(self.Chosen(choice.place, event.value))


def _kind_of_part(part: Any) -> str:
    return str(part["kind"]) if isinstance(part, dict) else str(part)


def _matrix_with_size(matrix: Any, axes: Sequence[Mapping[str, Any]]) -> str:
    """Return the kind of a matrix and its d as text.

    For a sweep over d, the text has the first and the last d.
    """
    size = matrix.get("d") if isinstance(matrix, dict) else None
    for axis in axes:
        if axis.get("set") == "problem.matrix.d" and axis.get("values"):
            size = f"{axis['values'][0]}…{axis['values'][-1]}"
    return _kind_of_part(matrix) if size is None else f"{_kind_of_part(matrix)}{SIZE}{size}"
