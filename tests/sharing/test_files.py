"""Files of curves and charts have the computed numbers and the shown chart."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from engine.core.parts import BadInput
from engine.pictures.view import KindPlace
from engine.results import tables
from engine.results.headlines import headline
from engine.results.results import of_one
from engine.results.trace import Trace
from engine.results.views import view
from engine.runtime.run import run
from engine.spec import presets
from engine.spec.experiment import Experiment, of_run
from hadamard_tui.charts.plots.look import ChartOptions, Look, Pinned
from hadamard_tui.charts.plots.view_plot import plot
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.colours import palette
from hadamard_tui.sharing.exporting import (
    KINDS,
    LONGEST_NAME,
    Shown,
    check,
    content,
    download,
    export,
    finished,
    with_look,
)
from hadamard_tui.sharing.svg import ZERO, chart
from hadamard_tui.sharing.svg_page import path_of

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
def test_a_table_holds_every_computed_number_exactly(
    suffix: str, shown: Shown, trace: Trace, tmp_path: Path
) -> None:
    export(tmp_path / f"curves{suffix}", shown, "")
    content = (tmp_path / f"curves{suffix}").read_bytes()
    if suffix == ".csv":
        rows = list(csv.DictReader(io.StringIO(content.decode())))
    else:
        rows = parquet.read_table(io.BytesIO(content)).to_pylist()
    for curve in trace.curves:
        assert curve.stderr_of("loss") is not None
        for column, values in (
            ("x", curve.x),
            ("loss", curve.mean("loss")),
            ("stderr", curve.stderr_of("loss")),
        ):
            np.testing.assert_array_equal(columns(rows, "learner", curve.name, column), values)
    for bound in trace.lines:
        np.testing.assert_array_equal(
            columns(rows, bound.statement.direction, bound.kind, "loss"), bound.values
        )
    points = sum(curve.length for curve in trace.curves) + sum(len(bound.values) for bound in trace.lines)
    assert len(rows) == points


HOSTILE = [0.0, -0.0, 1.0, -2.5, 1 / 3, 1e-4, 9.999999999999999e-5, 5e-324, 1e16, 9999999999999998.0, 1.7e308]
HOSTILE += [np.nan, np.inf, -np.inf]


def test_numbers_in_a_csv_file_are_written_like_python_floats() -> None:
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    common = 10.0 ** rng.uniform(-6, 18, 20_000)
    values = np.concatenate([HOSTILE, bits, common, np.round(common, 3), 2.0 ** np.arange(-60, 60)])
    assert tables.as_text(values) == [repr(value) for value in values.tolist()]


def test_a_csv_file_equals_the_output_of_the_csv_module(
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
            numbers = curve.x, curve.mean("loss"), curve.stderr_of("loss"), error
            writer.writerow(
                ("learner", curve.name, *(None if column is None else float(column[i]) for column in numbers))
            )
    for bound in (line for line in quoted.lines if len(line.values)):
        for point in zip(bound.x.tolist(), bound.values.tolist(), strict=True):
            writer.writerow((bound.statement.direction, bound.kind, *point, None, None))
    results = of_one(experiment, quoted)
    losses, errors = (view(of_run(experiment, measure), results) for measure in ("loss", "error"))
    assert tables.as_csv(tables.of_run_views(losses, errors)) == naive.getvalue().encode()


def test_exported_json_has_schema_2(shown: Shown, tmp_path: Path) -> None:
    export(tmp_path / "result.json", shown, "")
    assert json.loads((tmp_path / "result.json").read_text())["schema"] == 2


def texts(svg: bytes) -> list[str]:
    """Texts of an SVG."""
    return [
        element.text or "" for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("}text")
    ]


def without(library: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Hide a library, and return the command that installs it."""
    monkeypatch.setitem(sys.modules, library, None)
    return f"{sys.executable} -m pip install {library}"


def test_an_svg_chart_is_reproducible_and_contains_all_names_and_the_caption(shown: Shown) -> None:
    text = content(Path("one.svg"), shown, "")
    assert text == content(Path("two.svg"), shown, "")
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()}
    assert {"path", "desc"} <= tags
    assert "image" not in tags
    for series in shown.series:
        assert not series.name or f"{series.name} {series.formula}".rstrip() in texts(text)
    losses = view(of_run(shown.experiment), of_one(shown.experiment, shown.trace))
    assert shown.caption == headline(losses, shown.experiment, shown.outcomes)
    assert shown.caption in " ".join(texts(text))


def test_svg_needs_no_library_and_other_formats_name_the_install_command(
    shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    svg_with_libraries = content(Path("chart.svg"), shown, "")
    suffixes = {"matplotlib": [".pdf"], "resvg_py": [".png", ".gif"]}
    for library in suffixes:
        command = without(library, monkeypatch)
        assert content(Path("chart.svg"), shown, "") == svg_with_libraries
        for suffix in suffixes[library]:
            with pytest.raises(BadInput, match=f"{library} is not installed") as refused:
                check(tmp_path / f"chart{suffix}", "--export")
            assert command in str(refused.value)
    assert [suffix for suffix, kind in KINDS.items() if kind.remedy] == [".pdf", ".png", ".gif"]


def test_an_installed_library_that_fails_to_load_is_reported_on_one_line(
    shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "resvg_py").mkdir()
    (tmp_path / "resvg_py" / "__init__.py").write_text("raise ImportError('resvg_py.so: no such file')")
    for name in [name for name in sys.modules if name.partition(".")[0] == "resvg_py"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match=r"resvg_py cannot be loaded: resvg_py\.so") as refused:
        export(tmp_path / "chart.png", shown, "--export")
    assert str(refused.value).startswith(f"--export {tmp_path / 'chart.png'}: ")
    assert f"{sys.executable} -m pip install resvg_py" in str(refused.value)
    assert not (tmp_path / "chart.png").exists()


def test_logarithmic_axes_are_labelled_with_numbers(experiment: Experiment, trace: Trace) -> None:
    losses = view(of_run(experiment), of_one(experiment, trace))
    series, axes, *_ = plot(Look(losses, options=ChartOptions(x_log=True, y_log=True)))
    shown = Shown(experiment, experiment, trace, series, axes)
    assert {"10", "0.1"} <= set(texts(content(Path("chart.svg"), shown, "")))


@pytest.mark.slow
def test_an_exported_file_has_a_chart_per_curve_like_the_screen(experiment: Experiment, trace: Trace) -> None:
    look = Look(view(of_run(experiment), of_one(experiment, trace)), options=ChartOptions(multiples=True))
    shown = with_look(Shown(experiment, experiment, trace), look)
    drawn = content(Path("chart.svg"), shown, "")
    titles = [f"{letter} {curve.name}" for letter, curve in zip("ABCDE", trace.curves, strict=True)]
    assert [text for text in texts(drawn) if text in titles] == titles
    assert " ".join(texts(drawn)).endswith(shown.caption)
    root = ElementTree.fromstring(drawn)
    names = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(names) == len({*names})
    assert {*re.findall(r"url\(#(.+?)\)", drawn.decode())} <= {*names}
    assert content(Path("chart.pdf"), shown, "").startswith(b"%PDF")


def test_an_exported_file_shows_the_difference_shown_on_the_screen(
    experiment: Experiment, trace: Trace
) -> None:
    losses = view(of_run(experiment), of_one(experiment, trace))
    look = Look(losses, pinned=[Pinned("run 1", losses)], options=ChartOptions(difference=True))
    shown = with_look(Shown(experiment, experiment, trace), look)
    marked = [series for series in shown.series if series.mark]
    assert marked
    assert all((series.y == 0).all() for series in marked), "a run differs by nothing from itself"


def test_undrawable_values_leave_a_gap_and_far_values_stay_finite() -> None:
    x = np.arange(6.0)
    y = np.array([1.0, 2.0, np.nan, 1e300, np.inf, 1.5])
    axes = Axes("", "", "", (0.0, 5.0), (0.0, 3.0))
    text = chart([Series("one", x, y, "#123456", band=(y - 1, y + 1), mark="A")], axes).written()
    root = ElementTree.fromstring(text)
    paths = [element.get("d", "") for element in root.iter() if element.tag.endswith("}path")]
    line, _ = [element for element in root.iter() if element.get("stroke") == "#123456"]
    assert (line.get("d", "").count("M"), line.get("d", "").count("l")) == (1, 1)
    dots = [element for element in root.iter() if element.tag.endswith("}circle")]
    assert len(dots) == 2, "points without neighbours are dots"
    numbers = [float(word) for word in re.findall(r"-?[\d.]+(?:e[+-]?\d+)?", " ".join(paths))]
    assert max(map(abs, numbers)) < 1e6
    assert "nan" not in text.decode()


def test_a_name_too_long_for_the_legend_ends_in_an_ellipsis() -> None:
    x, axes = np.array([0.0, 1.0]), Axes("", "", "", (0.0, 1.0), (0.0, 1.0))
    [name] = [
        text
        for text in texts(chart([Series("word " * 60, x, x, "#123456")], axes).written())
        if "word" in text
    ]
    assert name.endswith("…")


def test_a_path_passes_its_points_and_breaks_at_gaps() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1e5, 1e5, (2, 1000))
    y[[0, 7, 8, 500, 999]] = np.nan
    points: list[tuple[float, float]] = []
    for letter, across, down in re.findall(r"([Ml])([-\d.]+),([-\d.]+)", path_of(x, y)):
        begin = (0.0, 0.0) if letter == "M" else points[-1]
        points.append((begin[0] + float(across), begin[1] + float(down)))
    np.testing.assert_allclose(points, np.stack([x, y], 1)[~np.isnan(y)], rtol=0, atol=0.00501)
    assert path_of(x, y).count("M") == 3


def test_a_line_with_a_single_point_is_exported_as_a_dot() -> None:
    x, axes = np.array([0.5]), Axes("", "", "", (0.0, 1.0), (0.0, 1.0))
    elements = ElementTree.fromstring(
        chart([Series("least norm", x, x, "#123456", "long")], axes).written()
    ).iter()
    assert [element.get("fill") for element in elements if element.tag.endswith("}circle")] == ["#123456"]


def test_a_rounding_error_is_an_arrow_at_the_foot_of_a_log_axis() -> None:
    x, y = np.arange(1.0, 6.0), np.array([1.0, 0.5, 0.25, 1e-20, 3e-21])
    axes = Axes("", "", "", (1.0, 5.0), (0.1, 1.0), y_log=True, y_rounding=1e-15)
    curve = Series("GD", x, y, "#123456", mark="A", band=(y / 2, y + 0.1))
    elements = list(ElementTree.fromstring(chart([curve], axes).written()).iter())
    (band,) = (element.get("d", "") for element in elements if element.get("fill-opacity"))
    assert band.count("l") == 2 * 3 - 1
    arrows = [element for element in elements if element.get("d") == ZERO]
    line, *_ = (element.get("d", "") for element in elements if element.get("stroke-linejoin"))
    assert len(arrows) == 2
    assert line.count("l") == 2
    assert "2 points not drawn (0 up to rounding)" in texts(chart([curve], axes).written())


def test_the_legend_of_a_file_names_only_drawn_lines() -> None:
    x, axes = np.array([1.0, 2.0]), Axes("", "", "", (1.0, 2.0), (0.1, 1.0), y_log=True)
    bound = Series("ri-gaussian", x, 0 * x, "#123456", "dashed")
    high = Series("GD", x, 3 * x, "#123456", mark="A")
    words = texts(chart([bound, high], axes).written())
    assert "ri-gaussian" not in words
    assert "GD" in words
    assert "above the chart: A" in words


@pytest.mark.parametrize("look", [palette.DARK, palette.LIGHT, palette.CONTRAST])
def test_an_exported_figure_uses_paper_colours_under_every_theme(
    look: palette.Palette, experiment: Experiment, trace: Trace, tmp_path: Path
) -> None:
    before = palette.current()
    palette.use(look)
    try:
        export(tmp_path / "chart.svg", finished(experiment, trace), "")
    finally:
        palette.use(before)
    text = (tmp_path / "chart.svg").read_text()
    shades = [palette.LIGHT.of(KindPlace(kind)) for kind in ("gradient", "exact", "sparse")]
    for colour in (*shades, palette.LIGHT.theory):
        assert colour in text


@pytest.mark.parametrize(("suffix", "begins"), [(".pdf", b"%PDF"), (".png", b"\x89PNG")])
@pytest.mark.slow
def test_other_figures_have_the_format_of_their_suffix(
    suffix: str, begins: bytes, shown: Shown, tmp_path: Path
) -> None:
    export(tmp_path / f"chart{suffix}", shown, "")
    assert (tmp_path / f"chart{suffix}").read_bytes().startswith(begins)


@pytest.mark.parametrize("suffix", [suffix for suffix in KINDS if suffix != ".toml"])
def test_an_export_without_results_is_refused(suffix: str, experiment: Experiment, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="run the set-up first"):
        export(tmp_path / f"file{suffix}", Shown(experiment, experiment, None), "")
    assert not list(tmp_path.iterdir())


def test_a_parquet_file_has_the_caption_in_its_metadata(shown: Shown) -> None:
    metadata = parquet.read_schema(io.BytesIO(content(Path("curves.parquet"), shown, ""))).metadata
    losses = view(of_run(shown.experiment), of_one(shown.experiment, shown.trace))
    assert metadata[b"caption"].decode() == headline(losses, shown.experiment, shown.outcomes) != ""


@pytest.mark.parametrize("file_name", ["curves", "curves.xls", "missing/curves.csv"])
def test_an_export_with_an_unusable_file_name_is_refused(
    file_name: str, shown: Shown, tmp_path: Path
) -> None:
    with pytest.raises(BadInput):
        export(tmp_path / file_name, shown, "")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
def test_names_in_a_csv_file_are_escaped_against_formulas(
    start: str, experiment: Experiment, tmp_path: Path
) -> None:
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


@pytest.mark.parametrize(("fault", "message"), [(broken, r"no such\ntable"), (missing, "libarrow.so")])
def test_a_failed_parquet_export_is_one_line_and_leaves_no_file(
    fault: Callable[..., None], message: str, shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "write_table", fault)
    with pytest.raises(BadInput) as refused:
        export(tmp_path / "curves.parquet", shown, "--export")
    assert str(refused.value).startswith(f"--export {tmp_path / 'curves.parquet'}: ")
    assert message in str(refused.value)
    assert str(refused.value).isprintable()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "file_name",
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
def test_a_download_has_a_plain_name(shown: Shown, file_name: str):
    with pytest.raises(BadInput, match="of plain characters, without a folder"):
        download(file_name, shown)


def test_a_download_equals_the_exported_file(shown: Shown, tmp_path: Path):
    export(tmp_path / "curves.csv", shown, "")
    assert download("curves.csv", shown).read() == (tmp_path / "curves.csv").read_bytes()
    with pytest.raises(BadInput, match=r"use \.svg"):
        download("curves", shown)


def test_a_bound_and_its_coinciding_curve_alternate_and_a_region_is_shaded_lightly():
    x, top = np.linspace(0, 1, 9), np.linspace(1, 0, 9)
    axes = Axes("a chart", "x", "y", (0, 1), (0, 1))
    region = Series("", x, np.full(9, np.nan), "#112233", band=(np.full(9, -np.inf), top), is_region=True)
    bound = Series("ri-signed", x, top, "#112233", style="dashed", formula="1 − k/d")
    drawn = chart([region, bound, Series("GD", x, top, "#445566", mark="A")], axes).written()
    assert "ri-signed 1 − k/d" in texts(drawn)
    paths = [element for element in ElementTree.fromstring(drawn).iter() if element.tag.endswith("}path")]
    shaded = [path.get("d", "") for path in paths if path.get("fill-opacity") == "0.06"]
    assert len(shaded) == 1
    assert "inf" not in shaded[0]
    assert next(path.get("stroke-dasharray") for path in paths if path.get("stroke") == "#112233") == "14 14"


def test_exported_names_of_lines_stand_beside_them_and_cover_no_curve():
    x, axes = np.linspace(0, 1, 99), Axes("a chart", "x", "y", (0, 1), (0, 1))
    lines = [
        Series(
            "steep bound of a long name",
            x,
            np.maximum(1 - 2 * x, 0),
            "#112233",
            style="dashed",
            formula="1 − 2x",
        ),
        Series("flat bound", x, 1 - x / 2, "#112233", style="dashed"),
    ]
    curve = Series("GD", x, 0.9 - x / 2, "#445566", mark="A")
    elements = list(ElementTree.fromstring(chart([*lines, curve], axes).written()).iter())
    beside = {
        element.text: element
        for element in elements
        if element.tag.endswith("}text") and element.get("fill") == "#112233"
    }
    assert beside.keys() == {"1 − 2x", "flat bound"}
    assert all(element.get("paint-order") == "stroke" for element in beside.values())


@pytest.mark.parametrize("level", [0.0, 0.03, 0.0455, 0.06, 0.5, 0.94, 0.9545, 0.97, 1.0])
def test_exported_lines_do_not_cross_their_names(level: float):
    x, axes = np.linspace(0, 1, 9), Axes("a chart", "x", "y", (0, 1), (0, 1))
    line = Series("level", x, np.full(9, level), "#112233", style="dotted")
    elements = list(ElementTree.fromstring(chart([line], axes).written()).iter())
    name = next(element for element in elements if element.text == "level" and element.get("fill"))
    path = next(element for element in elements if element.get("stroke-dasharray") and element.get("d"))
    height = float(re.findall(r"[\d.]+", path.get("d", ""))[1])
    foot = float(name.get("y", 0))
    assert not foot - 10 < height < foot + 3


def test_exported_coinciding_lines_are_drawn_once_and_both_named():
    x, axes = np.linspace(0, 1, 9), Axes("a chart", "x", "y", (0, 1), (0, 1))
    short = Series("of two", x[:5], x[:5], "#112233", style="dashed")
    long_line = Series("of three", x, x, "#112233", style="dashed")
    drawn = chart([short, long_line], axes).written()
    assert {"of two", "of three"} <= set(texts(drawn))
    paths = [
        element.get("d", "")
        for element in ElementTree.fromstring(drawn).iter()
        if element.get("stroke") == "#112233"
    ]
    steps = [float(step) for path in paths[:2] for step in re.findall(r"l([\d.]+),-", path)]
    assert sum(steps) == pytest.approx(
        sum(float(step) for step in re.findall(r"l([\d.]+),-", _alone(long_line, axes))), abs=3
    )


def _alone(series: Series, axes: Axes) -> str:
    """SVG path of a line that is drawn alone."""
    elements = ElementTree.fromstring(chart([series], axes).written()).iter()
    return next(path.get("d", "") for path in elements if path.get("stroke") == series.colour)
