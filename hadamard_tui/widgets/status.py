"""The status line: state, k of n, best loss, bound, ratio, device and speed, always in the same order."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from rich.text import Text
from textual.widgets import Static

from engine.trace import ZERO, Trace
from hadamard_tui.draft import Draft
from hadamard_tui.playback import Pace
from hadamard_tui.session import Session

STYLES = {
    "running": "bold green",
    "paused": "bold yellow",
    "finished": "bold cyan",
    "stopped": "bold yellow",
    "failed": "bold red",
}


class Status(Static):
    """Written again only when its text changes."""

    DEFAULT_CSS = "Status { height: 1; background: $boost; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._text: Text | None = None

    def show(self, session: Session | None, draft: Draft, pace: Pace) -> None:
        """Say how a session stands, and whether the set-up has changed since it began."""
        text = status_text(session, draft, pace)
        if text != self._text:
            self._text = text
            self.update(text)


def status_text(session: Session | None, draft: Draft, pace: Pace) -> Text:
    """The status in one line."""
    state = "ready" if session is None else session.state
    text = Text.assemble(" ", (state, STYLES.get(state, "bold")))
    if draft.error is not None:
        text.append(f"  set-up: mend {draft.error.where}", "bold red")
    elif session is None:
        text.append("  press r to run")
    elif session.experiment != draft.experiment:
        text.append("  set-up changed: restart pending, press r", "bold magenta")
    if session is None:
        return text.append(f"  to be shown {pace.describe()}", "dim") if pace != Pace() else text
    trace = session.trace
    if trace is None:
        return text
    text.append(f"  k {session.shown:g}/{trace.last:g}")
    text.append(_best(trace, session.shown))
    text.append(f"  {trace.environment['device']}")
    text.append(f"  computed {_short(session.speed)} steps/s")
    text.append(f"  shown {session.playback.describe()}", "dim")
    return text


def _best(trace: Trace, shown: float) -> str:
    """The lowest loss now, whose it is, and how it stands to the bound drawn."""
    now = []
    for curve in trace.curves:
        count = int(np.searchsorted(curve.x, shown, side="right"))
        if count and (curve.diverged_at is None or shown < curve.diverged_at):
            now.append((float(curve.loss[count - 1]), curve))
    if not now:
        return ""
    loss, curve = min(now, key=lambda pair: pair[0])
    text = f"  best {loss:.4f} {curve.name}"
    bound = trace.strongest(curve.learner, shown)
    if bound is None:
        return text
    height = bound.at(shown)
    text += f"  bound {height:.4f}"
    return text + (f"  ratio {loss / height:.3f}" if height > ZERO else _lowest_ratio(trace, shown))


@lru_cache(maxsize=1)
def _lowest_ratio(trace: Trace, shown: float) -> str:
    """Who has been lowest in relation to the bound, and where: what remains to be said when that is 0."""
    found = []
    for curve in trace.curves:
        x, loss = curve.x[curve.x <= shown], curve.loss[: np.count_nonzero(curve.x <= shown)]
        heights = trace.heights(curve.learner, x)
        if heights.any():
            ratios = np.divide(loss, heights, out=np.full_like(loss, np.inf), where=heights > 0)
            found.append((float(ratios.min()), float(x[ratios.argmin()]), curve.name))
    if not found:
        return ""
    ratio, place, name = min(found)
    return f"  lowest ratio {ratio:.3f} {name} at {place:g}"


def _short(number: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"
