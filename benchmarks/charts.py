"""How long a redraw of a chart takes, in milliseconds, median of repeats.

`python benchmarks/charts.py [--json]`. For each case of the design's table, at 120 × 40 cells: the raster
alone, and a `ChartView` whose curves all moved, grew by a little, or did not change. For heat maps, at
200 × 60 cells: the plot area alone, and a `HeatMapView` whose values all changed, whose cursor moved, or that
did not change.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from collections.abc import Callable
from time import perf_counter

import numpy as np
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table
from textual.app import App, ComposeResult

from hadamard_tui.charts.drawing import heat_sheet
from hadamard_tui.charts.drawing.frame import frame
from hadamard_tui.charts.drawing.raster import paint_series
from hadamard_tui.charts.heat_map import HeatMap, value_scale
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.colours.palette import colour_map
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.heat_map_view import HeatMapView

WIDTH, HEIGHT = 120, 40
CASES = ((6, 128), (128, 128), (20, 100_000), (1, 1_000_000))
HEAT_WIDTH, HEAT_HEIGHT = 200, 60
HEAT_CASES = ((50, 25), (200, 120))
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
    """Median time of a call, without the first."""
    times = []
    for repeat in range(REPEATS + 1):
        begin = perf_counter()
        work(repeat)
        times.append(perf_counter() - begin)
    return 1e3 * statistics.median(times[1:])


def grown(series: list[Series], points: int) -> list[Series]:
    return [
        replace(full_series, x=full_series.x[:points], y=full_series.y[:points]) for full_series in series
    ]


def waves(columns: int, rows: int, phase: float) -> HeatMap:
    """A smooth function on a grid; another phase changes all of it."""
    x, y = np.arange(1.0, columns + 1), np.arange(1.0, rows + 1)
    z = np.sin(6 * x / columns + phase) + np.cos(5 * y / rows + phase)[:, None]
    return HeatMap(x, y, z, x_label="x", y_label="y", z_label="z", title="A smooth function")


class Bench(App[None]):
    def compose(self) -> ComposeResult:
        yield ChartView()


class HeatBench(App[None]):
    def compose(self) -> ComposeResult:
        yield HeatMapView()


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
        "raster": median_ms(lambda n: paint_series(moved[n % 2], axes, area.columns, area.rows)),
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


def measure_heat(view: HeatMapView, columns: int, rows: int) -> dict[str, float | int]:
    """One record, times in milliseconds."""
    maps = [waves(columns, rows, phase) for phase in (0.0, 1.0)]
    scale, colours = value_scale(maps[0].z, False), colour_map(dark_is_more=False)
    view.show(maps[0])
    return {
        "x": columns,
        "y": rows,
        "plot area": median_ms(
            lambda n: heat_sheet.paint_cells(maps[n % 2], scale, HEAT_WIDTH - 12, HEAT_HEIGHT - 6, colours)
        ),
        "redraw": median_ms(lambda n: view.show(maps[n % 2])),
        "cursor": median_ms(lambda n: view.action_move(1 - 2 * (n % 2), 0)),
        "static": median_ms(lambda n: view.show(maps[0])),
    }


async def measure_heats() -> list[dict[str, float | int]]:
    app = HeatBench()
    async with app.run_test(size=(HEAT_WIDTH, HEAT_HEIGHT)) as pilot:
        view = app.query_one(HeatMapView)
        view.show(waves(2, 2, 0.0))
        await pilot.pause()
        return [measure_heat(view, *case) for case in HEAT_CASES]


def table(title: str, results: list[dict[str, float | int]]) -> Table:
    drawn = Table(*results[0], title=title)
    for result in results:
        drawn.add_row(
            *(f"{value:.2f}" if isinstance(value, float) else f"{value:,}" for value in result.values())
        )
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the records as JSON")
    as_json = parser.parse_args().json
    results, heats = asyncio.run(measure_all()), asyncio.run(measure_heats())
    if as_json:
        record = {"unit": "ms", "size": [WIDTH, HEIGHT], "cases": results}
        print(json.dumps(record | {"heat maps": {"size": [HEAT_WIDTH, HEAT_HEIGHT], "cases": heats}}))
        return
    console = Console()
    console.print(table(f"ms at {WIDTH} × {HEIGHT}", results))
    console.print(table(f"heat maps, ms at {HEAT_WIDTH} × {HEAT_HEIGHT}", heats))


if __name__ == "__main__":
    main()
