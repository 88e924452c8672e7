"""The Python API runs experiments, stops them, and gives the numbers of the command line."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import threading

import msgspec
import numpy as np
import pytest

import engine
from engine import api
from engine.core.parts import BadInput
from engine.results import tables
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec.experiment import of_run

SMALL = "problem.matrix.d=16", "claims=[]", "run.device=cpu"
LONG = (
    "problem.matrix.d=1024",
    "claims=[]",
    "run.replicas=48",
    "run.device=cpu",
    "learners.GD.update.lr=1/2048",
)
AXES = "axes=[{name='features', values=[4, 8]}]", "problem.matrix.d='features'", *SMALL[1:]


@pytest.fixture(scope="module")
def trace() -> engine.Trace:
    return engine.run(engine.load("hadamard-128", *SMALL))


@pytest.mark.parametrize(
    "function",
    [api.load, api.load_parts, api.along, api.start, api.run, api.sweep, api.verify, api.judge],
    ids=lambda function: function.__name__,
)
def test_docstrings_name_every_parameter_and_error(function) -> None:
    text = inspect.getdoc(function) or ""
    assert "Raises: BadInput" in text
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"^ +(\w+, )*{parameter}(, \w+)*: ", text, re.MULTILINE), parameter


def test_importing_the_package_loads_no_library() -> None:
    heavy = ("torch", "numpy", "pandas", "textual", "rich", "scipy", "msgspec")
    program = f"import engine, hadamard_tui, sys; print(*(name for name in {heavy} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_every_api_name_resolves_and_an_unknown_name_fails() -> None:
    assert {name for name in engine.API if getattr(engine, name) is not None} == {*engine.API}
    assert {*engine.API} <= {*dir(engine)}
    with pytest.raises(AttributeError, match="no attribute 'runs'"):
        engine.runs  # type: ignore[attr-defined]  # noqa: B018


def test_a_run_has_the_curves_of_the_engine(trace: engine.Trace) -> None:
    experiment = engine.load("hadamard-128", *SMALL).experiment
    expected = view(of_run(experiment), of_one(experiment, run(experiment)))
    for curve, other in zip(trace.view().curves, expected.curves, strict=True):
        assert curve.name == other.name
        np.testing.assert_array_equal(curve.y, other.y)


def test_pandas_and_arrow_tables_equal_the_exported_csv_table(trace: engine.Trace) -> None:
    lines = tables.as_csv(tables.table_of(trace.results, trace.claims)).decode().splitlines()
    frame, arrow = trace.to_pandas(), trace.to_arrow()
    assert list(frame.columns) == arrow.schema.names == lines[0].split(",")
    assert len(frame) == arrow.num_rows == len(lines) - 1
    for number, line in enumerate(lines[1:]):
        series, name, *numbers = line.split(",")
        expected = [float(word) if word else np.nan for word in numbers]
        assert list(frame.iloc[number][["series", "name"]]) == [series, name]
        np.testing.assert_array_equal(frame.iloc[number, 2:].to_numpy(float), expected)
        row = {column: cells[0] for column, cells in arrow.slice(number, 1).to_pydict().items()}
        assert [row["series"], row["name"]] == [series, name]
        numbers_of_arrow = [row[column] for column in arrow.schema.names[2:]]
        np.testing.assert_array_equal(np.array(numbers_of_arrow, dtype=float), expected)
    assert frame.attrs["loss"] == arrow.schema.metadata[b"loss"].decode() == "average square loss"


def test_a_table_without_rows_has_its_columns() -> None:
    frame = tables.as_frame(tables.CurveTable(("series",), ("x", "y"), [], {}))
    assert list(frame.columns) == ["series", "x", "y"]
    assert frame.dtypes["y"].kind == "f"
    assert frame.empty


def test_json_contains_the_curves_and_the_experiment(trace: engine.Trace) -> None:
    decoded = json.loads(trace.to_json())
    assert decoded["pictures"][0]["curves"][0]["name"] == "GD"
    assert decoded["experiment"]["given"]["problem"]["matrix"]["d"] == 16


def test_a_preset_with_axes_runs_at_all_of_its_points() -> None:
    preset = engine.load("hadamard-128", *AXES)
    assert repr(preset).endswith("spindly; along features>")
    swept = engine.run(preset)
    assert [point.experiment.d for point in swept.results.sweep.points] == [4, 8]
    assert swept.results.complete


def test_a_sweep_sets_its_parameter_and_has_law_and_curves_pictures() -> None:
    preset = engine.load("hadamard-128", *SMALL)
    swept = engine.sweep(preset, "problem.matrix.d", [8, 16, 32])
    assert swept.pictures == ["law", "curves"]
    law = {curve.name: curve for curve in swept.view("law").curves}
    assert law["GD"].x.tolist() == [8, 16, 32]
    for place, d in enumerate((8, 16, 32)):
        alone = engine.run(engine.load("hadamard-128", *SMALL, f"problem.matrix.d={d}")).view()
        curve = alone.curve("GD")
        assert law["GD"].y[place] == curve.x[np.argmax(curve.y < 0.1)]
    rates = engine.sweep(preset, "learners[0].update.lr", [0.01, 0.02])
    assert len(rates.view("curves").curves) > 2
    with pytest.raises(BadInput, match="already has a sweep axis"):
        engine.sweep("catapult", "problem.matrix.d", [1, 2])


def test_an_experiment_changed_in_python_runs_unaltered() -> None:
    experiment = engine.load("hadamard-128", *SMALL).experiment
    changed = msgspec.structs.replace(experiment, learners=experiment.learners[:1])
    assert [curve.name for curve in engine.run(changed).view().curves] == ["GD"]


def test_verify_judges_the_claims_of_an_unchanged_preset_only() -> None:
    holding = engine.verify("hadamard-128")
    assert [outcome.holds for outcome in holding] == [True] * len(holding)
    assert len(holding) > 5
    changed = engine.verify(engine.load("hadamard-128", "problem.matrix.d=16"))
    assert {outcome.holds for outcome in changed} == {None}


@pytest.mark.slow
def test_progress_rises_to_one_and_a_raising_callback_ends_the_run() -> None:
    shares: list[float] = []
    engine.run(engine.load("hadamard-128", *SMALL), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0

    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    earlier = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        engine.run(engine.load("hadamard-128", *LONG), progress=interrupt)
    assert ended_within(20, earlier)


def test_changes_must_be_strings_and_require_a_preset_name() -> None:
    trace = engine.run("hadamard-128", *SMALL)
    assert trace.experiment == engine.load("hadamard-128", *SMALL).experiment
    with pytest.raises(engine.BadInput, match="changes require the name of a preset"):
        engine.run(engine.load("hadamard-128", *SMALL), "run.seed=1")
    with pytest.raises(engine.BadInput, match="a change must be a text"):
        engine.load("hadamard-128", {"run.seed": 1})  # type: ignore[arg-type]


@pytest.mark.slow
def test_leaving_the_start_block_stops_the_run_and_keeps_its_curves() -> None:
    with engine.start(engine.load("hadamard-128", *LONG)) as running:
        while running.share == 0.0:
            assert not running.wait(0.05), "it takes half a minute"
        early = running.trace
    reached = early.results.traces[0].reached
    assert running.wait(20)
    assert 0 < running.trace.results.share < 1
    assert early.results.traces[0].reached == reached, "a trace that was read does not grow"
    assert "incomplete" in repr(running.trace)


def test_bad_input_raises_on_loading_or_on_running() -> None:
    with pytest.raises(BadInput, match="hadamrd: there is no preset of this name; did you mean"):
        engine.load("hadamrd")
    enormous = engine.load("hadamard-128", "problem.matrix.d=1048576", "run.path=dense", "claims=[]")
    with pytest.raises(BadInput, match=r"needs .* GiB of memory"):
        engine.run(enormous)


def ended_within(seconds: float, earlier: set[threading.Thread]) -> bool:
    """Whether every thread of the engine ends in time, except those of earlier tests."""
    threads = [
        thread for thread in threading.enumerate() if thread.name == "engine" and thread not in earlier
    ]
    for thread in threads:
        thread.join(seconds)
    return not any(thread.is_alive() for thread in threads)
