"""The status line: state, point, how far it is, value, line, ratio, device, steps/s and fps, always all."""

from __future__ import annotations

import math

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.widgets import Static

from engine.core.notation import number
from engine.pictures.bound_class import FROM_BELOW
from hadamard_tui.charts.legend import elided
from hadamard_tui.charts.look import Look
from hadamard_tui.charts.values import Value, counted, looked_at, lowest_ratio, values
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.editing.place_words import in_words
from hadamard_tui.keyboard.keymap import key
from hadamard_tui.running.playback import Pace
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
    where, shorter, shortest = _points(session)
    if session is None:
        hint = "" if editable.error is not None else f"  press {run} to run"
        rate = "" if pace == Pace() else f"  to be shown {pace.describe()}"
        told: list[list[Piece]] = [
            [said, todo, facts.long, hint, (rate, "dim")],
            [said, todo, facts.long, hint],
            [said, todo, facts.short, hint],
        ]
    else:
        pace_shown = f"  shown {session.playback.describe()}" if session.last else ""
        told = [[said, todo, where, facts.long, (pace_shown, "dim")]]
    return [
        *told,
        *([said, todo, where, fact] for fact in (facts.long, facts.medium, facts.short)),
        *([said, todo, fact] for fact in (facts.shorter, facts.shortest) if editable.error is not None),
        *([said, brief, shorter, fact] for fact in (facts.short, facts.shorter, facts.shortest)),
        [said, shorter, facts.shortest],
        [said, shortest, facts.shortest],
        [said, shortest, facts.least],
        [said, facts.least],
    ]


def keys_to_run(in_field: bool) -> str:
    """What is pressed to run the set-up: out of a field that takes letters, first what leaves it."""
    return f"{key('leave')} {key('run')}" if in_field else key("run")


def _points(session: Session | None) -> tuple[str, str, str]:
    """Which point of the axes is shown, at length, in brief, and as a mere number."""
    if session is None or not session.count:
        return "", "", ""
    where, count, left = session.where, session.count, session.remaining
    brief, left = where.replace(" = ", "=").replace(", ", ","), f", {left}" if left else ""
    skipped = f", {session.skipped}" if session.skipped else ""
    long = f"  {where} ({count.replace('/', ' of ')}{skipped}{left})"
    return long, f" {brief} {count}{left}", f" {count}{left}"


def _pending(session: Session | None, editable: EditableExperiment, run: str) -> tuple[Piece, Piece]:
    """What the set-up waits for, at length and in brief; `run` are the keys that run it."""
    if editable.error is not None:
        return (f"  fix {in_words(editable, editable.error.where)}", "bold red"), (" !fix", "bold red")
    if session is not None and session.plan.experiment != editable.experiment:
        style = "bold magenta"
        return (f"  changed, not run yet: {run}", style), (f" new: {run}", style)
    return "", ""


NOT_YET = (*2 * ("  best –  bound –  ratio –",), *2 * (" best – bound – ratio –",), *2 * (" –/–=–",))
"""What there is to say of numbers before there are any, from the longest form to the shortest."""

LONGEST_MEASURE = 20
"""Letters of what is measured, at most."""

UNITS = {"epoch": "epochs", "time": "time"}
"""What the engine takes per second where it is not steps, by the clock of the x-axis."""


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
        device, speed, x, brief, of = experiment.run.device, 0.0, "–", "–", ""
        numbers: tuple[str, ...] = NOT_YET
        clock, last = experiment.protocol.clock, editable.last if session is None else session.last
        if session is not None and (trace := session.trace) is not None:
            place, shown = session.x_at(session.place), session.x_at(session.shown)
            device, speed = trace.environment["device"], session.speed
            x, brief = f"{place:g}", _short(place)
            of = f" of {shown:g} shown" if place < shown < last else ""
            numbers = _numbers(look or session.look(), learner)
        long, medium, short, shorter, shortest, least = numbers
        unit, steps, frames = UNITS.get(clock, "steps"), _short(speed), f"{fps:.0f} fps"
        along, pace = f"  {clock} {x}/{last:g}", f"{steps} {unit}/s"
        shorter_along, shorter_pace = f" {brief}/{_short(last)}", f"{steps}/s"
        if not last:  # nothing goes along a clock
            along = pace = shorter_along = shorter_pace = ""
        name = device.split(" ", 1)[0]
        self.long = along + of + long + _spaced("  ", device, pace, frames)
        self.medium = along + of + medium + _spaced("  ", name, pace, frames)
        self.short = f"{along}{short} {_spaced(' ', name, pace, frames)}"
        self.shorter = along + shorter + _spaced(" ", name, shorter_pace, frames)
        frames = f"{fps:.0f}fps"
        self.shortest = shorter_along + shortest + _spaced(" ", name, shorter_pace, frames)
        self.least = shorter_along + least + _spaced(" ", name, shorter_pace, frames)


def _spaced(space: str, *pieces: str) -> str:
    """The pieces that there are, with a space before each."""
    return "".join(f"{space}{piece}" for piece in pieces if piece)


def _numbers(look: Look, learner: str) -> tuple[str, ...]:
    """What is to be said of the place that is looked at, from the longest form to the shortest."""
    found = looked_at(look, learner)
    if found is None or found.value is None:
        return NOT_YET if look.view.is_risk and look.view.along_records else 6 * ("",)
    measure, name = look.view.picture.measure, _who(look, found)
    word = "best" if measure.is_risk else elided(measure.name, LONGEST_MEASURE)
    where, at = place_forms(look)
    four, three, two = (_fixed(found.value, count, found) for count in (4, 3, 2))
    long, medium, short, shorter, shortest, least = line_forms(look, found)
    return (
        f"{where}  {word} {four} {name}{long}",
        f"{where}  {word} {four} {name}{medium}",
        f"{where}  {word} {four}{short}",
        f"{at} {word} {three}{shorter}",
        f"{at} {three}{shortest}",
        f"{at} {two}{least}",
    )


def _who(look: Look, found: Value) -> str:
    """Whose value it is, and of a lowest risk how many more have the same to four decimals."""
    if not look.view.picture.measure.is_risk or found.value is None:
        return found.name
    own = values(look)[: len(look.view.curves) + len(look.view.heats)]
    said = _fixed(found.value, 4, found)
    heights = [one.value for one in own if one.value is not None and not one.diverged]
    more = sum(_fixed(height, 4, found) == said for height in heights) - 1
    return f"{found.name} and {more} more" if more > 0 else found.name


def place_forms(look: Look) -> tuple[str, str]:
    """Where on x a person looks, at length and in brief; nothing along a run, whose clock says it."""
    if look.view.along_records or look.x is None:
        return "", ""
    x = look.view.x_name
    if look.y is None:
        word = look.view.name_at(look.x)
        return f"  at {x} = {word or number(look.x, 4)}:", f" at {word or number(look.x)}"
    y = look.view.y_name
    at = f"  at {x} = {number(look.x, 4)}, {y} = {number(look.y, 4)}:"
    return at, f" at {number(look.x)},{number(look.y)}"


def line_forms(look: Look, found: Value) -> tuple[str, ...]:
    """The line that a value is compared with, and how, from the longest form to the shortest."""
    if found.line is None or found.height is None:
        return 6 * ("",)
    line = "bound" if found.line.direction in FROM_BELOW else found.line.kind
    ratio, lowest = _ratio(look, found)
    brief, sign = (f"lowest ratio {ratio}", " min ") if lowest else (f"ratio {ratio}", "=")
    height, brief_height, low = (_fixed(found.height, decimals, found) for decimals in (4, 3, 2))
    return (
        f"  {line} {height}  {lowest or brief}",
        f"  {line} {height}  {brief}",
        f" {line} {height} {brief}",
        f" {line} {brief_height} {brief}",
        f"/{brief_height}{sign}{ratio}",
        f"/{low}{sign}{ratio}",
    )


def _ratio(look: Look, found: Value) -> tuple[str, str]:
    """Value by line; once the line has come to 0, the lowest there was, and in words where."""
    if found.ratio is not None:
        return f"{found.ratio:z.3f}", ""
    lowest = lowest_ratio(look)
    if lowest is None:
        return "–", ""
    ratio, name, x = lowest
    return f"{ratio:z.3f}", f"lowest ratio {ratio:z.3f} {name} at {x:g}"


def _fixed(number: float, decimals: int, of: Value) -> str:
    """A number with so many decimals, or where these say little in powers of ten."""
    if not math.isfinite(number):
        return "never" if number > 0 else "–"
    if of.is_count:
        return counted(number)
    is_small = of.rounding < abs(number) < 10 ** (1 - decimals)
    return f"{number:.1e}" if is_small or abs(number) >= 1e5 else f"{number:z.{decimals}f}"


def _short(number: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"
