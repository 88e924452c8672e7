"""The status line says all that it is for, in every state and at every width."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from rich.cells import cell_len

from engine.results.results import of_one
from engine.results.trace import Trace
from engine.results.views import view
from engine.runtime.run import run
from engine.spec import presets
from engine.spec.experiment import Experiment
from engine.spec.pictures import of_run
from hadamard_tui.app import HadamardApp
from hadamard_tui.charts.look import Look
from hadamard_tui.charts.values import Value, looked_at, values
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.running.playback import Pace
from hadamard_tui.widgets.scoreboard import row
from hadamard_tui.widgets.status import line_forms, status_text

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of
from .test_time_travel import finished

pytestmark = pytest.mark.set_up("empty")

WIDTHS = (60, 66, 72, 80, 100, 120, 160, 200)
NUMBER = r"(–|none|\d+(\.\d+)?)"
LOSSES = rf"best {NUMBER}.* bound \(?{NUMBER}\)?( +ratio {NUMBER}|$)"
NO_LOSSES = "^(?!.*(best|bound|ratio))"


def small(*settings: str) -> list[str]:
    return ["problem.matrix.d=16", "run.device=cpu", "claims=[]", *settings]


def look(experiment: Experiment, trace: Trace, place: float) -> Look:
    """A run that is shown as a whole, with the playhead at a place."""
    return Look(view(of_run(experiment), of_one(experiment, trace)), place=place)


def test_a_run_in_which_all_diverged_has_no_best_and_is_not_learning() -> None:
    one = 'learners=[{name="GD", architecture={kind="linear"}, update={kind="gd", lr=3000.0}}]'
    experiment = presets.load("hadamard-128", small(one))
    trace = run(experiment)
    [gd] = trace.curves
    assert gd.diverged_at is not None
    assert trace.frontier < gd.diverged_at
    [now] = values(look(experiment, trace, trace.frontier))
    assert row(now, 5)["state"] == f"diverged at {gd.diverged_at:g}"
    [before] = values(look(experiment, trace, trace.frontier - 1))
    assert before.state == ("learning" if trace.frontier else "waiting")
    assert looked_at(look(experiment, trace, trace.frontier), "GD") is None


def test_a_learner_of_which_some_replicas_diverged_says_how_many_and_is_no_best() -> None:
    one = 'learners=[{name="GD", architecture={kind="linear"}, update={kind="gd", lr=0.1}}]'
    many = ["problem.matrix.kind=gaussian", "problem.matrix.d=32", "run.replicas=20", "run.seed=1"]
    experiment = presets.load("hadamard-128", small(one, *many))
    trace = run(experiment)
    [gd] = trace.curves
    assert 0 < gd.diverged < 20
    first = gd.diverged_at
    assert first is not None
    [before], [after] = (values(look(experiment, trace, place)) for place in (first - 1, 32))
    assert row(before, 5)["state"] == "learning"
    assert row(after, 5)["state"] == f"diverged at {first:g}: {gd.diverged}/20"
    assert row(after, 5)["value"]
    assert looked_at(look(experiment, trace, first - 1), "GD") is not None
    assert looked_at(look(experiment, trace, first), "GD") is None


@pytest.mark.parametrize("is_count", [True, False])
@pytest.mark.parametrize("height", [943718.4, 3.2e9, 258.26, 0.00026, 1e-7, 0.5])
def test_no_form_of_the_status_cuts_the_height_of_a_line(height: float, is_count: bool) -> None:
    line: Any = SimpleNamespace(direction="lower", kind="ri-signed")
    one = Value("A", "EGU", "", "EGU", "done", 2 * height, line, height, is_count=is_count)
    for form in line_forms(one):
        shown = re.search(r"bound ([\d.e+-]+)", form)
        assert shown is not None, form
        assert float(shown.group(1)) == pytest.approx(height, rel=0.05), form


def said(app: HadamardApp, width: int) -> str:
    """The status at a width, checked to be whole."""
    laboratory = app.laboratory
    line = status_text(laboratory.session, laboratory.editable, Pace(), 20.0, width).plain
    assert cell_len(line) <= width, line
    assert width < 120 or re.search(r"cpu|auto|cuda", line), line
    assert width < 160 or re.search(r"[\d.]+[kM]? steps/s +20 fps", line), line
    has_run = app.laboratory.session is not None
    assert re.search(LOSSES if has_run else NO_LOSSES, line), line
    return line


def at_every_width(app: HadamardApp) -> list[str]:
    return [said(app, width) for width in WIDTHS]


async def test_the_status_names_what_is_lowest_and_says_who_shares_the_best(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        laboratory = app.laboratory
        line = status_text(laboratory.session, laboratory.editable, Pace(), 20.0, 110).plain
        assert "at k = 8:  best 0.4254 EGU  bound (0.5000)  ratio 0.851" in line
        await pilot.press("home")
        await until(pilot, lambda: laboratory.session is not None and laboratory.session.playback.place == 0)
        line = status_text(laboratory.session, laboratory.editable, Pace(), 20.0, 110).plain
        assert re.search(r"best 0\.9375 EGU and 1 more  bound \(1\.0000\)  ratio 0\.938", line), line


async def test_the_status_says_everything_before_a_run_and_after(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        for line in at_every_width(app):
            assert line.startswith(" ready ")
            assert "–/16 " in line
        await finished(app, pilot)
        for line in at_every_width(app):
            assert line.startswith(" finished ")
            assert "16/16 " in line


async def test_a_set_up_that_cannot_run_is_told_on_80_columns(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        app.laboratory.editable.put("problem.matrix.d", 7)
        app.laboratory.show_set_up()
        assert "fix d of the matrix" in said(app, 80)
        await until(pilot, lambda: "cannot run: problem.matrix.d: 7 is not an order" in screen_text(app))


async def test_a_long_device_and_a_pending_restart_push_nothing_out(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        session = session_of(app)
        assert session.trace is not None
        session.trace.environment["device"] = "cuda:1 (NVIDIA H200)"
        session.playback.pace = Pace(0.001)
        await pilot.press("home", "right", "space")
        app.laboratory.editable.put("run.seed", 7)
        for line in at_every_width(app):
            assert line.startswith(" replaying ")


async def test_where_nothing_goes_along_a_clock_neither_it_nor_a_pace_is_told() -> None:
    document = presets.document(
        "criticality", ["run.replicas=2", "axes[0].values=[2]", "run.device=cpu", "claims=[]"]
    )
    app = HadamardApp(EditableExperiment(document, None))
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session and session_of(app).state == "finished")
        for width in WIDTHS:
            told = status_text(session_of(app), app.laboratory.editable, Pace(), 20.0, width).plain
            assert "finished" in told
            assert not re.search(r"0/0|/s\b", told), told


async def test_the_point_is_named_once_where_x_is_made_of_its_axis() -> None:
    document = presets.document(
        "criticality", ["run.replicas=2", "axes[0].values=[2,1]", "run.device=cpu", "claims=[]"]
    )
    axis = document["axes"][0]["name"]
    document["pictures"] = [{"x": f"2*{axis}+1", "measure": "loss"}]
    app = HadamardApp(EditableExperiment(document, None))
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session and session_of(app).state == "finished")
        shown = session_of(app).look(1)
        assert shown.shown_at_in_words.endswith("+ 1 = 3"), "the last of the points is where axis = 1"
        told = status_text(session_of(app), app.laboratory.editable, Pace(), 20.0, 160, shown).plain
        assert "(point 2 of 2)" in told
        assert re.search(r"at \S+ = 1:", told), told
        assert "+ 1 = 3" not in told


def test_a_loss_that_rounding_has_taken_below_0_has_no_sign() -> None:
    line: Any = SimpleNamespace(direction="lower", kind="ri-signed")
    one = Value("A", "GD", "", "GD", "done", -1e-17, line, 1.0, rounding=1e-11)
    assert (row(one, 5)["value"], row(one, 5)["ratio"]) == ("0.00000", "0.000")
    assert not any("-" in form for form in line_forms(one))
