"""Files of an experiment with pictures hold the content of its pictures, for all points of its axes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from engine.results.outcomes import judge
from engine.results.report import encode
from engine.results.results import Results
from engine.results.views import view
from engine.runtime.sweep_run import run_sweep
from engine.spec import documents
from engine.spec.reading import Raw
from hadamard_tui.sharing.exporting import Shown, content, first_picture, with_picture

DOCUMENT: Raw = {
    "axes": [{"name": "size", "values": [4, 8]}],
    "problem": {"matrix": {"kind": "hadamard", "d": "size"}, "target": "feature"},
    "protocol": "one-pass",
    "learners": [{"name": "GD", "architecture": "linear", "update": {"kind": "gd", "lr": "1/(2d)"}}],
    "run": {"device": "cpu", "replicas": 2},
    "pictures": [
        {"name": "end", "x": "size", "measure": "loss", "at": {"k": 2}},
        {"title": "Map", "x": "k", "y": "size", "measure": "loss"},
    ],
    "claims": [{"kind": "value", "text": "half", "at": 4, "equals": 0.5, "within": 1e-6, "curve": "GD"}],
}


@pytest.fixture(scope="module")
def results() -> Results:
    return run_sweep(documents.sweep_of(DOCUMENT))


@pytest.fixture
def shown(results: Results) -> Shown:
    return first_picture(DOCUMENT, results)


def rows(text: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.decode())))


def test_another_picture_replaces_a_heat_map(shown: Shown):
    of_map = with_picture(shown, 1)
    assert of_map.pictures is not None
    assert of_map.pictures.heat is not None
    chart = with_picture(of_map, 0)
    assert chart.pictures is not None
    assert chart.pictures.heat is None


def test_a_table_contains_every_curve_line_and_cell_of_all_pictures(shown: Shown, results: Results):
    table = rows(content(Path("a.csv"), shown, ""))
    end = [row for row in table if row["picture"] == "end" and row["series"] == "learner"]
    assert [(row["name"], float(row["x"]), row["y"]) for row in end] == [("GD", 4.0, ""), ("GD", 8.0, "")]
    curve = view(results.sweep.experiment.pictures[0], results).curve("GD")
    assert [float(row["value"]) for row in end] == curve.y.tolist()
    (heat,) = view(results.sweep.experiment.pictures[1], results).heats
    cells = [row for row in table if row["picture"] == "Map" and row["name"] == "GD"]
    for row in cells:
        place = np.flatnonzero(heat.y == float(row["y"]))[0], np.flatnonzero(heat.x == float(row["x"]))[0]
        np.testing.assert_equal(float(row["value"]), heat.z[place])
    assert len(cells) == heat.z.size
    assert {row["series"] for row in table} == {"learner", "lower"}


def test_parquet_and_csv_contain_the_same_values(shown: Shown):
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(content(Path("a.parquet"), shown, "")))
    csv_rows = rows(content(Path("a.csv"), shown, ""))
    assert table.column_names == list(csv_rows[0])
    assert table.num_rows == len(csv_rows)
    assert table.schema.metadata[b"end: x"] == b"size"
    assert b"At size = 8, average square loss is" in table.schema.metadata[b"end: caption"]


def test_exported_json_contains_all_pictures_and_claims(shown: Shown):
    assert shown.pictures is not None
    drawn_results = shown.pictures.results
    assert content(Path("a.json"), shown, "") == encode(DOCUMENT, drawn_results, judge(drawn_results))
    assert json.loads(content(Path("a.json"), shown, ""))["schema"] == 2


def test_the_exported_figure_shows_the_chosen_picture(shown: Shown):
    assert b">size<" in content(Path("a.svg"), shown, "")
    heat = with_picture(shown, 1, "GD")
    assert b">Map<" in content(Path("a.svg"), heat, "")


def test_results_being_exported_do_not_grow(results: Results):
    snapshot = results.snapshot()
    assert snapshot.traces.keys() == results.traces.keys()
    assert all(snapshot.traces[number] is not results.traces[number] for number in snapshot.traces)
