"""Curves and charts in files: what is in them is what was computed and what is shown."""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from engine.core.parts import BadInput
from engine.results.results import of_one
from engine.results.trace import Trace
from engine.results.views import view
from engine.runtime.run import run
from engine.spec import presets
from engine.spec.experiment import Experiment
from engine.spec.pictures import of_run
from hadamard_tui.charts.chart_options import ChartOptions
from hadamard_tui.charts.look import Look
from hadamard_tui.charts.view_plot import plot
from hadamard_tui.looks import palette
from hadamard_tui.sharing import tables
from hadamard_tui.sharing.exporting import KINDS, LONGEST_NAME, Shown, download, export, finished

CHANGES = [
    "problem.matrix.d=16",
    "learners.GD.update.lr=0.03125",
    "run.replicas=3",
    "run.device=cpu",
    "claims=[]",
]


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return presets.load("hadamard-128", CHANGES)


@pytest.fixture(scope="module")
def trace(experiment: Experiment) -> Trace:
    return run(experiment)


@pytest.fixture
def shown(experiment: Experiment, trace: Trace) -> Shown:
    return finished(experiment, trace)


def columns(rows: list[dict[str, object]], series: str, name: str, column: str) -> list[float]:
    return [float(row[column]) for row in rows if row["series"] == series and row["name"] == name]  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_holds_every_number_as_it_was_computed(
    suffix: str, shown: Shown, trace: Trace, tmp_path: Path
) -> None:
    export(tmp_path / f"curves{suffix}", shown, "")
    content = (tmp_path / f"curves{suffix}").read_bytes()
    if suffix == ".csv":
        rows = list(csv.DictReader(io.StringIO(content.decode())))
    else:
        rows = parquet.read_table(io.BytesIO(content)).to_pylist()
    for curve in trace.curves:
        assert curve.stderr is not None
        for column, values in (("x", curve.x), ("loss", curve.loss), ("stderr", curve.stderr)):
            np.testing.assert_array_equal(columns(rows, "learner", curve.name, column), values)
    for bound in trace.lines:
        np.testing.assert_array_equal(columns(rows, bound.direction, bound.kind, "loss"), bound.values)
    points = sum(curve.length for curve in trace.curves) + sum(len(bound.x) for bound in trace.lines)
    assert len(rows) == points


HOSTILE = [0.0, -0.0, 1.0, -2.5, 1 / 3, 1e-4, 9.999999999999999e-5, 5e-324, 1e16, 9999999999999998.0, 1.7e308]
HOSTILE += [np.nan, np.inf, -np.inf]


def test_every_number_of_a_csv_is_as_python_prints_it() -> None:
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    common = 10.0 ** rng.uniform(-6, 18, 20_000)
    values = np.concatenate([HOSTILE, bits, common, np.round(common, 3), 2.0 ** np.arange(-60, 60)])
    assert tables.as_text(values) == [repr(value) for value in values.tolist()]


def test_a_csv_is_what_the_library_would_write_point_by_point(
    experiment: Experiment, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "BLOCK", 7)
    naive = io.StringIO()
    writer = csv.writer(naive, lineterminator="\n")
    writer.writerow(("series", "name", "x", "loss", "stderr", "error"))
    quoted = replace(trace, curves=[copy.copy(curve) for curve in trace.curves])
    quoted.curves[0].name = 'one, "two"'
    for curve in quoted.curves:
        error = curve.mean("error")
        for i in range(curve.length):
            numbers = curve.x, curve.loss, curve.stderr, error
            writer.writerow(
                ("learner", curve.name, *(None if one is None else float(one[i]) for one in numbers))
            )
    for bound in quoted.lines:
        for point in zip(bound.x.tolist(), bound.values.tolist(), strict=True):
            writer.writerow((bound.direction, bound.kind, *point, None, None))
    results = of_one(experiment, quoted)
    losses, errors = (view(of_run(experiment, measure), results) for measure in ("loss", "error"))
    assert tables.as_csv(tables.of_run(losses, errors)) == naive.getvalue().encode()


def test_json_is_the_report(shown: Shown, tmp_path: Path) -> None:
    export(tmp_path / "result.json", shown, "")
    assert json.loads((tmp_path / "result.json").read_text())["schema"] == 1


def test_the_figure_is_vector_graphics_with_all_names_and_the_same_each_time(
    shown: Shown, tmp_path: Path
) -> None:
    for name in ("one.svg", "two.svg"):
        export(tmp_path / name, shown, "")
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()}
    assert "path" in tags
    assert "image" not in tags
    for one in shown.series:
        assert one.name in text, "matplotlib writes every text as a comment beside its outlines"


def test_logarithmic_axes_are_labelled_with_numbers(
    experiment: Experiment, trace: Trace, tmp_path: Path
) -> None:
    found = view(of_run(experiment), of_one(experiment, trace))
    series, axes, *_ = plot(Look(found, options=ChartOptions(x_log=True, y_log=True)))
    export(tmp_path / "chart.svg", Shown(experiment, experiment, trace, series, axes), "")
    text = (tmp_path / "chart.svg").read_text()
    assert "<!-- 10 -->" in text
    assert "<!-- 0.1 -->" in text
    assert "math" not in text


@pytest.mark.parametrize("look", [palette.DARK, palette.LIGHT, palette.CONTRAST])
def test_the_figure_has_the_colours_of_paper_whatever_the_screen_has(
    look: palette.Palette, experiment: Experiment, trace: Trace, tmp_path: Path
) -> None:
    before = palette.current()
    palette.use(look)
    try:
        export(tmp_path / "chart.svg", finished(experiment, trace), "")
    finally:
        palette.use(before)
    text = (tmp_path / "chart.svg").read_text()
    for colour in (*palette.LIGHT.learners[: len(trace.curves)], palette.LIGHT.theory):
        assert colour in text


@pytest.mark.parametrize(("suffix", "begins"), [(".pdf", b"%PDF"), (".png", b"\x89PNG")])
def test_the_other_figures_are_what_their_names_say(
    suffix: str, begins: bytes, shown: Shown, tmp_path: Path
) -> None:
    export(tmp_path / f"chart{suffix}", shown, "")
    assert (tmp_path / f"chart{suffix}").read_bytes().startswith(begins)


@pytest.mark.parametrize("suffix", [suffix for suffix in KINDS if suffix != ".toml"])
def test_nothing_computed_is_nothing_to_write(suffix: str, experiment: Experiment, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="run the set-up first"):
        export(tmp_path / f"file{suffix}", Shown(experiment, experiment, None), "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["curves", "curves.xls", "missing/curves.csv"])
def test_a_name_that_says_nothing_useful_is_refused(name: str, shown: Shown, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        export(tmp_path / name, shown, "")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
def test_no_name_in_a_csv_is_a_formula(start: str, experiment: Experiment, tmp_path: Path) -> None:
    name = f"{start}cmd|' /C calc'!A0"
    named = presets.load("hadamard-128", [*CHANGES, f'learners.GD.name="{name}"'])
    export(tmp_path / "curves.csv", finished(named, run(named)), "")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "curves.csv").read_text())))
    assert {row["name"] for row in rows} >= {f"'{name}", "EGU"}
    assert all(float(row["loss"]) == float(row["loss"]) for row in rows)


def broken(*_: object, **__: object) -> None:
    raise pyarrow.ArrowInvalid("no such\ntable")


def missing(*_: object, **__: object) -> None:
    raise ImportError("libarrow.so: cannot open shared object file")


@pytest.mark.parametrize(("fault", "said"), [(broken, r"no such\ntable"), (missing, "libarrow.so")])
def test_a_parquet_file_that_cannot_be_made_is_one_line_and_no_file(
    fault: Callable[..., None], said: str, shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "write_table", fault)
    with pytest.raises(BadInput) as refused:
        export(tmp_path / "curves.parquet", shown, "--export")
    assert str(refused.value).startswith(f"--export {tmp_path / 'curves.parquet'}: ")
    assert said in str(refused.value)
    assert str(refused.value).isprintable()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    [
        "../a.csv",
        "/tmp/a.csv",
        "~/a.csv",
        "a\\b.csv",
        "c:a.csv",
        "a\n.csv",
        "a\x1b.csv",
        "µ" * LONGEST_NAME + ".csv",
    ],
)
def test_a_download_has_a_plain_name(shown: Shown, name: str):
    with pytest.raises(BadInput, match="plain name"):
        download(name, shown)


def test_a_download_is_what_the_file_would_be(shown: Shown, tmp_path: Path):
    export(tmp_path / "curves.csv", shown, "")
    assert download("curves.csv", shown).read() == (tmp_path / "curves.csv").read_bytes()
    with pytest.raises(BadInput, match=r"take \.csv"):
        download("curves", shown)
