"""The status line: state, point, how far it is, value, line, ratio, device, steps/s and fps, always all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.widgets import Static

from engine.core.notation import number, symbol
from engine.pictures.view import FROM_BELOW, along_records
from hadamard_tui.charts import digits
from hadamard_tui.charts.legend import elided
from hadamard_tui.charts.values import Value, compares, equals, looked_at
from hadamard_tui.editing.place_words import in_words
from hadamard_tui.keyboard.keymap import key
from hadamard_tui.running.playback import Pace
from hadamard_tui.widgets.scoreboard import measured

if TYPE_CHECKING:
    from engine.results.trace import Trace
    from hadamard_tui.charts.look import Look
    from hadamard_tui.editing.editable_experiment import EditableExperiment
    from hadamard_tui.running.session import Session

STYLES = {
    "running": "bold green",
    "replaying": "bold green",
    "paused": "bold yellow",
    "finished": "bold cyan",
    "stopped": "bold yellow",
    "failed": "bold red",
}

Piece = str | tuple[str, str]
"""A text, or a text and its style."""


class Status(Static):
    """Written again only when its text changes; in fewer words where there is less room."""

    DEFAULT_CSS = "Status { height: 1; background: $boost; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._text: Text | None = None
        self._of: tuple[Session | None, EditableExperiment, Pace, float, Look | None, str, bool] | None = None

    def show(
        self,
        session: Session | None,
        editable: EditableExperiment,
        pace: Pace,
        fps: float,
        look: Look | None = None,
        learner: str = "",
        in_field: bool = False,
    ) -> None:
        """Say how a session stands, and whether the set-up has changed since it began.

        Args:
            look: the picture on the screen.
            learner: the selected one.
            in_field: whether letters go into a field of the set-up, which is left before a key runs it.
        """
        self._of = session, editable, pace, fps, look, learner, in_field
        text = status_text(*self._of[:4], self.size.width or self.app.size.width, look, learner, in_field)
        if text != self._text:
            self._text = text
            self.update(text, layout=False)

    def on_resize(self, event: events.Resize) -> None:
        if self._of is not None:
            self.show(*self._of)


def status_text(
    session: Session | None,
    editable: EditableExperiment,
    pace: Pace,
    fps: float,
    width: int,
    look: Look | None = None,
    learner: str = "",
    in_field: bool = False,
) -> Text:
    """The status in one line: the longest of its forms that fits."""
    facts = _Facts(session, editable, fps, look, learner)
    forms = [Text.assemble(" ", *form) for form in _forms(session, editable, pace, facts, in_field)]
    return next((text for text in forms if cell_len(text.plain) <= width), forms[-1])


def _forms(
    session: Session | None, editable: EditableExperiment, pace: Pace, facts: _Facts, in_field: bool
) -> list[list[Piece]]:
    """The pieces of the status from the longest form to the shortest."""
    state = "ready" if session is None else session.state
    said: Piece = (state, STYLES.get(state, "bold"))
    run = keys_to_run(in_field)
    todo, brief = _pending(session, editable, run)
    where, shorter, shortest = _points(session, facts.names_point)
    if session is None:
        hint = "" if editable.error is not None else f"  press {run} to run"
        rate = "" if pace == Pace() else f"  to be shown {pace.describe()}"
        longest: list[list[Piece]] = [
            [said, todo, facts.long, hint, (rate, "dim")],
            [said, todo, facts.long, hint],
            [said, todo, facts.short, hint],
        ]
    else:
        pace_shown = (
            f"  shown {session.playback.describe()}" if session.point.last and not session.over else ""
        )
        longest = [[said, todo, where, facts.long, (pace_shown, "dim")], [said, todo, where, facts.long]]
    return [
        *longest,
        *([said, todo, where, fact] for fact in (facts.medium, facts.named, facts.short, facts.plain)),
        *([said, todo, fact] for fact in (facts.shorter, facts.brief) if editable.error is not None),
        *([said, brief, shorter, fact] for fact in (facts.plain, facts.shorter, facts.brief)),
        [said, brief, shortest, facts.brief],
        [said, shortest, facts.brief],
        [said, shortest, facts.least],
        [said, facts.least],
    ]


def keys_to_run(in_field: bool) -> str:
    """What is pressed to run the set-up: out of a field that takes letters, first what leaves it."""
    return f"{key('leave')} {key('run')}" if in_field else key("run")


def _points(session: Session | None, is_named: bool) -> tuple[str, str, str]:
    """Which point of the axes is shown, at length, in brief, and as a mere number.

    By its number alone if where the numbers are names it.
    """
    if session is None or not session.point.count:
        return "", "", ""
    where, count, left = session.point.label, session.point.count, session.engine_time.remaining
    brief, left = where.replace(" = ", "=").replace(", ", ","), f", {left}" if left else ""
    skipped = f", {session.point.skipped}" if session.point.skipped else ""
    numbered = f"(point {count.replace('/', ' of ')}{skipped}{left})"
    number = f" {count}{left}"
    if is_named:
        return f"  {numbered}", number, number
    return f"  {where} {numbered}", f" {brief}{number}", number


def _pending(session: Session | None, editable: EditableExperiment, run: str) -> tuple[Piece, Piece]:
    """What the set-up waits for, at length and in brief; `run` are the keys that run it."""
    if editable.error is not None:
        return (f"  fix {in_words(editable, editable.error.where)}", "bold red"), (" !fix", "bold red")
    if session is not None and session.sweep.experiment != editable.experiment:
        style = "bold magenta"
        return (f"  changed, not run yet: {run}", style), (f" new: {run}", style)
    return "", ""


LONGEST_MEASURE = 20
"""Letters of what is measured, at most."""

UNITS = {"epoch": "epochs", "time": ""}
"""What the engine takes per second where it is not steps, by the clock of the x-axis; time has no speed."""


class _Facts:
    """What the status says of a run, or of one to come, from the longest form to the shortest."""

    def __init__(
        self,
        session: Session | None,
        editable: EditableExperiment,
        fps: float,
        look: Look | None,
        learner: str,
    ) -> None:
        experiment = editable.experiment if session is None else session.experiment
        device, speed, x, of, along_axis = experiment.run.device, 0.0, "–", "", False
        numbers: tuple[str, ...] = 5 * ("",)
        self.names_point = False
        clock, last = experiment.protocol.clock, editable.last if session is None else session.point.last
        if session is not None and (trace := session.trace) is not None:
            point, playback = session.point, session.playback
            place, shown = point.x_at(playback.place), point.x_at(playback.shown)
            device = _computed(trace, learner)
            speed = session.engine_time.speed(point.x_at(max(trace.frontier, 0)))
            x = number(place)
            of = f" of {number(shown)} shown" if place < shown < last else ""
            seen = look or session.look()
            along_axis = session.over and not along_records(seen.view)
            of_point = _of_point(session, seen) if along_axis else ""
            self.names_point = bool(of_point)
            numbers = _numbers(seen, learner, of_point or seen.shown_at_in_words)
        long, medium, short, shorter, least = numbers
        unit, frames, end = UNITS.get(clock, "steps"), f"{fps:.0f} fps", number(last)
        along, pace, brief = (
            f"  {clock} {x}/{end}",
            f"{_short(speed)} {unit}/s" if unit else "",
            f" {x}/{end}",
        )
        if not last or along_axis:  # nothing goes along a clock, or what is in sight does not
            along = brief = ""
        pace = pace if last else ""
        name = device.partition(",")[0].partition(" ")[0]
        self.long = along + of + long + _spaced("  ", device, pace, frames)
        self.medium = along + of + medium + _spaced("  ", name, pace, frames)
        self.short = f"{along}{short}{_spaced('  ', name, pace)}"
        self.named = along + medium
        self.plain = along + short
        self.shorter = along + shorter
        self.brief = brief + shorter
        self.least = brief + least


def _computed(trace: Trace, learner: str) -> str:
    """The device and the backend of a learner's curves."""
    backend = next((curve.backend for curve in trace.curves if curve.learner == learner), "")
    return ", ".join(filter(None, (trace.environment["device"], backend)))


def _of_point(session: Session, look: Look) -> str:
    """The point shown, without the axes that split curves, where it is at the place of the numbers."""
    apart = [symbol(name, look.view.axes.words) for name in look.view.picture.split_by]
    named = [part for part in session.point.label.split(", ") if part.partition(" = ")[0] not in apart]
    at_x = look.shown_at is not None and look.view.x_of(look.point, session.point.last) == look.shown_at
    is_there = at_x and look.y in (None, look.view.y_of(look.point))
    return ", ".join(named) if is_there or {*look.shown_at_in_words.split(", ")} <= {*named} else ""


def _spaced(space: str, *pieces: str) -> str:
    """The pieces that there are, with a space before each."""
    return "".join(f"{space}{piece}" for piece in pieces if piece)


def _numbers(look: Look, learner: str, where: str) -> tuple[str, ...]:
    """What is to be said of the place that is looked at, in words, from the longest form to the shortest."""
    found = looked_at(look, learner)
    if found is None or found.value is None:
        return 5 * ("",)
    best, name = compares(look.view), found.name
    if best and (more := equals(look, found)):
        name = f"{name} and {more} more"
    word = "best" if best else elided(measured(look.view), LONGEST_MEASURE)
    at, brief = (f"  at {where}:", f" at {look.shown_at_in_words}:") if where else ("", "")
    four, three = (_fixed(found.value, count, found) for count in (4, 3))
    long, medium, short, shorter = line_forms(found)
    return (
        f"{at}  {word} {four} {name}{long}",
        f"{at}  {word} {four} {name}{medium}",
        f"{at}  {word} {four}{short}",
        f"{brief} {word} {three}{short}",
        f"{brief} {word} {three}{shorter}",
    )


def line_forms(found: Value) -> tuple[str, ...]:
    """The line that a value is compared with, and how, from the longest form to the shortest.

    The height of a bound that does not bind it stands in brackets, as in the table.
    """
    if found.line is None or found.height is None:
        return 4 * ("",)
    line = "bound" if found.line.direction in FROM_BELOW else "line"
    ratio = "" if found.ratio is None else f"ratio {digits.ratio(found.ratio)}"
    heights = (_fixed(found.height, decimals, found) for decimals in (4, 3))
    four, three = (height if found.binds else f"({height})" for height in heights)
    return (
        f"  {line} {four}{_spaced('  ', ratio)}",
        f"  {line} {four}{_spaced(' ', ratio)}",
        f" {line} {three}{_spaced(' ', ratio)}",
        f" {line} {three}",
    )


def _fixed(number: float, decimals: int, of: Value) -> str:
    """A number with so many decimals, or where these say little in powers of ten."""
    if of.is_count and math.isfinite(number):
        return digits.counted(number)
    is_small = of.rounding < abs(number) < 10 ** (1 - decimals)
    in_powers = is_small or abs(number) >= digits.LARGEST
    return digits.written(number, None if in_powers else decimals, of.rounding)


def _short(number: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"
