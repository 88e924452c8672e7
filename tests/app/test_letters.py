"""A learner keeps its letter and hue in the set-up, in the current run and in pinned runs."""

from __future__ import annotations

import pytest
from textual.widgets import DataTable

from hadamard_tui.app import HadamardApp
from hadamard_tui.charts.plots.series_builder import colour
from hadamard_tui.charts.plots.view_plot import view_series
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.widgets.setup import SetupPane

from .conftest import WIDE, opened, until
from .test_setup import listed
from .test_time_travel import finished


def test_letters_stay_fixed_and_letters_of_removed_learners_are_not_reused():
    editable = EditableExperiment.of("hadamard-128")
    editable.copy_learner(0)
    assert editable.letters == [0, 5, 1, 2, 3, 4]
    editable.remove_learner(0)
    editable.switch_learner(1)
    assert editable.running_letters == {"GD 2": 5, "EGU": 2, "EGU±": 3, "spindly": 4}
    editable.remove_learner(0)
    editable.add_learner(0)
    assert editable.letters == [1, 6, 2, 3, 4]
    assert editable.copied().letters == editable.letters
    editable.give_letters()
    assert editable.letters == [0, 1, 2, 3, 4]


def test_a_learner_keeps_its_hue_as_learners_and_bounds_change():
    editable = EditableExperiment.of("hadamard-128")
    kinds = {"GD": "gradient", "least squares": "exact", "EGU": "multiplicative", "EGU±": "multiplicative"}
    kinds["spindly"] = "sparse"
    assert {learner_name: place.kind for learner_name, place in editable.kind_places.items()} == kinds
    editable.copy_learner(0)
    editable.remove_learner(2)
    editable.switch_learner(1)
    editable.put("problem.matrix.row_signs", False)
    editable.put("problem.matrix.permute", False)
    shown = {learner_name: place.kind for learner_name, place in editable.kind_places.items()}
    assert shown == {learner_name: kinds.get(learner_name, "gradient") for learner_name in shown}


def test_a_reference_learner_has_no_colour_kind():
    editable = EditableExperiment.of("hadamard-128")
    editable.put("learners[0].role", "reference")
    assert "GD" not in editable.kind_places


def table(app: HadamardApp) -> dict[str, str]:
    """Letters in the table, by learner name."""
    board = app.laboratory.query_one(DataTable)
    rows = [board.get_row_at(number) for number in range(board.row_count)]
    return {str(row[1]): str(row[0]) for row in rows}


def letters(app: HadamardApp) -> dict[str, str]:
    """Letters in the list of learners, without learners that are off."""
    lines = [line.split("  ")[0].split(" ", 1) for line in listed(app)]
    return {learner_name: letter for letter, learner_name in lines if letter != "○"}


@pytest.mark.slow
async def test_list_table_and_chart_use_the_same_letters_for_learners(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        run = table(app)
        assert list(run.values()) == ["A", "B", "C", "D", "E"]
        await pilot.press("d")
        await until(pilot, lambda: "GD 2" in letters(app))
        assert letters(app) == {**run, "GD 2": "F"}
        context = app.laboratory.context
        assert context is not None
        assert context.curve.name == "GD", "what the copy was made of is shown"
        app.laboratory.query_one(SetupPane).pick(0)
        await pilot.press("delete", "o")
        await until(pilot, lambda: "GD" not in letters(app) and "GD 2" not in letters(app))
        assert table(app) == run
        await finished(app, pilot)
        await until(pilot, lambda: table(app) == letters(app))
        assert "A" not in table(app).values()
        context = app.laboratory.context
        assert context is not None
        drawn = view_series(context.loss)
        marked = {series.name: (series.mark, series.colour) for series in drawn if series.mark}
        places = app.laboratory.editable.kind_places
        assert marked == {
            learner_name: (letter, colour(places[learner_name]))
            for learner_name, letter in table(app).items()
        }
        await pilot.press("R")
        await until(pilot, lambda: list(table(app).values()) == ["B", "C", "D", "E"])
        await until(pilot, lambda: letters(app) == table(app))
        await pilot.press("o")
        await until(pilot, lambda: letters(app).get("GD 2") == "A")


@pytest.mark.slow
async def test_each_curve_of_a_learner_with_several_rates_has_its_own_letter(app: HadamardApp):
    app.laboratory.editable.put("learners[0].update.lr", [0.01, 0.03125])
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        context = app.laboratory.context
        assert context is not None
        view = context.loss.view
        numbers = [view.curve(curve.name).number for curve in context.trace.curves]
        assert len(set(numbers)) == len(numbers) == 6
        first = {curve.learner: view.curve(curve.name).number for curve in reversed(context.trace.curves)}
        assert first == app.laboratory.editable.running_letters
