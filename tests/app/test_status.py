"""The status line says all that it is for, in every state and at every width."""

from __future__ import annotations

import gc
import re
import weakref

import pytest
from rich.cells import cell_len

from engine.results.trace import Trace
from engine.runtime.run import Loaded, run
from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.running.playback import Pace
from hadamard_tui.widgets.scoreboard import row
from hadamard_tui.widgets.status import best_now, lowest_ratio, status_text

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of
from .test_time_travel import finished

pytestmark = pytest.mark.set_up("empty")

WIDTHS = (60, 66, 72, 80, 100, 120, 160, 200)
NUMBER = r"(–|none|\d+(\.\d+)?)"
LOSSES = (
    rf"best {NUMBER}.* bound {NUMBER} +(ratio|lowest)( ratio)? {NUMBER}|{NUMBER}/{NUMBER}(=| min ){NUMBER}"
)


def small(*settings: str) -> list[str]:
    return ["problem.matrix.d=16", "run.device=cpu", "claims=[]", *settings]


def test_a_run_in_which_all_diverged_has_no_best_and_is_not_learning() -> None:
    one = 'learners=[{name="GD", architecture={kind="linear"}, update={kind="gd", lr=3000.0}}]'
    trace = run(presets.load("hadamard-128", small(one)))
    [gd] = trace.curves
    assert gd.diverged_at is not None
    assert trace.frontier < gd.diverged_at
    assert row(trace, gd, trace.frontier)["state"] == f"diverged at {gd.diverged_at:g}"
    assert row(trace, gd, trace.frontier - 1).get("state") != f"diverged at {gd.diverged_at:g}"
    assert best_now(trace, trace.frontier) is None


def test_a_learner_of_which_some_replicas_diverged_says_how_many_and_is_no_best() -> None:
    one = 'learners=[{name="GD", architecture={kind="linear"}, update={kind="gd", lr=0.1}}]'
    many = ["problem.matrix.kind=gaussian", "problem.matrix.d=32", "run.replicas=20", "run.seed=1"]
    trace = run(presets.load("hadamard-128", small(one, *many)))
    [gd] = trace.curves
    assert 0 < gd.diverged < 20
    first = gd.diverged_at
    assert first is not None
    assert row(trace, gd, first - 1)["state"] == "learning"
    assert row(trace, gd, 32)["state"] == f"diverged at {first:g}: {gd.diverged}/20"
    assert row(trace, gd, 32)["loss"]
    assert best_now(trace, first - 1) is not None
    assert best_now(trace, first) is None
    before = gd.loss[: gd.sound] / trace.heights("GD", gd.x[: gd.sound])
    lowest = lowest_ratio(trace, 32)
    assert lowest is not None
    assert lowest[0] == before.min(), "of means over all replicas"


def test_the_lowest_ratio_is_never_one_of_before() -> None:
    loaded: list[Trace] = []
    early: list[object] = []

    def gate() -> int:
        early.append(lowest_ratio(loaded[0], 16.0))
        return 1

    experiment = presets.load("hadamard-128", small("learners.GD.update.lr=0.03125"))
    run(experiment, gate, lambda event: loaded.append(event.trace) if isinstance(event, Loaded) else None)
    [trace] = loaded
    naive = min(
        (loss / height, curve.name, x)
        for curve in trace.curves
        for x, loss, height in zip(curve.x, curve.loss, trace.heights(curve.learner, curve.x), strict=True)
        if height > 0
    )
    assert lowest_ratio(trace, 16.0) == pytest.approx(naive)
    assert len(set(early)) > 3


def test_the_lowest_ratio_keeps_no_trace_alive() -> None:
    trace = run(presets.load("hadamard-128", small("learners.GD.update.lr=0.03125")))
    assert lowest_ratio(trace, 16.0) is not None
    ended = weakref.ref(trace)
    del trace
    gc.collect()
    assert ended() is None


def said(app: HadamardApp, width: int) -> str:
    """The status at a width, checked to be whole."""
    laboratory = app.laboratory
    line = status_text(laboratory.session, laboratory.editable, Pace(), 20.0, width).plain
    assert cell_len(line) <= width, line
    assert re.search(r"20 ?fps", line), line
    assert re.search(r"[\d.]+[kM]?( steps)?/s ", line), line
    assert re.search(LOSSES, line), line
    return line


@pytest.mark.parametrize("width", WIDTHS)
async def test_the_status_says_everything_before_a_run_and_after(app: HadamardApp, width: int):
    async with opened(app, WIDE) as pilot:
        line = said(app, width)
        assert line.startswith(" ready ")
        assert "–/16 " in line
        assert " auto " in line or " cpu " in line
        await finished(app, pilot)
        line = said(app, width)
        assert line.startswith(" finished ")
        assert "16/16 " in line
        assert " cpu " in line


async def test_a_set_up_that_cannot_run_is_told_on_80_columns(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        app.laboratory.editable.put("problem.matrix.d", 7)
        app.laboratory.show_set_up()
        assert "mend problem.matrix.d" in said(app, 80)
        await until(pilot, lambda: "cannot run: problem.matrix.d: 7 is no order" in screen_text(app))


@pytest.mark.parametrize("width", WIDTHS)
async def test_a_long_device_and_a_pending_restart_push_nothing_out(app: HadamardApp, width: int):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        session = session_of(app)
        assert session.trace is not None
        session.trace.environment["device"] = "cuda:1 (NVIDIA H200)"
        session.playback.pace = Pace(0.001)
        await pilot.press("home", "right", "space")
        app.laboratory.editable.put("run.seed", 7)
        line = said(app, width)
        assert line.startswith(" replaying ")
        assert " cuda:1 " in line
