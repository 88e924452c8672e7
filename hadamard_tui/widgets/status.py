"""The status line: state, how far it is, best loss, bound, ratio, device, steps/s and fps, always all."""

from __future__ import annotations

import weakref
from functools import lru_cache

import numpy as np
from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.widgets import Static

from engine.results.trace import ZERO, Curve, Trace
from hadamard_tui.editing.editable_experiment import EditableExperiment
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
        self._of: tuple[Session | None, EditableExperiment, Pace, float] | None = None

    def show(self, session: Session | None, editable: EditableExperiment, pace: Pace, fps: float) -> None:
        """Say how a session stands, and whether the set-up has changed since it began."""
        self._of = session, editable, pace, fps
        text = status_text(session, editable, pace, fps, self.size.width or self.app.size.width)
        if text != self._text:
            self._text = text
            self.update(text, layout=False)

    def on_resize(self, event: events.Resize) -> None:
        if self._of is not None:
            self.show(*self._of)


def status_text(
    session: Session | None, editable: EditableExperiment, pace: Pace, fps: float, width: int
) -> Text:
    """The status in one line: the longest of its forms that fits."""
    forms = [Text.assemble(" ", *form) for form in _forms(session, editable, pace, fps)]
    return next((text for text in forms if cell_len(text.plain) <= width), forms[-1])


def _forms(
    session: Session | None, editable: EditableExperiment, pace: Pace, fps: float
) -> list[list[Piece]]:
    """The pieces of the status from the longest form to the shortest."""
    state = "ready" if session is None else session.state
    said: Piece = (state, STYLES.get(state, "bold"))
    todo, brief = _pending(session, editable)
    facts = _Facts(session, editable, fps)
    where = f"  {session.where}" if session is not None and session.where else ""
    if session is None:
        hint = "" if editable.error is not None else f"  press {key('run')} to run"
        rate = "" if pace == Pace() else f"  to be shown {pace.describe()}"
        told: list[list[Piece]] = [
            [said, todo, facts.long, hint, (rate, "dim")],
            [said, todo, facts.long, hint],
            [said, todo, facts.short, hint],
        ]
    else:
        told = [[said, todo, where, facts.long, (f"  shown {session.playback.describe()}", "dim")]]
    return [
        *told,
        [said, todo, where, facts.long],
        [said, todo, where, facts.medium],
        [said, todo, where, facts.short],
        *([said, todo, shorter] for shorter in (facts.shorter, facts.shortest) if editable.error is not None),
        [said, brief, facts.short],
        [said, brief, where, facts.shorter],
        [said, brief, facts.shorter],
        [said, brief, facts.shortest],
        [said, facts.shortest],
        [said, facts.least],
    ]


def _pending(session: Session | None, editable: EditableExperiment) -> tuple[Piece, Piece]:
    """What the set-up waits for, at length and in brief."""
    if editable.error is not None:
        return (f"  set-up: mend {editable.error.where}", "bold red"), (" !mend", "bold red")
    if session is not None and session.plan.experiment != editable.experiment:
        style = "bold magenta"
        run = key("run")
        return (f"  set-up changed: restart pending ({run})", style), (f" new:{run}", style)
    return "", ""


NOT_YET = (*2 * ("  best –  bound –  ratio –",), *2 * (" best – bound – ratio –",), *2 * (" –/–=–",))
"""What there is to say of losses before there are any, from the longest form to the shortest."""


UNITS = {"epoch": "epochs", "time": "time"}
"""What the engine takes per second where it is not steps, by the clock of the x-axis."""


class _Facts:
    """What the status says of a run, or of one to come, from the longest form to the shortest."""

    def __init__(self, session: Session | None, editable: EditableExperiment, fps: float) -> None:
        experiment = editable.experiment if session is None else session.experiment
        device, speed, x, brief, of = experiment.run.device, 0.0, "–", "–", ""
        losses: tuple[str, ...] = NOT_YET
        clock, last = experiment.protocol.clock, editable.last if session is None else session.last
        if session is not None and (trace := session.trace) is not None:
            place, shown = session.x_at(session.place), session.x_at(session.shown)
            device, speed = trace.environment["device"], session.speed
            x, brief = f"{place:g}", _short(place)
            of = f" of {shown:g} shown" if place < shown < last else ""
            losses = _losses(trace, place)
        long, medium, short, shorter, shortest, least = losses
        unit, steps = UNITS.get(clock, "steps"), _short(speed)
        self.long = f"  {clock} {x}/{last:g}{of}{long}  {device}  {steps} {unit}/s  {fps:.0f} fps"
        device = device.split(" ", 1)[0]
        self.medium = f"  {clock} {x}/{last:g}{of}{medium}  {device}  {steps} {unit}/s  {fps:.0f} fps"
        self.short = f"  {clock} {x}/{last:g}{short}  {device} {steps} {unit}/s {fps:.0f} fps"
        self.shorter = f"  {clock} {x}/{last:g}{shorter} {device} {steps}/s {fps:.0f} fps"
        self.shortest = f" {brief}/{_short(last)}{shortest} {device} {steps}/s {fps:.0f}fps"
        self.least = f" {brief}/{_short(last)}{least} {device} {steps}/s {fps:.0f}fps"


def _losses(trace: Trace, place: float) -> tuple[str, ...]:
    """Best loss, bound and ratio at the place, from the longest form to the shortest."""
    best = best_now(trace, place)
    if best is None:
        return NOT_YET
    loss, curve, height = best
    bound, low = ("none", "none") if height is None else (f"{height:.4f}", f"{height:.2f}")
    ratio, lowest = _ratio(trace, best, place)
    brief, sign = (f"lowest {ratio}", " min ") if lowest else (f"ratio {ratio}", "=")
    return (
        f"  best {loss:.4f} {curve.name}  bound {bound}  {lowest or brief}",
        f"  best {loss:.4f} {curve.name}  bound {bound}  {brief}",
        f"  best {loss:.4f} bound {bound} {brief}",
        f" best {loss:.3f} bound {bound[:5]} {brief}",
        f" {loss:.3f}/{bound[:5]}{sign}{ratio}",
        f" {loss:.2f}/{low}{sign}{ratio}",
    )


def best_now(trace: Trace, place: float) -> tuple[float, Curve, float | None] | None:
    """The lowest loss at the place, whose it is, and the height of the bound it is compared with."""
    now = []
    for curve in trace.curves:
        count = int(np.searchsorted(curve.x, place, side="right"))
        if count and not curve.diverged_by(place):
            now.append((float(curve.loss[count - 1]), curve))
    if not now:
        return None
    loss, curve = min(now, key=lambda pair: pair[0])
    bound = trace.strongest(curve.learner, place)
    return loss, curve, None if bound is None else bound.at(place)


def _ratio(trace: Trace, best: tuple[float, Curve, float | None], place: float) -> tuple[str, str]:
    """Loss in relation to the bound; once that has come to 0, the lowest there was, and in words where."""
    loss, _, height = best
    if height is not None and height > ZERO:
        return f"{loss / height:.3f}", ""
    lowest = lowest_ratio(trace, place)
    if lowest is None:
        return "–", ""
    ratio, name, x = lowest
    return f"{ratio:.3f}", f"lowest ratio {ratio:.3f} {name} at {x:g}"


def lowest_ratio(trace: Trace, place: float) -> tuple[float, str, float] | None:
    """Who has been lowest in relation to the bound, and where."""
    counts = (int(np.searchsorted(curve.x, place, side="right")) for curve in trace.curves)
    return _lowest_ratio(weakref.ref(trace), tuple(counts))


@lru_cache(maxsize=1)
def _lowest_ratio(of: weakref.ref[Trace], counts: tuple[int, ...]) -> tuple[float, str, float] | None:
    """The same among so many records of every curve, which never change; the trace is not kept alive."""
    trace = of()
    assert trace is not None, "whoever asks holds the trace"
    found = []
    for curve, count in zip(trace.curves, counts, strict=True):
        whole = min(count, curve.sound)  # a mean over the replicas that have not diverged is no lowest loss
        x, loss = curve.x[:whole], curve.loss[:whole]
        heights = trace.heights(curve.learner, x)
        if heights.any():
            ratios = np.divide(loss, heights, out=np.full_like(loss, np.inf), where=heights > 0)
            found.append((float(ratios.min()), curve.name, float(x[ratios.argmin()])))
    return min(found, default=None)


def _short(number: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"
