"""How far a run is: its state, the point of its axes, its clock, and how fast it goes, always all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.widgets import Static

from engine.core.expressions import number
from engine.pictures.view import along_records
from hadamard_tui.keyboard import key
from hadamard_tui.running.playback import Pace

if TYPE_CHECKING:
    from engine.results.trace import Trace
    from hadamard_tui.charts.look import Look
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
"""Sign and style of each state; others, such as loading the engine, have those of `LOADING`."""

LOADING = ("◌", "bold")

UNITS = {"epoch": "epochs", "time": ""}
"""What the engine takes per second where it is not steps, by the clock of the x-axis; time has no speed."""

Piece = str | tuple[str, str]
"""A text, or a text and its style."""


@dataclass(frozen=True)
class Situation:
    """What the progress tells of.

    Attributes:
        session: the run on the screen, if there is one.
        editable: the set-up, which may have changed since that run began.
        look: the picture on the screen.
        learner: the name of the selected learner.
        in_field: whether letters go into a field of the set-up, which is left before a key runs it.
        runs_at_start: whether the set-up is about to run, so that no key needs to run it.
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
    """Written again only when its text changes; in fewer words where there is less room."""

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
    """The progress in one line: the longest of its forms that fits."""
    if situation.session is None and situation.runs_at_start:
        sign, style = LOADING
        return Text(f"{sign} loading engine", style)
    forms = [Text.assemble(*form) for form in _forms(situation)]
    return next((text for text in forms if cell_len(text.plain) <= width), forms[-1])


def _forms(situation: Situation) -> list[list[Piece]]:
    """The pieces of the progress from the longest form to the shortest."""
    session, editable, pace = situation.session, situation.editable, situation.pace
    state = "ready" if session is None else session.state
    sign, style = STATES.get(state, LOADING)
    state_piece = f"{sign} {state}", style
    run = keys_to_run(situation.in_field)
    pending, brief_pending = _pending(session, editable, run)
    if session is None:
        on_device = f"  {editable.experiment.run.device}", "dim"
        if pace != Pace():
            hints = [f"  to be shown {pace.describe()}", f"  {pace.describe().removeprefix('at ')}"]
        else:
            hints = ["" if editable.error is not None else f"  press {run} to run"]
        return [
            [state_piece, pending, hints[0], on_device],
            *[[state_piece, pending, hint] for hint in hints],
            [state_piece, brief_pending],
            [state_piece],
        ]
    point, brief_point, shortest_point = _points(session)
    clock, brief_clock, more_shown = _clock(session, situation.look)
    device, brief_device, speed = _machine(session, situation.learner)
    frames = f"  {situation.fps:.0f} fps"
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
    """What is pressed to run the set-up: out of a field that takes letters, first what leaves it."""
    return f"{key('leave')} {key('run')}" if in_field else key("run")


def _points(session: Session) -> tuple[str, str, str]:
    """Which point of the axes is shown, at length, in brief, and as a mere number."""
    if not session.point.count:
        return "", "", ""
    where, remaining = session.point.label, session.engine_time.remaining
    remaining = f", {remaining}" if remaining else ""
    skipped = f", {session.point.skipped}" if session.point.skipped else ""
    count = f" {session.point.count}{remaining}"
    numbered = f"point {session.point.count.replace('/', ' of ')}{skipped}{remaining}"
    brief = where.replace(" = ", "=").replace(", ", ",")
    return f"  {where} ({numbered})", f" {brief}{count}", count


def _pending(session: Session | None, editable: EditableExperiment, run: str) -> tuple[Piece, Piece]:
    """What the set-up waits for, at length and in brief; `run` are the keys that run it."""
    if editable.error is not None:
        return ("  cannot run", "bold red"), (" !", "bold red")
    if session is not None and session.sweep.experiment != editable.experiment:
        style = "bold magenta"
        return (f"  changed, not run yet: {run}", style), (f" new: {run}", style)
    return "", ""


def _clock(session: Session, look: Look | None) -> tuple[str, str, str]:
    """Where the playhead stands at length and in brief, and how much is shown; nothing without a clock."""
    point, playback = session.point, session.playback
    seen = look or (session.look() if session.trace is not None else None)
    along_axis = seen is not None and session.over and not along_records(seen.view)
    if not point.last or along_axis:
        return "", "", ""
    end, name = number(point.last), session.experiment.protocol.clock
    if session.trace is None:
        return f"  {name} –/{end}", f" –/{end}", ""
    place, shown = point.x_at(playback.place), point.x_at(playback.shown)
    more = f" of {number(shown)} shown" if place < shown < point.last else ""
    return f"  {name} {number(place)}/{end}", f" {number(place)}/{end}", more


def _machine(session: Session, learner: str) -> tuple[str, str, str]:
    """Device and backend, at length and in brief, and the speed."""
    trace, point = session.trace, session.point
    if trace is None:
        device = f"  {session.experiment.run.device}"
        return device, device, ""
    device = _computed(trace, learner)
    unit = UNITS.get(session.experiment.protocol.clock, "steps")
    speed = session.engine_time.speed(point.x_at(max(trace.frontier, 0)))
    per_second = f"  {_short(speed)} {unit}/s" if unit and point.last else ""
    return f"  {device}", f"  {device.partition(',')[0].partition(' ')[0]}", per_second


def _computed(trace: Trace, learner: str) -> str:
    """The device and the backend of a learner's curves."""
    backend = next((curve.backend for curve in trace.curves if curve.learner == learner), "")
    return ", ".join(filter(None, (trace.environment["device"], backend)))


def _short(number: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"
