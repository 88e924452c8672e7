"""`run` of an experiment with axes: pictures as text and JSON, and stored points."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from platformdirs import user_cache_path
from rich.console import Console
from view_fields import curve_view, view_of

from engine.core import catalogue
from engine.pictures.picture import Picture
from engine.results.headlines import ending
from engine.runtime import stored_run
from engine.runtime.sweep_run import run_sweep
from engine.spec import documents, reading
from hadamard_tui import NAME
from hadamard_tui.headless import pictures
from hadamard_tui.state import run_store

SIZES = """
title = "Examples needed"
axes = [{ name = "size", from = 4, to = 16, log = true }]
protocol = "one-pass"

[problem]
matrix = { kind = "hadamard", d = "size" }
target = "feature"

[run]
device = "cpu"
replicas = 2

[[learners]]
name = "GD"
architecture = "linear"
update = { kind = "gd", lr = "1/(2d)" }

[[learners]]
name = "LLS"
solver = "lls"
where = "size <= 8"

[[pictures]]
title = "Until one half"
x = "size"
measure = "loss"
read = { first_below = 0.51 }
"""
HEAT = """
[[pictures]]
title = "The loss over both"
x = "size"
y = "rate"
measure = "loss"
"""


ALONG_THE_LOSS = """
protocol = "one-pass"
problem = { matrix = { kind = "hadamard", d = 8 }, target = "feature" }
run = { device = "cpu" }
learners = [
  { name = "GD", architecture = "linear", update = { kind = "gd", lr = "1/(2d)" } },
  { name = "half", architecture = "linear", update = { kind = "gd", lr = "1/(4d)" } },
]
pictures = [{ x = "loss", measure = "norm" }]
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "sizes.toml"
    path.write_text(SIZES)
    return path


def test_a_run_with_axes_prints_the_chart_and_a_row_per_place(call, file):
    code, out, _ = call("run", str(file))
    assert code == 0
    assert "Until one half" in out
    rows = [line.split() for line in out.splitlines() if re.match(r" *(4|8|16) .*±", line)]
    assert [row[0] for row in rows] == ["4", "8", "16"]
    for row, (size, is_reached) in zip(rows, ((4, True), (8, True), (16, False)), strict=True):
        assert row[1:4] == [str(size // 2), "±", "0"]
        assert row[4] == (str(size // 2) if is_reached else "—")


def test_rows_along_a_measure_show_first_passages_of_round_values(call, tmp_path):
    """Loss 1 − k/8 and norm √(k/8) of gradient descent; 1 − 3k/32 and √(k/8)/2 with half of its rate."""
    path = tmp_path / "norm.toml"
    path.write_text(ALONG_THE_LOSS)
    code, out, _ = call("run", str(path))
    assert code == 0
    rows = {row[0]: row[1:] for line in out.splitlines() if len(row := line.split()) == 3}
    for loss, first, second in (("0.3", 6, 8), ("0.5", 4, 6), ("0.8", 2, 3)):
        assert rows[loss] == [f"{(first / 8) ** 0.5:.4g}", f"{(second / 8) ** 0.5 / 2:.4g}"]
    assert rows["0.2"][1] == "—"


def test_json_of_a_sweep_contains_document_points_and_pictures(call, file):
    code, out, _ = call("run", str(file), "--json")
    assert code == 0
    document = json.loads(out)
    assert document["schema"] == 2
    assert document["experiment"]["given"]["problem"]["matrix"]["d"] == "size"
    assert document["experiment"]["resolved"]["problem"]["matrix"]["d"] == 4
    assert document["axes"] == [{"name": "size", "values": [4, 8, 16], "log": True}]
    assert [point["names"] for point in document["points"]] == [{"size": 4}, {"size": 8}, {"size": 16}]
    assert all(point["finished"] for point in document["points"])
    (picture,) = document["pictures"]
    gd, lls = picture["curves"]
    assert (gd["learner"], gd["x"], gd["y"]) == ("GD", [4, 8, 16], [2, 4, 8])
    assert gd["stderr"] == [0, 0, 0]
    assert lls["x"] == [4, 8]
    lines = {line["kind"]: line for line in picture["theory"]}
    assert lines["ri-signed"]["direction"] == "lower"
    assert lines["ri-signed"]["y"] == [2, 4, 8]
    assert lines["ri-signed"]["applies_to"] == ["GD", "LLS"]
    assert lines["ri-signed"].keys() >= {"formula", "source", "measure", "reasons"}
    assert (gd["path"], gd["verdict"]["invariant"], gd["diverged"]) == ("numpy", True, 0)
    runs = {run["name"]: run for run in document["points"][0]["runs"]}
    assert runs["GD"].keys() == {"name", "learner", "rate", "best", "grid", "diverged_at", "verdict"} | {
        *("replicas_diverged_at", "lost_accuracy", "path", "spectrum", "net_by_net")
    }
    assert list(runs) == ["GD", "LLS"]
    assert [run["name"] for run in document["points"][2]["runs"]] == ["GD"]


def test_two_axes_make_a_heat_map(call, file):
    text = SIZES.replace("axes = [", 'axes = [{ name = "rate", values = [0.01, 0.02] }, ')
    file.write_text(text.replace('lr = "1/(2d)"', 'lr = "rate"').split("[[pictures]]")[0] + HEAT)
    code, out, _ = call("run", str(file))
    assert code == 0
    assert "The loss over both" in out
    (picture,) = json.loads(call("run", str(file), "--json").out)["pictures"]
    (gd, lls) = picture["heat_maps"]
    assert gd["x"] == [4, 8, 16]
    assert gd["y"] == [0.01, 0.02]
    assert np.shape(gd["z"]) == (2, 3)
    assert lls["x"] == [4, 8]


def test_points_are_stored_and_fresh_recomputes_them(call, file, monkeypatch):
    restored = []

    def spied(sweep, gate, note, writer, *more):
        computed = run_sweep(sweep, gate, note, writer, *more)
        restored.append([curve.is_restored for trace in computed.traces.values() for curve in trace.curves])
        return computed

    monkeypatch.setattr("engine.runtime.job.run_sweep", spied)
    first, again, fresh = (call("run", str(file), "--json", *more).out for more in ((), (), ("--fresh",)))
    assert first == again == fresh
    assert list(map(any, restored)) == [False, True, False]
    assert all(restored[1])
    runs = run_store.needed_store().runs()
    assert [run.state for run in runs] == ["finished"] * 2, "a run with nothing new is not kept twice"
    assert {len(stored_run.read(Path(run.path))[1]) for run in runs} == {5}


def test_a_failure_to_store_points_is_one_line_beside_the_result(call, file, monkeypatch):
    (file.parent / "data").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(file.parent / "data"))
    code, out, err = call("run", str(file), "--json")
    assert code == 0
    assert json.loads(out)["pictures"]
    assert err.strip().count("\n") == 0
    assert err.startswith("the run cannot be stored: ")
    assert "Not a directory" in err


def test_the_configuration_can_switch_off_the_storage_of_points(call, file, monkeypatch):
    folder = file.parent / "config" / "hadamard-tui"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("kept_points_mb = 0\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(file.parent / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(file.parent / "data"))
    assert call("run", str(file), "--json").code == 0
    assert not (file.parent / "data").exists()


def test_points_of_an_earlier_version_are_removed_with_a_message(call, small):
    former = user_cache_path(NAME) / "points"
    (former / "00").mkdir(parents=True)
    (former / "00" / "0.npz").write_bytes(b"0" * (1 << 20))
    assert "Sweep points of an earlier version (1 MB) were removed" in call("run", str(small)).err
    assert not former.exists()
    assert call("run", str(small)).err == ""


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ('axes=[{name="size",values=[4,5]}]', "size = 5"),
        ('axes=[{name="k",values=[4]}]', "already has a meaning"),
        ('axes=[{name="size",from=1}]', "to: missing"),
        ('pictures=[{measure="loss",x="other"}]', "'other'"),
        ('pictures=[{measure="loss",x="k"}]', "a curve mixes several values of size"),
        ('pictures=[{measure="loss",x="size",read={over="size",first_below=1,take="max"}}]', "exactly one"),
        ('learners.LLS.where="size <"', "learners[1].where"),
    ],
)
def test_an_invalid_sweep_is_reported_on_one_line(call, file, change, word):
    code, out, errors = call("run", str(file), "--set", change)
    assert (code, out) == (2, "")
    assert errors.count("\n") == 1
    assert word in errors


def test_a_document_with_axes_keeps_its_expressions_and_learners(file):
    raw = reading.read_raw(file)
    full = documents.in_full(raw, documents.first(raw))
    assert full["problem"]["matrix"]["d"] == "size"
    assert [learner["name"] for learner in full["learners"]] == ["GD", "LLS"]
    assert full["learners"][0]["update"]["lr"] == "1/(2d)"
    assert documents.sweep_of(full).points[2].experiment == documents.sweep_of(raw).points[2].experiment


def test_table_numbers_are_unbroken_and_errors_avoid_powers_of_ten(
    capsys: pytest.CaptureFixture[str],
) -> None:
    picture = Picture(measure=catalogue.make("measures", "loss"))
    x = np.arange(12.0)
    curves = [
        curve_view(
            name=f"learner {n}", number=n, learner=f"learner {n}", x=x, y=x + 255.1234, stderr=0 * x + error,
            replicas=3, over=lambda replicas: x,
            lost=np.zeros(12, int), diverged=0, diverged_at=None,
            complete=True,
        )
        for n, error in enumerate((62.3, 0.00612, 0.00612, 0.00612, 0.00612, 0.00612))
    ]  # fmt: skip
    view = view_of(picture, "k", "loss", False, False, 1e-11, curves=curves)
    console = Console(width=90)
    console.print(pictures.table(view, 90))
    printed = capsys.readouterr().out
    assert "255.1 ± 60" in printed
    assert "255.1 ± 0.006" in printed


def test_headings_wrap_before_numbers_are_separated_from_their_errors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    x = np.arange(12.0)
    errors = {"GD": 0.01, "net": 0.01, "EGU±": 3e-4, "spindly±": 3e-4}
    curves = [
        curve_view(
            name=learner, number=n, learner=learner,
            x=x, y=0.00390612 + 0 * x, stderr=0 * x + error,
            replicas=3, over=lambda replicas: x,
            lost=np.zeros(12, int), diverged=0, diverged_at=None, complete=True,
        )
        for n, (learner, error) in enumerate(errors.items())
    ]  # fmt: skip
    picture = Picture(measure=catalogue.make("measures", "loss"))
    view = view_of(picture, "examples k", "loss", False, False, 1e-11, curves=curves)
    Console(width=80).print(pictures.table(view, 80))
    assert capsys.readouterr().out.count("0.003906 ± 0.0003") == 2 * 12


@pytest.mark.parametrize(("measure", "value"), [("change", 3e-9), ("norm", 2e-16)])
def test_the_table_shows_0_for_values_that_count_as_0(
    measure: str, value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = Picture(x="rows", measure=catalogue.make("measures", measure))
    x = np.array([1.0, 4, 60])
    curve = curve_view(
        name="sign", learner="sign", x=x, y=value * x / 60, stderr=0 * x + value, replicas=3,
        over=lambda replicas: x, lost=np.zeros(3, int), diverged=0, diverged_at=None, complete=True,
    )  # fmt: skip
    view = view_of(picture, "rows", "change", True, True, 1e-11, curves=[curve])
    assert ending(view) == "At rows = 60, change is 0"
    Console(width=90).print(pictures.table(view, 90))
    printed = capsys.readouterr().out
    assert "e-" not in printed
    assert re.search(r"^\s*60\s+0\s*$", printed, re.MULTILINE)
