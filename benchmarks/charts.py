"""How long a redraw of a chart takes, in milliseconds, median of repeats, at 120 × 40 cells.

`python benchmarks/charts.py [--json]`. For each case of the design's table: the raster alone, and a
`ChartView` whose curves all moved, grew by a little, or did not change.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table
from textual.app import App, ComposeResult

from hadamard_tui.charts.frame import frame
from hadamard_tui.charts.raster import paint
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.widgets.chart_view import ChartView

WIDTH, HEIGHT = 120, 40
CASES = ((6, 128), (128, 128), (20, 100_000), (1, 1_000_000))
REPEATS = 31
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#cc79a7", "#d55e00")


def curves(lines: int, points: int, phase: float) -> list[Series]:
    """Decaying noisy curves on a common x; another phase moves all of them."""
    x = np.arange(1, points + 1)
    noise = np.random.default_rng(0).normal(scale=0.01, size=points)
    return [
        Series(
            f"curve {line}",
            x,
            np.exp(-x / points * (1 + line / 8)) + noise + 0.1 * phase,
            COLOURS[line % len(COLOURS)],
            mark=chr(ord("A") + line % 26),
        )
        for line in range(lines)
    ]


def median_ms(work: Callable[[int], object]) -> float:
    """Median time of one call; the first is thrown away."""
    times = []
    for repeat in range(REPEATS + 1):
        begin = perf_counter()
        work(repeat)
        times.append(perf_counter() - begin)
    return 1e3 * statistics.median(times[1:])


def grown(series: list[Series], points: int) -> list[Series]:
    return [replace(one, x=one.x[:points], y=one.y[:points]) for one in series]


class Bench(App[None]):
    def compose(self) -> ComposeResult:
        yield ChartView()


def measure(view: ChartView, lines: int, points: int) -> dict[str, float | int]:
    """One record, times in milliseconds."""
    axes = Axes("Loss of many learners", "examples k", "loss", (1, points), (0.0, 1.2))
    moved = [curves(lines, points, phase) for phase in (0.0, 1.0)]
    longer = [grown(moved[0], points // 2 + repeat * max(1, points // 128)) for repeat in (0, 1)]
    area = frame(axes, WIDTH, HEIGHT)
    view.show(moved[0], axes)
    return {
        "lines": lines,
        "points": points,
        "raster": median_ms(lambda n: paint(moved[n % 2], axes, area.columns, area.rows)),
        "redraw": median_ms(lambda n: view.show(moved[n % 2], axes)),
        "grow": median_ms(lambda n: view.show(longer[n % 2], axes)),
        "static": median_ms(lambda n: view.show(moved[0], axes)),
    }


async def measure_all() -> list[dict[str, float | int]]:
    app = Bench()
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        view = app.query_one(ChartView)
        view.show(curves(1, 2, 0.0), Axes("", "", "", (0, 2), (0, 1)))
        await pilot.pause()
        return [measure(view, lines, points) for lines, points in CASES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the records as JSON")
    as_json = parser.parse_args().json
    results = asyncio.run(measure_all())
    if as_json:
        print(json.dumps({"unit": "ms", "size": [WIDTH, HEIGHT], "cases": results}))
        return
    table = Table("lines", "points", "raster", "redraw", "grow", "static", title=f"ms at {WIDTH} × {HEIGHT}")
    for result in results:
        table.add_row(
            *(f"{value:.2f}" if isinstance(value, float) else f"{value:,}" for value in result.values())
        )
    Console().print(table)


if __name__ == "__main__":
    main()
