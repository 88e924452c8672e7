"""CPU time of a redraw of each panel: median of repeats in ms, at 120 × 40 cells.

Five learners have 128 weights each and a band of one standard error, and the playhead is at another place for
every redraw; then the same with smoothing, and with logarithmic axes.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from collections.abc import Callable
from functools import partial
from time import thread_time

import numpy as np
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table
from textual.app import App, ComposeResult

from engine.core.parts import Finding, Verdict
from engine.results.trace import Curve, Statement, TheoryLine, Trace
from engine.spec import presets
from engine.spec.experiment import RUN, Experiment
from engine.training.descent import kept_records
from hadamard_tui.charts.plots.look import ChartOptions
from hadamard_tui.panels import ABOUT
from hadamard_tui.panels.panel import PanelContext
from hadamard_tui.widgets.stage import PanelView, Stage

WIDTH, HEIGHT = 120, 40
REPEATS = 15
D = 128


def recorded(records: int) -> tuple[Experiment, Trace]:
    """Experiment and artificial trace with `records` records."""
    experiment = presets.load("all-targets-128", ["run.train_loss=true", "run.replicas=2"])
    rng = np.random.default_rng(0)
    x = np.arange(float(records))
    curves = []
    for number, learner in enumerate(experiment.learners):
        indices = {
            measure.name: {index.name: index.values for index in measure.index(learner, experiment.problem)}
            for measure in experiment.run.measures
        }
        curve = Curve(learner.name, records, 2, Verdict(True, "it was built so"), indices=indices)
        falling = np.exp(-x / records * (number + 1))[:, None] + rng.normal(scale=0.01, size=(records, 2))
        stride = kept_records(records, D, 8).stride
        for start in range(0, records, stride):
            block = slice(start, start + stride)
            loss = falling[block]
            weights = {0: rng.normal(size=D)}
            arrays = {"spectrum": {0: np.exp(-np.arange(D) / 10)[None]}}
            measures = {"loss": loss, "error": loss / 2, "train": loss, "unseen": loss}
            curve.append({"k": x[block]}, measures, weights, arrays)
        curve.ended = True
        curves.append(curve)
    holds = Finding(True, "it was built so")
    names = dict.fromkeys([learner.name for learner in experiment.learners], holds)
    bounds = [
        TheoryLine(
            Statement(kind, "lower", False, "c(1 − k/d)", "none", "loss"),
            holds,
            names,
            x,
            1 - x / records - shift,
        )
        for kind, shift in (("ri-signed", 0.0), ("svd", 0.1))
    ]
    environment = {"device": "cpu"}
    return experiment, Trace(curves, bounds, {"k": x}, "examples k", environment, "loss")


class Bench(App[None]):
    def compose(self) -> ComposeResult:
        yield Stage()


def on_stage(stage: Stage, context: PanelContext) -> None:
    """Draw picture and table, or the chosen panel."""
    if stage.panel is None:
        stage.show(context, context.look("loss", RUN))
    else:
        stage.query_one(PanelView).show(stage.panel, context)


def redraw(draw: Callable[[PanelContext], None], context: PanelContext) -> float:
    """Milliseconds for one redraw, median; the first is thrown away."""
    times = []
    for repeat in range(REPEATS + 1):
        moved = replace(context, place=context.trace.last * (0.3 + 0.02 * repeat))
        begin = thread_time()
        draw(moved)
        times.append(thread_time() - begin)
    return 1e3 * statistics.median(times[1:])


async def measure(records: int) -> dict[str, list[float]]:
    """Times of every panel, one for each set of chart options."""
    experiment, trace = recorded(records)
    every_options = (ChartOptions(), ChartOptions(smooth=True), ChartOptions(x_log=True, y_log=True))
    app = Bench()
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        stage = app.query_one(Stage)
        times_by_panel: dict[str, list[float]] = {}
        for name in reversed(ABOUT):
            stage.choose(name)
            await pilot.pause()
            for chart_options in every_options:
                context = PanelContext(experiment, trace, trace.curves[0], trace.last, 0.0, chart_options)
                stage.show(context, context.look("loss", RUN))
                await pilot.pause()
                panel = "chart and table" if stage.panel is None else name
                times_by_panel.setdefault(panel, []).append(redraw(partial(on_stage, stage), context))
        return times_by_panel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="?", type=int, default=10**6, help="of every learner; a million")
    records = parser.parse_args().records
    times_by_panel = asyncio.run(measure(records))
    table = Table("panel", "as it is", "smoothed", "log axes", title=f"ms, {records:,} records")
    for name, times in times_by_panel.items():
        table.add_row(name, *(f"{time:.1f}" for time in times))
    Console().print(table)


if __name__ == "__main__":
    main()
