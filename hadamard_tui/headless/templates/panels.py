"""A panel of my own. `hadamard-tui parts check FILE.py` checks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from hadamard_tui.panels.panel import Panel

if TYPE_CHECKING:
    from hadamard_tui.panels.panel import PanelContext


def show(context: PanelContext) -> Text:
    """Return the loss of each learner at the playhead, one line per learner."""
    lines = []
    for curve in context.look("loss").view.curves:
        records = curve.x <= context.place
        loss = f"{curve.y[records][-1]:.3g}" if records.any() else "–"
        lines.append(f"{curve.name}: {loss}")
    return Text("\n".join(lines))


PANEL = Panel("my-part", "the loss of each learner at the playhead", show)
