"""Files show the remarks on the data that the app shows at the end of a chart's legend."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from engine.results.outcomes import judge
from engine.results.results import Results
from engine.results.views import view
from engine.runtime.sweep_run import run_sweep
from engine.spec import documents
from engine.spec.reading import Raw
from hadamard_tui.charts.plots.look import ChartOptions, Look
from hadamard_tui.charts.plots.view_plot import plot
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.headless.pictures import pictures
from hadamard_tui.sharing import animation
from hadamard_tui.sharing.exporting import Shown, content, first_picture, with_look, with_picture
from hadamard_tui.sharing.svg import chart
from hadamard_tui.sharing.svg_page import EDGE, MUTED, SMALL, WIDTH, WORDS, SvgPage, length

DIVERGED, NOT_RUN = "A: diverged at 1e30", "B: not run beyond 0.1"
BOTH = f"{DIVERGED} · {NOT_RUN}"
"""Remarks on the curves of the first two pictures, one above the other."""

DOCUMENT: Raw = {
    "title": "Rates",
    "axes": [{"name": "rate", "values": [0.05, 0.1, 1e30], "log": True}],
    "problem": {"matrix": {"kind": "hadamard", "d": 4}, "target": "feature"},
    "protocol": {"kind": "steps", "steps": 8},
    "learners": [
        {"name": "GD", "architecture": "linear", "update": {"kind": "gd", "lr": "rate"}},
        {
            "name": "half",
            "architecture": "linear",
            "update": {"kind": "gd", "lr": "rate/2"},
            "where": "rate < 1",
        },
    ],
    "run": {"device": "cpu"},
    "pictures": [
        {"name": "end", "x": "rate", "measure": "loss", "lines": [], "beneath": "norm"},
        {"name": "norm", "x": "rate", "measure": "norm"},
        {"name": "steps", "x": "step", "measure": "loss", "at": {"rate": 0.1}},
    ],
}

X = np.array([0.0, 1.0])
CURVE = Series("GD", X, X, "#123456", mark="A")
AXES = Axes("", "", "", (0.0, 1.0), (0.0, 1.0))


@pytest.fixture(scope="module")
def finished() -> Results:
    return run_sweep(documents.sweep_of(DOCUMENT))


@pytest.fixture
def shown(finished: Results) -> Shown:
    return first_picture(DOCUMENT, finished, judge(finished))


def texts(svg: bytes) -> list[str]:
    return [element.text for element in ElementTree.fromstring(svg).iter() if element.text]


def remark_rows(page: SvgPage) -> list[ElementTree.Element]:
    return [
        element
        for element in page.root
        if element.tag == "text" and (element.get("fill"), element.get("font-size")) == (MUTED, f"{SMALL:g}")
    ]


def test_an_svg_file_has_the_remarks_on_both_charts(shown: Shown) -> None:
    assert texts(content(Path("a.svg"), shown, "")).count(BOTH) == 2


def test_a_shared_page_has_the_remarks_once_for_each_chart(shown: Shown) -> None:
    page = content(Path("a.html"), shown, "").decode()
    assert page.count(f'<tr><td colspan="4" class="muted">{BOTH}</td></tr>') == 2
    assert page.count("diverged at") == 2


def test_each_frame_of_a_recording_has_the_remarks(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(animation, "FRAMES", 3)
    _, *events = map(json.loads, content(Path("a.cast"), shown, "").splitlines())
    assert [text.count(BOTH) for _, _, text in events] == [2, 2, 2, 0], "the last event shows the cursor"


@pytest.mark.parametrize("suffix", ["png", pytest.param("gif", marks=pytest.mark.slow)])
def test_pixels_at_the_right_end_of_the_legend_show_the_remarks(
    suffix: str, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(animation, "FRAMES", 2)
    alone = replace(shown, beneath=None)

    def pixels(of: Shown) -> np.ndarray:
        with Image.open(io.BytesIO(content(Path(f"a.{suffix}"), of, ""))) as picture:
            return np.asarray(picture.convert("L"), float)

    is_changed = np.abs(pixels(alone) - pixels(replace(alone, note=""))) > 60
    rows, columns = np.nonzero(is_changed)
    assert is_changed.sum() > 100
    assert columns.min() > 0.4 * is_changed.shape[1]
    assert rows.max() - rows.min() < 0.05 * is_changed.shape[0], "one row, and the rest stays in its place"


def test_run_prints_the_remarks_below_the_chart(finished: Results) -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    for part in pictures(finished, [], console):
        console.print(part)
    assert console.export_text().count(BOTH) == 2


def test_a_chart_for_each_learner_has_the_remark_on_this_learner(finished: Results, shown: Shown) -> None:
    first = view(finished.sweep.experiment.pictures[0], finished)
    look = Look(first, options=ChartOptions(multiples=True))
    words = texts(content(Path("a.svg"), with_look(shown, look), ""))
    assert [word for word in words if "diverged" in word or "not run" in word] == [
        "A: diverged at rate = 1e30",
        "B: not run beyond rate = 0.1",
    ]


def test_a_smoothed_chart_says_so(finished: Results, shown: Shown) -> None:
    steps = view(finished.sweep.experiment.pictures[2], finished)
    smoothed = with_look(shown, Look(steps, options=ChartOptions(smooth=True)))
    assert "averaged over ± 1 point" in texts(content(Path("a.svg"), smoothed, ""))
    assert "averaged" not in content(Path("a.svg"), with_picture(shown, 2), "").decode()


def test_files_do_not_show_remarks_on_the_state_of_the_app(finished: Results, shown: Shown) -> None:
    look = Look(view(finished.sweep.experiment.pictures[0], finished), cursor=0.05)
    assert plot(look).screen_note == "┊ learner table: values at rate = 0.05"
    for suffix in ("svg", "html", "cast"):
        assert "learner table" not in content(Path(f"a.{suffix}"), with_look(shown, look), "").decode()


def test_a_chart_without_remarks_has_no_row_for_them(shown: Shown) -> None:
    plain, short = chart([CURVE], AXES), chart([CURVE], AXES, "A: diverged at n = 256")
    assert not remark_rows(plain)
    assert plain.height == short.height, "a short remark shares the last row of the legend"
    assert chart([], AXES).height < chart([], AXES, "x").height
    page = content(Path("a.html"), with_picture(shown, 2), "").decode()
    assert '<td colspan="4" class="muted"></td>' not in page


@pytest.mark.parametrize("entries", range(1, 7))
@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_remarks_are_whole_and_never_overlap_the_legend(entries: int, count: int) -> None:
    words = [f"{letter}: not run beyond d = 131072" for letter in "ABCDEFGHI"[:count]]
    curves = [Series("a learner's name", X, X / (at + 1), "#123456", "dashed") for at in range(entries)]
    page = chart(curves, AXES, " · ".join(words), caption="A headline.")
    rows = remark_rows(page)
    assert " · ".join(row.text or "" for row in rows) == " · ".join(words)
    assert {row.get("x") for row in rows} == {f"{WIDTH - EDGE:.2f}"}
    feet = [float(row.get("y", "")) for row in rows]
    names = [element for element in page.root if element.text == "a learner's name"]
    assert len(names) == entries
    for row, foot in zip(rows, feet, strict=True):
        begin = WIDTH - EDGE - length(row.text or "", SMALL)
        assert begin >= EDGE
        for name in names:
            end = float(name.get("x", "")) + length(name.text or "", WORDS)
            assert end < begin or float(name.get("y", "")) <= foot - SMALL
    assert all(np.diff(feet) >= SMALL)
    caption = next(element for element in page.root.iter("text") if element.text == "A headline.")
    assert float(caption.get("y", "")) >= feet[-1] + SMALL


def test_a_remark_longer_than_a_row_is_divided_between_words() -> None:
    remark = f"{', '.join('ABCDEFGHIJKLMNOPQRSTUVWXYZ' * 2)}: not run beyond d = 128"
    rows = remark_rows(chart([CURVE], AXES, remark))
    assert len(rows) > 1
    assert " ".join(row.text or "" for row in rows) == remark
