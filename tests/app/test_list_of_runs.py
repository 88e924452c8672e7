"""The list of runs holds those of this session and those in the store, which outlive the app."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from engine.runtime.store import Store
from engine.runtime.stored_run import StoredRun
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.running.runs import Runs
from hadamard_tui.screens.run_comparison import Renaming
from hadamard_tui.state import run_store
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.side import RunList, RunRows

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of
from .test_time_travel import finished

pytestmark = pytest.mark.set_up("empty")


def rows_of(app: HadamardApp) -> list[str]:
    """The lines of the list of runs."""
    rows = app.laboratory.query_one(RunRows)
    return ["  ".join(line.plain for line in rows.lines_of(run)) for run in rows._rows]


def messages(app: HadamardApp) -> list[str]:
    return [note.message for note in app._notifications]


async def run_once(editable: EditableExperiment) -> StoredRun:
    """Run a set-up in an app of its own, and return its entry in the store."""
    app = HadamardApp(editable.copied())
    async with opened(app, SMALL) as pilot:
        await finished(app, pilot)
        await until(pilot, lambda: session_of(app).stored_as is not None)
        await until(pilot, lambda: run_store.needed_store().runs()[0].headline)
    return run_store.needed_store().runs()[0]


@pytest.mark.slow
async def test_a_stored_run_is_opened_and_compared_with_a_new_run(editable: EditableExperiment):
    stored = await run_once(editable)
    app = HadamardApp(editable.copied())
    async with opened(app, WIDE) as pilot:
        app.laboratory.editable.put("learners[2].update.lr", 0.05)
        await finished(app, pilot)
        await pilot.press("l")
        await until(pilot, lambda: len(rows_of(app)) == 2)
        old, new = rows_of(app)
        assert stored.id in old
        assert "hadamard-128" in old
        assert stored.headline in old
        assert any(bar in old for bar in "▂▃▄▅▆▇█")
        assert "run 1" in new
        assert any(bar in new for bar in "▂▃▄▅▆▇█"), "what was just stored has its chart, too"
        assert new.startswith("▸")

        await pilot.press("home", "c")
        await until(pilot, lambda: [run.name for run in app.laboratory.runs.pinned] == [stored.id])
        chart = app.laboratory.query_one("#loss", ChartView)
        await until(pilot, lambda: any(series.mark == "c" for series in chart.shown[0]))
        assert any("rate η of EGU = 0.15" in series.name for series in chart.shown[0])
        await pilot.press("c")
        await until(pilot, lambda: not app.laboratory.runs.pinned)

        await pilot.press("home", "enter")
        await until(pilot, lambda: session_of(app).stored_as == stored.id and session_of(app).over)
        assert app.laboratory.editable.value("learners[2].update.lr") == 0.15
        assert session_of(app).state == "finished"
        await until(pilot, lambda: rows_of(app)[0].startswith("▸"))
        assert stored.headline in rows_of(app)[0]
        await pilot.press("l", "X")
        assert [run.name for run in app.laboratory.runs.pinned] == ["run 1"]
    assert len(run_store.needed_store().runs()) == 2, "opening a run computes and stores nothing"


@pytest.mark.slow
async def test_stored_runs_are_read_only_when_their_list_opens(
    editable: EditableExperiment, monkeypatch: pytest.MonkeyPatch
):
    stored = await run_once(editable)
    reads = []
    monkeypatch.setattr(
        Store,
        "runs",
        lambda store, newest=-1, all_runs=Store.runs: reads.append(1) or all_runs(store, newest),
    )
    app = HadamardApp(editable.copied())
    async with opened(app, (200, 60)) as pilot:  # the list is beside the stage
        await pilot.pause(0.2)
        assert not reads
        assert rows_of(app) == []
        await pilot.press("l")
        await until(pilot, lambda: len(rows_of(app)) == 1)
        assert stored.headline[:20] in screen_text(app)
        Path(stored.path).unlink()
        await pilot.press("enter")
        await until(pilot, lambda: any("No such file" in message for message in messages(app)))
        await until(pilot, lambda: rows_of(app) == [])
        assert app.laboratory.session is None


@pytest.mark.slow
async def test_a_deleted_run_can_be_restored_until_the_app_ends(editable: EditableExperiment):
    stored = await run_once(editable)
    app = HadamardApp(editable.copied())
    async with opened(app, WIDE) as pilot:
        app.laboratory.editable.put(
            "learners[2].update.lr", 0.05
        )  # the same set-up would open the stored run
        await finished(app, pilot)
        await pilot.press("l")
        await until(pilot, lambda: len(rows_of(app)) == 2)
        await pilot.press("D", "D")
        await until(pilot, lambda: rows_of(app) == [])
        assert run_store.needed_store().runs() == []
        assert "u brings back" in screen_text(app)
        await pilot.press("u")
        await until(pilot, lambda: len(rows_of(app)) == 1)
        assert stored.id in rows_of(app)[0]
        await pilot.press("u")
        await until(pilot, lambda: len(rows_of(app)) == 2)
        assert len(run_store.needed_store().runs()) == 2
        await pilot.press("home", "D")
        app.laboratory.end(0)
    assert [run.id for run in run_store.needed_store().runs()] == [session_of(app).stored_as]
    assert not list(run_store.folder().glob(f".*{stored.id}*"))


@pytest.mark.slow
async def test_a_run_pinned_in_the_store_is_not_deleted(editable: EditableExperiment):
    stored = await run_once(editable)
    run_store.needed_store().mark(stored, pinned=True)
    app = HadamardApp(editable.copied())
    async with opened(app, WIDE) as pilot:
        await pilot.press("l")
        await until(pilot, lambda: len(rows_of(app)) == 1)
        await pilot.press("D")
        await until(pilot, lambda: any("runs pin --off" in message for message in messages(app)))
        assert len(rows_of(app)) == 1


@pytest.mark.slow
async def test_a_renamed_run_keeps_its_name_after_a_restart(editable: EditableExperiment):
    stored = await run_once(editable)
    for former, name in ((stored.id, "the usual rate"), ("the usual rate", "another")):
        app = HadamardApp(editable.copied())
        async with opened(app, WIDE) as pilot:
            await pilot.press("l")
            await until(pilot, lambda app=app, former=former: former in "".join(rows_of(app)))
            await pilot.press("N")
            assert isinstance(app.screen, Renaming)
            app.screen.query_one(Input).value = name
            await pilot.press("enter")
            await until(pilot, lambda app=app, name=name: name in "".join(rows_of(app)))


@pytest.mark.slow
async def test_typed_words_filter_the_list_of_runs(editable: EditableExperiment):
    stored = await run_once(editable)
    store = run_store.needed_store()
    store.mark(stored, tags=["paper"])
    app = HadamardApp(editable.copied())
    async with opened(app, SMALL) as pilot:
        app.laboratory.editable.put("run.seed", 5)
        await finished(app, pilot)
        await pilot.press("l")
        await until(pilot, lambda: len(rows_of(app)) == 2)
        await pilot.press("slash", *"paper")
        await until(pilot, lambda: len(rows_of(app)) == 1)
        assert "#paper" in rows_of(app)[0]
        assert app.laboratory.query_one(RunList).border_subtitle == "1 of 2"
        await pilot.press("x")
        await until(pilot, lambda: rows_of(app) == [])
        app.laboratory.query_one("#runs-filter", Input).value = "hadamard"
        await until(pilot, lambda: len(rows_of(app)) == 2)
        await pilot.press("up")
        chosen = app.laboratory.query_one(RunList).selected
        assert chosen is not None
        assert chosen.stored is not None
        assert chosen.stored.id == stored.id, "arrows move in the list while the filter has the focus"
        await pilot.press("escape")
        await until(pilot, lambda: len(rows_of(app)) == 2)
        assert app.laboratory.query_one(RunRows).has_focus


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_the_list_draws_only_the_visible_rows_of_ten_thousand_runs(
    app: HadamardApp, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
):
    async with opened(app, size) as pilot:
        await pilot.press("l")
        app.laboratory.runs.stored = {
            f"{number:08x}": StoredRun(f"{number:08x}", float(number), "title", "1", state="finished")
            for number in range(10_000)
        }
        drawn = []
        lines_of = RunRows.lines_of
        monkeypatch.setattr(
            RunRows,
            "lines_of",
            lambda rows, run, *width: drawn.append(run.name) or lines_of(rows, run, *width),
        )
        app.laboratory._list_runs()
        await until(pilot, lambda: "0000270f" in screen_text(app))
        assert len(drawn) < 500
        for keys, name in (
            ("home", "00000000"),
            ("down", "00000001"),
            ("end", "0000270f"),
            ("up", "0000270e"),
        ):
            await pilot.press(keys)
            await until(pilot, lambda name=name: name in screen_text(app))
            chosen = app.laboratory.query_one(RunList).selected
            assert chosen is not None
            assert chosen.name == name


def test_runs_are_listed_by_start_time_and_filtered_by_words():
    runs = Runs()
    for name, began in (("b", 2.0), ("a", 1.0), ("c", 3.0)):
        runs.stored[name] = StoredRun(name, began, f"title {name}", "1", preset=f"{name}.toml")
    assert [run.name for run in runs.listed()] == ["a", "b", "c"]
    assert [run.name for run in runs.listed("TITLE b")] == ["b"]
    assert [run.preset for run in runs.listed("c")] == ["c"]
    assert [run.name for run in runs.listed("title", but="b")] == ["a", "c"]
    assert runs.listed("title d") == []
