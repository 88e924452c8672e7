"""Small multiples on the stage: charts of the same scale side by side, as many as have room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.containers import Grid

from hadamard_tui.widgets.chart_view import ChartView

if TYPE_CHECKING:
    from hadamard_tui.charts.series_builder import Plot

LEAST_WIDTH, LEAST_HEIGHT = 26, 8
"""Least cells of a chart, as far as the stage has them."""


class MultiplesView(Grid):
    """Keeps all charts that were ever needed, and displays those that are shown."""

    DEFAULT_CSS = """
    MultiplesView { grid-gutter: 0 1; height: 1fr; }
    """

    @property
    def room(self) -> int:
        """Number of charts that have room."""
        width, height = self.size
        return max(1, width // LEAST_WIDTH) * max(1, height // LEAST_HEIGHT)

    @property
    def charts(self) -> list[ChartView]:
        """Charts, in their order."""
        return list(self.query_children(ChartView))

    def show(self, plots: Sequence[Plot], draw: Callable[[ChartView, Plot], None], note: str) -> None:
        """Show these charts, each drawn by `draw`; the last has a note."""
        charts = self.charts
        if len(plots) > len(charts):
            new = [ChartView() for _ in plots[len(charts) :]]
            self.mount_all(new)
            charts = [*charts, *new]
        across = min(len(plots), max(1, self.size.width // LEAST_WIDTH))
        down = -(-len(plots) // across)
        across = -(-len(plots) // down)  # rows that are about equally full
        if self.styles.grid_size_columns != across:
            self.styles.grid_size_columns = across
        for number, chart in enumerate(charts):
            chart.display = number < len(plots)
        for chart, plot in zip(charts, plots, strict=False):
            last = chart is charts[len(plots) - 1]
            draw(chart, plot._replace(note=" · ".join(filter(None, (plot.note, note if last else "")))))
