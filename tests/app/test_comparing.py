"""Pinned runs are overlaid, listed with their differences, renamed, deleted, and run with other seeds."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pytest
from textual.widgets import Input

from engine.spec import presets
from engine.spec.differences import differences
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.running import runs as runs_module
from hadamard_tui.running.runs import Kept, ListedRun
from hadamard_tui.screens.run_comparison import Renaming
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.scoreboard import Scoreboard
from hadamard_tui.widgets.side import RunList, RunRows
from hadamard_tui.widgets.stage import Stage
from hadamard_tui.widgets.tabs import PictureRow

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of
from .test_time_travel import finished

pytestmark = pytest.mark.set_up("empty")

HUGE = (200, 60)


def told(app: HadamardApp) -> list[str]:
    """The texts of the pinned runs in the list."""
    rows = app.laboratory.query_one(RunRows)
    return ["  ".join(line.plain for line in rows.lines_of(run)) for run in rows._rows]


@pytest.mark.slow
async def test_pinned_runs_can_be_overlaid_listed_renamed_deleted_and_repeated(app: HadamardApp):
    async with opened(app, HUGE) as pilot:
        await pilot.press("c", "D", "N")
        await pilot.pause(0.05)
        assert not app.laboratory.runs.pinned  # nothing has run yet
        await finished(app, pilot)
        first = session_of(app)
        assert first.trace is not None
        await pilot.press("c", "c")
        assert [run.name for run in app.laboratory.runs.pinned] == ["run 1"]
        assert "hadamard-128: matrix.d 128 → 16" in told(app)[0]

        app.laboratory.editable.put("learners[2].update.lr", 0.05)
        await app.laboratory._replace_setup(app.laboratory.editable)
        await finished(app, pilot)
        chart = app.laboratory.query_one("#loss", ChartView)
        await until(pilot, lambda: any(series.mark == "a" for series in chart.shown[0]))
        shown = {series.mark: series for series in chart.shown[0] if series.mark}
        for learner, letter in enumerate("ABCDE"):
            now, pinned = shown[letter], shown[letter.lower()]
            assert pinned.style == "dash-dot"
            assert now.style == ("long" if letter in "AB" else "solid"), "bounds bind A and B"
            assert pinned.colour == now.colour
            assert (pinned.y == first.trace.curves[learner].mean("loss")).all()
        assert any(series.name == "rate η of EGU = 0.15, small letters" for series in chart.shown[0])
        await until(pilot, lambda: "EGU update.lr 0.15 → 0.05" in told(app)[-1])
        assert [line[:3] for line in told(app)] == [" ● ", "▸  "], "pinned, and on the screen"
        board = app.laboratory.query_one(Scoreboard)
        assert [str(board.get_row_at(row)[1]) for row in (0, 5)] == ["GD", "GD · rate η of EGU = 0.15"]

        await pilot.press("c", "A")
        await until(pilot, lambda: session_of(app).experiment.run.seed == 1)
        await until(pilot, lambda: session_of(app).state == "finished")
        assert [run.name for run in app.laboratory.runs.pinned] == ["run 1", "run 2"]
        assert "EGU update.lr 0.15 → 0.05" in told(app)[1]
        await until(pilot, lambda: len(told(app)) == 3 and "seed 0 → 1" in told(app)[2])

        await pilot.press("D")
        assert len(app.laboratory.runs.pinned) == 2, "nothing is deleted but in the list"
        assert any("l opens the list" in note.message for note in app._notifications)
        await pilot.press("l")
        assert app.laboratory.query_one(RunList).has_focus_within
        await pilot.press("home", "N")
        assert isinstance(app.screen, Renaming)
        app.screen.query_one(Input).value = "the usual rate"
        await pilot.press("enter")
        await until(pilot, lambda: "the usual rate" in told(app)[0])
        await pilot.press("N", "escape")
        assert app.laboratory.runs.pinned[0].name == "the usual rate"

        await pilot.press("enter")  # shows it as it was
        await until(pilot, lambda: app.laboratory.editable.experiment == first.experiment)
        await until(pilot, lambda: app.laboratory.session is first)
        await pilot.press("A")  # and this runs it again with the next seeds
        await until(pilot, lambda: session_of(app).experiment.run.seed == 1)
        assert session_of(app).experiment.learners == first.experiment.learners

        await pilot.press("D", "D")
        await until(pilot, lambda: not app.laboratory.runs.pinned)
        await until(pilot, lambda: not any(series.mark == "a" for series in chart.shown[0]))


@pytest.mark.parametrize("size", [SMALL, WIDE])
@pytest.mark.slow
async def test_the_list_of_runs_is_a_drawer_on_smaller_screens(app: HadamardApp, size: tuple[int, int]):
    async with opened(app, size) as pilot:
        await finished(app, pilot)
        await pilot.press("c")
        assert "renames" not in screen_text(app)
        await pilot.press("l")
        await until(pilot, lambda: "renames" in screen_text(app) and "run 1" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "renames" not in screen_text(app))


OF_LOSS = [{"x": "size", "measure": "loss", "read": {"first_below": 0.5}}]
OF_ERROR = [{"x": "size", "measure": "error", "read": {"first_below": 0.2}}]


@pytest.mark.slow
async def test_a_pinned_cached_sweep_without_the_measure_is_reported_once():
    sweep = presets.document("hadamard-128", ["run.device=cpu", "run.replicas=2"])
    sweep |= {"axes": [{"name": "size", "values": [4, 8]}], "pictures": OF_LOSS, "claims": []}
    sweep["problem"]["matrix"]["d"] = "size"
    app = HadamardApp(EditableExperiment(sweep, None))
    async with opened(app, HUGE) as pilot:
        for _ in range(2):  # the second run is from the cache
            await app.laboratory._replace_setup(app.laboratory.editable)
            await finished(app, pilot)
        await pilot.press("c")
        await app.laboratory._replace_setup(EditableExperiment({**sweep, "pictures": OF_ERROR}, None))
        await finished(app, pilot)
        await pilot.press("i")
        why = "run 2 is pinned, but not drawn: error was stored for the first of 2 replicas only"
        await until(pilot, lambda: any(note.message.startswith(why) for note in app._notifications))
        await pilot.press("i", "i")
        assert sum(note.message.startswith(why) for note in app._notifications) == 1


@pytest.mark.slow
async def test_pinning_is_refused_during_a_run_and_works_after_halting(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).playback.shown >= 1)
        await pilot.press("c")
        assert not app.laboratory.runs.pinned
        await pilot.press("h", "c")
        assert len(app.laboratory.runs.pinned) == 1


@pytest.mark.slow
async def test_the_x_axis_reaches_the_end_of_a_longer_pinned_run(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        app.laboratory.editable.put("problem.matrix.d", 32)
        await finished(app, pilot)
        await pilot.press("c")
        app.laboratory.editable.put("problem.matrix.d", 8)
        await finished(app, pilot)
        chart = app.laboratory.query_one("#loss", ChartView)
        await until(pilot, lambda: chart.shown[1] is not None and chart.shown[1].x_limits == (0, 32))


async def test_a_changed_set_up_has_another_title_and_story_than_its_preset(app: HadamardApp):
    app.laboratory._editable = EditableExperiment.of("hadamard-128")
    editable = app.laboratory.editable
    preset = editable.experiment
    editable.put("problem.matrix.d", 64)
    assert editable.experiment.title == "hadamard-128: matrix.d 128 → 64"
    assert not editable.experiment.story
    assert not editable.experiment.source
    editable.put("learners[0].update.lr", 0.5)
    assert editable.experiment.title == "hadamard-128: matrix.d 128 → 64, GD update.lr 1/(2d) → 0.5"
    editable.put("learners[0].update.lr", "1/(2d)")
    editable.put("problem.matrix.d", 128)
    assert editable.experiment == preset
    editable.put("run.seed", 7)
    assert (editable.experiment.title, editable.experiment.story) == (preset.title, preset.story)


PRESET = presets.document("hadamard-128")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([], []),
        (["problem.matrix.d=64"], ["d 128 → 64"]),
        (["problem.matrix.row_signs=false"], ["row_signs yes → no"]),
        (["run.seed=3", "run.replicas=2"], ["seed 0 → 3", "replicas 1 → 2"]),
        (["learners.GD.update.lr=0.25"], ["GD update.lr 1/(2d) → 0.25"]),
        (['learners.GD.update={kind="momentum"}'], ["GD update gd → momentum"]),
        (['problem.matrix={kind="gaussian"}'], ["matrix hadamard → gaussian"]),
        (['learners.GD.name="plain"'], ["GD is called plain"]),
    ],
)
def test_differences_between_set_ups_are_shown_in_words(settings: list[str], words: list[str]):
    changed = presets.document("hadamard-128", [*settings, "claims=[]"])
    assert [str(change).removeprefix("matrix.") for change in differences(PRESET, changed)] == words


def test_a_narrow_row_counts_the_omitted_changes():
    settings = ["run.seed=3", "run.replicas=2", 'learners.GD.update={kind="momentum"}', "claims=[]"]
    changed = presets.document("hadamard-128", settings)
    all_changes = "seed 0 → 3, replicas 1 → 2, GD update gd → momentum"
    assert runs_module.changes(PRESET, changed) == runs_module.changes(PRESET, changed, 51) == all_changes
    assert runs_module.changes(PRESET, changed, 50) == "seed 0 → 3, replicas 1 → 2 and 1 more"
    assert runs_module.changes(PRESET, changed, 25) == "seed 0 → 3 and 2 more"


def test_added_and_removed_learners_are_named():
    editable = EditableExperiment.of("hadamard-128")
    editable.copy_learner(0)
    assert [*map(str, differences(PRESET, editable.document))] == ["with GD 2"]
    assert [*map(str, differences(editable.document, PRESET))] == ["without GD 2"]


def run_of_preset(*settings: str) -> Kept:
    """A run of the preset with other settings, without results."""
    document = presets.document("hadamard-128", [*settings, "claims=[]"])
    experiment = presets.load("hadamard-128", [*settings, "claims=[]"])
    session = SimpleNamespace(document=document, experiment=experiment, letters={})
    return Kept("run 1", session, SimpleNamespace(), SimpleNamespace())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "name", "change"),
    [
        (["problem.matrix.d=256"], "d = 128", "d 128 → 256"),
        (["learners.EGU.update.lr=0.05"], "rate η of EGU = 0.15", "rate η of EGU 0.15 → 0.05"),
        (["run.seed=3", "run.replicas=2"], "seed = 0, replicas = 1", "seed 0 → 3, replicas 1 → 2"),
        (['problem.matrix={kind="gaussian"}'], "matrix = hadamard", "matrix hadamard → gaussian"),
        (["run.seed=3", "run.replicas=2", "problem.matrix.d=64"], "run 1", "run 1 → this run"),
        (["learners.GD.name=plain"], "run 1", "run 1 → this run"),
        ([], "run 1", ""),
    ],
)
def test_a_pinned_run_is_named_by_its_difference(settings: list[str], name: str, change: str):
    document = presets.document("hadamard-128", [*settings, "claims=[]"])
    assert run_of_preset().compared(document) == (name, change)


def test_the_field_of_a_skipped_learner_is_named_by_its_key():
    after = presets.document("hadamard-128", ["learners.EGU.update.lr=0.05", "claims=[]"])
    experiment = presets.load("hadamard-128", ["claims=[]"])
    other_learners = [learner for learner in experiment.learners if learner.name != "EGU"]
    without = msgspec.structs.replace(experiment, learners=other_learners)
    before = presets.document("hadamard-128", ["claims=[]"])
    assert runs_module.compare(before, after, without)[0] == "lr of EGU = 0.15"


def test_a_renamed_pinned_run_keeps_its_name():
    run, document = run_of_preset(), presets.document("hadamard-128", ["problem.matrix.d=256", "claims=[]"])
    assert run.compared(document)[0] == "d = 128"
    run.name, run.renamed = "the usual d", True
    assert run.compared(document) == ("the usual d", "d 128 → 256")


def test_pinned_runs_with_equal_differences_have_distinct_names(monkeypatch: pytest.MonkeyPatch):
    runs = runs_module.Runs()
    runs.finished = [run_of_preset(), run_of_preset()]
    for number, run in enumerate(runs.finished, start=1):
        run.name, run.pinned = f"run {number}", True
    monkeypatch.setattr(Kept, "view", lambda run, picture, is_whole: SimpleNamespace())
    session = SimpleNamespace(
        document=presets.document("hadamard-128", ["run.seed=1", "claims=[]"]), trace=None
    )
    pinned = runs.views(session, SimpleNamespace(), all_points=False)  # type: ignore[arg-type]
    assert [run.name for run in pinned] == ["seed = 0", "seed = 0 (run 2)"]


@pytest.mark.slow
async def test_the_headline_beside_a_pinned_run_quantifies_the_effect_of_the_change():
    app = HadamardApp(EditableExperiment.of("hadamard-128"))
    async with opened(app, HUGE) as pilot:
        await finished(app, pilot)
        await pilot.press("c")
        await app.laboratory._replace_setup(EditableExperiment.of("hadamard-128", ["problem.matrix.d=256"]))
        await finished(app, pilot)
        sentence = "d 128 → 256: GD 116 → 231 examples, EGU 30 → 35 until loss stays below a tenth"
        await until(pilot, lambda: sentence in screen_text(app))
        assert "d = 128, small letters" in screen_text(app)
        assert "GD · d = 128" in screen_text(app)


@pytest.mark.slow
async def test_finished_runs_are_listed_and_compared_in_pairs(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        laboratory = app.laboratory
        for rate in (0.15, 0.1, 0.05):
            laboratory.editable.put("learners[2].update.lr", rate)
            await laboratory._replace_setup(laboratory.editable)
            await finished(app, pilot)
        assert [run.name for run in laboratory.runs.finished] == ["run 1", "run 2", "run 3"]
        await pilot.press("l")
        await until(pilot, lambda: len(told(app)) == 3)
        assert "EGU update.lr 0.1 → 0.05" in told(app)[2]
        await pilot.press("l", "X")
        assert laboratory.chart_options.difference
        assert [run.name for run in laboratory.runs.pinned] == ["run 2"], "the one before"
        await pilot.press("X")
        assert not laboratory.chart_options.difference
        first, _, last = laboratory.runs.finished
        await pilot.press("l", "home", "c", "down", "c", "end", "enter")
        await until(pilot, lambda: laboratory.session is last.session)
        assert [run.name for run in laboratory.runs.pinned] == ["run 1"]
        await pilot.press("X")
        chart = laboratory.query_one("#loss", ChartView)
        await until(
            pilot,
            lambda: (
                chart.shown[1] is not None
                and chart.shown[1].y_label.endswith("in the run “rate η of EGU = 0.15”")
            ),
        )
        shown = {series.mark: series for series in chart.shown[0] if series.mark}
        losses = [run.trace.curves[2].mean("loss") for run in (last, first)]
        assert shown["C"].y == pytest.approx(losses[0] - losses[1])
        assert (shown["A"].y == 0).all()
        await pilot.press("c")
        assert [run.name for run in laboratory.runs.pinned] == ["run 1", "run 3"]


def finished_sessions(count: int) -> list[SimpleNamespace]:
    """Stand-ins for sessions of finished runs without curves."""
    point = SimpleNamespace(results=SimpleNamespace(traces={}))
    return [
        SimpleNamespace(
            trace=object(), point=point, at_once=False, is_followed=False, stored_as=None, letters={}
        )
        for _ in range(count)
    ]


def test_excess_runs_drop_the_oldest_unpinned_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runs_module, "MOST_RUNS", 2)
    sessions = finished_sessions(5)
    runs = runs_module.Runs()
    for session in sessions:
        runs.keep(session)  # type: ignore[arg-type]
    runs.finished[0].pinned = True
    dropped = runs.make_room(sessions[1].trace)  # type: ignore[arg-type]
    assert [run.name for run in dropped] == ["run 3"]
    assert [run.name for run in runs.finished] == ["run 1", "run 2", "run 4", "run 5"]


def test_the_run_before_the_shown_one_stays_even_if_it_is_large(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runs_module, "MOST_BYTES", 10)
    monkeypatch.setattr(runs_module.Kept, "bytes", 100)
    sessions = finished_sessions(3)
    runs = runs_module.Runs()
    for number, session in enumerate(sessions):
        runs.keep(session)  # type: ignore[arg-type]
        runs.make_room(session.trace)  # type: ignore[arg-type]
        assert [run.session for run in runs.finished] == sessions[max(number - 1, 0) : number + 1]
    monkeypatch.setattr(runs_module, "MOST_BYTES_OF_NEWEST", 99)
    runs.make_room(sessions[-1].trace)  # type: ignore[arg-type]
    assert [run.session for run in runs.finished] == sessions[2:]


def test_the_list_keeps_only_the_last_of_consecutive_step_runs():
    point = SimpleNamespace(results=SimpleNamespace(traces={}))
    steps = [
        SimpleNamespace(trace=object(), point=point, at_once=at_once, is_followed=False, letters={})
        for at_once in (False, True, True, True)
    ]
    runs = runs_module.Runs()
    for session in steps:
        runs.keep(session)  # type: ignore[arg-type]
    assert [run.name for run in runs.finished] == ["run 1", "run 2"]
    assert runs.finished[-1].session is steps[-1]


@pytest.mark.slow
async def test_messages_explain_how_to_compare_and_unpin_pinned_runs(
    app: HadamardApp,
):
    async with opened(app, SMALL) as pilot:
        await finished(app, pilot)
        await pilot.press("c")
        messages = [note.message for note in app._notifications]
        assert messages[-1].endswith("over it. In the list of runs (l), c pins or unpins a run.")
        await app.choose_preset("kernels-128")
        opened_one = "The chart still shows hadamard-128; r runs kernels-128: No kernel"
        await until(pilot, lambda: opened_one in screen_text(app))
        messages = [note.message for note in app._notifications]
        assert messages[-1].startswith("The chart also shows the pinned runs: run 1. In the list of runs")
        await pilot.press("l")
        await until(pilot, lambda: "c pins or unpins" in screen_text(app))


@pytest.mark.slow
async def test_a_late_selection_of_a_deleted_run_is_ignored(app: HadamardApp):
    async with opened(app, HUGE) as pilot:
        for lr in (0.05, 0.1, 0.2):
            app.laboratory.editable.put("learners[2].update.lr", lr)
            await finished(app, pilot)
            await pilot.press("c")
        await until(pilot, lambda: len(told(app)) == 3)
        runs, kept_runs = app.laboratory.query_one(RunList), app.laboratory.runs.finished
        _, second, third = kept_runs
        gone, selected_second = (RunRows.Selected(ListedRun(run, None)) for run in kept_runs[:2])
        del kept_runs[0]
        runs.post_message(gone)
        await pilot.pause()
        assert session_of(app).trace is third.trace, "the one on the screen stays"
        runs.post_message(selected_second)
        await until(pilot, lambda: session_of(app).trace is second.trace)


@pytest.mark.slow
async def test_a_reopened_run_shows_its_own_pictures(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        laboratory = app.laboratory
        row = laboratory.query_one(PictureRow)
        await finished(app, pilot)
        pictures = [{"x": "k", "measure": measure, "title": measure} for measure in ("loss", "error")]
        await laboratory._replace_setup(
            EditableExperiment(PRESET | {"pictures": pictures, "claims": []}, None)
        )
        await finished(app, pilot)
        laboratory.query_one(Stage).choose_picture(2)
        without, with_pictures = laboratory.runs.finished
        for run, names in ((without, ()), (with_pictures, ("loss", "error"))):
            laboratory.post_message(RunList.Chosen(ListedRun(run, None)))
            await until(pilot, lambda run=run: laboratory.session is run.session)
            assert row.names[1:] == names
            await until(pilot, lambda: laboratory._is_at_rest)
