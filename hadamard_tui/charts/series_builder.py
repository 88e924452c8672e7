"""From a trace to series: which curve gets which colour, style and letter."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from engine.results.trace import Curve, TheoryLine, Trace
from hadamard_tui.charts.chart_options import DECADES, ChartOptions, why_not_log
from hadamard_tui.charts.colour import triplet
from hadamard_tui.charts.letters import IN_ORDER, Letters
from hadamard_tui.charts.series import Axes, LineStyle, Series, limits
from hadamard_tui.charts.smoothing import smoothed
from hadamard_tui.charts.thinning import thinned
from hadamard_tui.looks import palette

WHOLE = ChartOptions()
"""All of a run, on linear axes."""

LOSS_TITLE = "Average loss over all rows"

DIRECTIONS: dict[str, str] = {
    "lower": "lower bound",
    "upper": "upper bound",
    "exact": "exact value",
    "asymptotic": "asymptotic value",
    "shape": "shape",
    "conjecture": "conjecture",
    "reference": "reference",
}
"""What a theory line is, by its direction."""

RESPECT_STYLES: dict[bool | None, str] = {True: "green", False: "bold red", None: "yellow"}
"""The style of the words that a bound is respected, broken, or not decided."""

PINNED_STYLES: tuple[LineStyle, ...] = ("dash-dot", "sparse", "long", "pairs")
"""Line styles of pinned runs; those of bounds are dashed and dotted."""

SMALL_LETTERS = ", small letters"
"""What the legend says of a pinned run beside its name."""

SMOOTHED_SHARE = 1 / 32
"""A smoothed curve is the mean over so much of the x-axis on either side."""

Ground = Callable[[np.ndarray], np.ndarray]
"""From x to what a curve is measured from; 0 unless told otherwise."""


class Plot(NamedTuple):
    """What a chart is to show."""

    series: Sequence[Series]
    axes: Axes
    note: str = ""
    playhead: float | None = None


@dataclass(frozen=True)
class Pen:
    """How the curves of one run are drawn: up to x = `shown`, and faint beyond x = `place`.

    Args:
        number: 0 for the run on the screen, 1, 2, … for the pinned ones.
    """

    shown: float
    place: float
    chart_options: ChartOptions = WHOLE
    number: int = 0

    @property
    def style(self) -> LineStyle:
        """The line style, by the run."""
        return PINNED_STYLES[(self.number - 1) % len(PINNED_STYLES)] if self.number else "solid"

    def draw(
        self,
        learner: int,
        curve: Curve,
        what: str,
        y: np.ndarray,
        ground: Ground = np.zeros_like,
        stderr: np.ndarray | None = None,
    ) -> list[Series]:
        """Curve number `learner`: its past, and faint what was smoothed away and what lies ahead.

        Args:
            what: names y among the arrays of the curve.
            y: what was measured at curve.x [n]; shorter where a curve is being written.
            ground: what is subtracted from it.
            stderr: its standard error [n], drawn as a band where the chart_options has bands.
        """
        count = min(int(np.searchsorted(curve.x, self.shown, side="right")), len(y))
        x, y = curve.x[:count], y[:count]
        low, high = self.chart_options.window or (-np.inf, np.inf)
        picked = thinned(curve, what, x, y, low, high)
        picked = picked[~np.isnan(y[picked])]  # not everything is measured at every record
        name = "" if self.number else curve.name
        tint = pinned_colour(learner, self.number) if self.number else colour(learner)
        letter = mark(learner).lower() if self.number else mark(learner)
        at, under = x[picked], ground(x[picked])
        raw = y[picked] - under
        shown, band = raw, None
        lines = []
        if self.chart_options.smooth and count:
            half = max(1, round(curve.capacity * SMOOTHED_SHARE))
            shown = smoothed(curve, what, y, picked, half) - under
            lines.append(Series("", at, raw, tint, faint=True))
        if stderr is not None and self.chart_options.band:
            error = stderr[:count][picked]
            band = (shown - error, shown + error)
        past = int(np.searchsorted(at, self.place, side="right"))
        if past < len(at):
            begin = max(past - 1, 0)
            lines.append(Series("", at[begin:], shown[begin:], tint, faint=True, style=self.style))
        till = np.s_[:past]
        band = band and (band[0][till], band[1][till])
        lines.append(Series(name, at[till], shown[till], tint, style=self.style, band=band, mark=letter))
        return lines


def mark(number: int) -> str:
    """The letter of learner `number`, the same in charts and tables."""
    return chr(ord("A") + number % 26)


def colour(number: int) -> str:
    """The colour of learner `number`."""
    colours = palette.current().learners
    return colours[number % len(colours)]


def theory() -> str:
    """The colour of bounds."""
    return palette.current().theory


def others() -> str:
    """The colour of what is only context."""
    return palette.current().others


def pinned_colour(learner: int, run: int) -> str:
    """The colour of a learner of pinned run 1, 2, …: its own, paler, and turned a little for every run.

    On a light ground it is darker instead, so that it stands out there, too.
    """
    red, green, blue = (part / 255 for part in triplet(colour(learner)))
    hue, light, vivid = colorsys.rgb_to_hls(red, green, blue)
    far = 0.0 if sum(triplet(palette.current().ground)) > 3 * 128 else 1.0
    faded = colorsys.hls_to_rgb((hue + 0.07 * (run - 1)) % 1, light + (far - light) * 0.45, vivid * 0.75)
    return "#" + "".join(f"{round(255 * part):02x}" for part in faded)


def loss_series(
    trace: Trace,
    shown: float,
    place: float | None = None,
    chart_options: ChartOptions = WHOLE,
    pinned: Sequence[tuple[str, Trace]] = (),
    letters: Letters = IN_ORDER,
) -> list[Series]:
    """The curves of pinned runs, those of the learners up to x = `shown`, then the bounds.

    Bounds come last: their dashes stay visible on a curve that runs along them.
    """
    pen = Pen(shown, shown if place is None else place, chart_options)
    return [
        *(
            one
            for number, (name, other) in enumerate(pinned, start=1)
            for one in _pinned(name, other, Pen(np.inf, np.inf, chart_options, number), letters)
        ),
        *(
            one
            for learner, curve in zip(letters.of(trace), trace.curves, strict=True)
            for one in pen.draw(learner, curve, "loss", curve.loss, stderr=curve.stderr)
        ),
        *(_bound(bound, chart_options) for bound in trace.bounds if bound.on_problem.holds),
    ]


def _pinned(name: str, trace: Trace, pen: Pen, letters: Letters) -> list[Series]:
    """The curves of a pinned run, with small letters, and its name for the legend."""
    nothing = np.empty(0)
    tint = pinned_colour(0, pen.number)
    lines = [Series(f"{name}{SMALL_LETTERS}", nothing, nothing, tint, style=pen.style)]
    for learner, curve in zip(letters.of(trace), trace.curves, strict=True):
        lines += pen.draw(learner, curve, "loss", curve.loss)
    return lines


def _bound(bound: TheoryLine, chart_options: ChartOptions) -> Series:
    style: LineStyle = "dotted" if bound.direction == "conjecture" else "dashed"
    low, high = chart_options.window or (-np.inf, np.inf)
    picked = thinned(bound, "loss", bound.x, bound.values, low, high)
    return Series(
        f"{bound.kind} {bound.formula}", bound.x[picked], bound.values[picked], theory(), style=style
    )


def loss_axes(trace: Trace, series: Sequence[Series]) -> Axes:
    """Axes from 0 to a little above the highest start; a curve that leaves them is cut at the border."""
    starts = [float(one.y[0]) for one in series if len(one.y) and (one.mark or one.name)] or [1.0]
    highest = [float(np.nanmax(one.y)) for one in series if len(one.y)] or [1.0]
    top = min(max(highest), 2 * max(starts))
    step = max(starts) / 4 or 0.25
    y_limits = (0.0, max(step, np.ceil(top / step - 1e-6) * step) * 1.04)
    return Axes(LOSS_TITLE, trace.x_label, trace.y_label, WHOLE.x_limits(trace.x), y_limits)


def loss_plot(
    trace: Trace,
    shown: float,
    place: float,
    chart_options: ChartOptions,
    pinned: Sequence[tuple[str, Trace]],
    letters: Letters = IN_ORDER,
) -> Plot:
    """The chart of losses; its axes stay still while the run goes on, unless the options ask for others."""
    series = loss_series(trace, shown, place, chart_options, pinned, letters)
    on, refused = axes(LOSS_TITLE, trace, trace.y_label, series, chart_options, most=tallest(trace))
    longest = max([trace.x, *(other.x for _, other in pinned)], key=lambda x: float(x[-1]))
    on = replace(on, x_limits=chart_options.x_limits(longest))
    if chart_options.window is None and not on.y_log:
        whole = loss_axes(trace, series)
        on = replace(whole, x_limits=on.x_limits, x_log=on.x_log)
    return Plot(series, on, refused, place if place < shown else None)


def tallest(trace: Trace) -> float:
    """Twice the greatest loss at the start: a curve that leaves linear axes of so much is diverging."""
    return 2 * max((float(curve.loss[0]) for curve in trace.curves if curve.length), default=np.inf)


def axes(
    title: str,
    trace: Trace,
    y_label: str,
    series: Sequence[Series],
    chart_options: ChartOptions,
    floor: float = np.inf,
    most: float = np.inf,
) -> tuple[Axes, str]:
    """Axes that hold `floor` and what the series show in the window, on linear axes no more than ± `most`.

    And why the y-axis is not logarithmic although the chart_options asks for it.
    """
    low, high = x_limits = chart_options.x_limits(trace.x)
    ys = [one.y[(one.x >= low) & (one.x <= high)] for one in series]
    values = np.concatenate([y[np.isfinite(y)] for y in ys] or [np.empty(0)])
    refused = why_not_log("y", values) if chart_options.y_log and len(values) else ""
    if chart_options.y_log and not refused and len(values):
        top = float(values.max())
        bottom = max(float(values[values > 0].min()), top * 10.0**-DECADES)
        y_limits = (bottom / 1.5, top * 1.5)
    else:
        held = (values if floor == np.inf else np.append(values, floor)).clip(-most, most)
        y_limits = limits(held)
    log = chart_options.y_log and not refused and len(values) > 0
    return Axes(title, trace.x_label, y_label, x_limits, y_limits, chart_options.x_log, log), refused
