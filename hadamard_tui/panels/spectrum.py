"""Panel: singular values of the selected learner's weight matrix across targets, during training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from hadamard_tui.charts.plots.series_builder import Plot, colour_of, others
from hadamard_tui.charts.series import Series
from hadamard_tui.panels.panel import Lack, Panel, nothing, plot, record_at_playhead, recording

if TYPE_CHECKING:
    from engine.results.trace import Curve
    from engine.spec.experiment import Experiment
    from hadamard_tui.panels.panel import PanelContext

MOST_LINES = 256
"""Maximum number of singular values that are drawn.

If there are more, an evenly spaced selection is drawn.
"""


ALIKE = 1e-3
"""Largest relative difference between singular values that count as equal.

The curves of such values look the same.
"""


def lacks(experiment: Experiment, measure: str = "spectrum") -> Lack | None:
    from engine.measures.rank import Rank
    from engine.measures.spectrum import SingularValues
    from engine.planning.run_plan import is_recorded

    if experiment.m < 2:
        return Lack(
            "There is one target, so the weights are one vector and not a matrix. "
            "With the target `all` or `doubled`, there is a spectrum."
        )
    if is_recorded(measure, experiment):
        return None
    record = recording(experiment, "records spectra", SingularValues(), Rank())
    return Lack("The run does not record spectra.", record)


def no_spectrum(curve: Curve) -> str:
    if curve.length:
        return f"{curve.name} is not linear in the instance, so it has no matrix of weights."
    return f"{curve.name} has no singular values before its first evaluation point."


def show(context: PanelContext) -> Plot | Text:
    from engine.measures.spectrum import SingularValues
    from engine.results.report import picture_of_spectra, spectra
    from engine.results.results import of_one

    curve, experiment = context.curve, context.experiment
    view = context.views.view(picture_of_spectra(experiment), of_one(experiment, context.trace))
    if (spectrum := spectra(view).get(curve.name)) is None:
        return nothing(no_spectrum(curve))
    count = int(np.searchsorted(spectrum.x, context.shown, side="right"))
    x, values, rank = spectrum.x[:count], spectrum.values[:count], spectrum.rank[:count]
    tint = colour_of(context.loss.view.curve(curve.name))
    if _are_all_equal(values, rank):
        series = [_shared_curve(x, values, rank, record_at_playhead(context, spectrum.x), tint)]
    else:
        series = _largest_curves(x, values, rank, record_at_playhead(context, spectrum.x), tint)
    return plot(context, f"Spectrum of {curve.name}", SingularValues.label, series, floor=0.0)


def _are_all_equal(values: np.ndarray, rank: np.ndarray) -> bool:
    """Return whether all positive singular values look equal at every evaluation point of the run.

    Args:
        values: singular values at each evaluation point, in decreasing order, [S, r].
        rank: number of positive values at each evaluation point, [S].
    """
    is_positive = rank > 0
    least = values[is_positive, rank[is_positive] - 1]
    return bool((rank > 1).any() and (least >= (1 - ALIKE) * values[is_positive, 0]).all())


def _shared_curve(x: np.ndarray, values: np.ndarray, rank: np.ndarray, now: int | None, tint: str) -> Series:
    """Return one curve for all equal singular values. Its name states the number of these values.

    If `now` is None, the name states the smallest and the largest number during the run. Otherwise, it states
    the number and the value at index `now`.
    """
    counts = rank[rank > 0] if now is None else rank[[now]]
    count = "" if counts.min() == counts.max() else f"{counts.min()} to "
    is_whole = counts.min() == values.shape[1]
    number = f"all {counts.max()}" if is_whole else f"{count}{counts.max()} of {values.shape[1]}"
    words = "are equal" if now is None else f"= {values[now, 0]:.4g}"
    line_name = f"{number} singular values {words}{'' if is_whole else ', the others = 0'}"
    return Series(line_name, x, np.where(rank > 0, values[:, 0], np.nan), tint, mark="1")


def _largest_curves(
    x: np.ndarray, values: np.ndarray, rank: np.ndarray, now: int | None, tint: str
) -> list[Series]:
    """Return curves of at most MOST_LINES singular values. The largest comes last, and is drawn on top."""
    values, r = np.where(values > 0, values, np.nan), values.shape[1]
    shown = np.unique(np.linspace(0, r - 1, min(r, MOST_LINES)).astype(int))
    line_name = f"largest of {r} singular values"
    if now is not None:
        line_name += f": {values[now, 0]:.4g}; {rank[now]} are above 0"
    rest = [Series("", x, values[:, i], others(), faint=True) for i in shown[:0:-1]]
    return [*rest, Series(line_name, x, values[:, 0], tint, mark="1")]


PANEL = Panel(
    "svd",
    "the singular values of the selected learner's weights across targets",
    show,
    place=60,
    lacks=lacks,
)
