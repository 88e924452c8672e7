"""One key sweeps a number of the set-up and shows the law; undo takes the sweep back."""

from __future__ import annotations

import pytest

from engine.core.parts import BadInput
from engine.spec.differences import differences
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment, swept
from hadamard_tui.widgets.controls import NumberEntry
from hadamard_tui.widgets.setup import SetupPane

from .conftest import WIDE, opened, until
from .test_runs import screen_text, session_of


def small(*changes: str) -> EditableExperiment:
    return EditableExperiment.of("hadamard-128", ["problem.matrix.d=16", "run.device=cpu", *changes])


@pytest.mark.parametrize(
    ("place", "is_whole", "values"),
    [
        ("problem.matrix.d", True, [4, 8, 16, 32, 64]),
        ("problem.target.index", True, [1, 2, 3, 4, 5]),
        ("problem.noise", False, [0, 0.25, 0.5, 0.75, 1.0]),
        ("learners[2].update.lr", False, None),
        ("run.seed", True, [0, 1, 2, 3, 4]),
    ],
)
def test_a_sweep_takes_five_valid_values_around_a_number(place: str, is_whole: bool, values):
    editable = small()
    sweep = swept(editable, place, is_whole, "x")
    assert sweep.error is None
    [axis] = sweep.raw["axes"]
    if values is None:
        before = editable.value(place)
        values = [before / 4, before / 2, before, 2 * before, 4 * before]
    assert axis["values"] == values
    assert axis["set"] == place
    assert sweep.letters == editable.letters


def test_a_sweep_over_an_expression_multiplies_it_by_factors():
    sweep = swept(small(), "learners[0].update.lr", False, "η")
    assert sweep.error is None
    assert sweep.value("learners[0].update.lr") == "sweep*(1/(2d))"
    assert sweep.raw["axes"][0]["values"] == [0.25, 0.5, 1, 2, 4]
    assert sweep.raw["axes"][0]["symbol"] == "factor of η"


@pytest.mark.parametrize(
    ("preset", "x", "at", "read"),
    [
        ("covering-disc", "bits", {}, ("bits", "last")),
        ("ring-walk", "place", {}, ("place", "last")),
        ("valley-drift", "k", {"layer": 2}, None),
        ("agd-assumptions", "step", {}, ("layer", "max")),
    ],
)
def test_the_law_of_a_sweep_reads_the_measure_as_the_preset_does(preset, x, at, read):
    sweep = swept(EditableExperiment.of(preset), "run.seed", True, "seed")
    assert sweep.error is None
    law, curves = sweep.experiment.pictures
    assert (law.x, law.at) == ("sweep", at)
    assert read == (law.reading and (law.reading.over, law.reading.take))
    assert (curves.x, curves.at, curves.split_by) == (x, at, ("sweep",))
    first_picture = EditableExperiment.of(preset).experiment.pictures[0]
    assert law.measure == curves.measure == first_picture.measure


def test_sweeping_an_unsuitable_field_is_refused_with_the_reason():
    with pytest.raises(BadInput, match="no number to sweep"):
        swept(small(), "problem.matrix.permute", False, "x")
    with pytest.raises(BadInput, match="already has a sweep axis"):
        swept(swept(small(), "problem.matrix.d", True, "d"), "run.seed", True, "seed")


def test_entering_a_number_ends_its_sweep_and_restores_pictures_and_claims():
    preset = EditableExperiment.of("hadamard-128")
    sweep = swept(preset, "problem.matrix.d", True, "d")
    assert sweep.experiment.title == "hadamard-128: d = 32 … 512 (5 values)"
    sweep.put("problem.matrix.d", "100r")
    assert "'r' is unknown; it must be a whole number" in str(sweep.error)
    sweep.put("problem.matrix.d", 256)
    assert (sweep.error, sweep.raw["axes"]) == (None, [])
    assert sweep.experiment.title == "hadamard-128: matrix.d 128 → 256"
    sweep.put("problem.matrix.d", 128)
    assert not sweep.changed


def test_the_difference_of_a_sweep_over_a_rate_lists_its_values():
    single = EditableExperiment.of("hadamard-128", ["learners[2].update.lr=0.1"])
    sweep = swept(single, "learners[2].update.lr", False, "η")
    assert list(map(str, differences(single.document, sweep.document))) == ["η = 0.025 … 0.4 (5 values)"]


@pytest.mark.set_up("filled")
async def test_the_field_of_a_swept_number_shows_the_sweep_and_typing_ends_it():
    app = HadamardApp(small())
    async with opened(app, WIDE) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        await until(pilot, lambda: setup.query(NumberEntry))
        await app.laboratory.present(swept(small(), "problem.matrix.d", True, "d"), run=False)
        await until(pilot, lambda: "swept to 64" in screen_text(app))
        setup.enter("problem.matrix.d")
        await until(pilot, lambda: "Swept: 4, 8, 16, 32, 64. A typed" in screen_text(app))
        await pilot.press("end", *["backspace"] * 2, "3", "2")
        await until(pilot, lambda: app.laboratory.editable.experiment.problem.matrix.d == 32)
        assert app.laboratory.editable.raw["axes"] == []
        assert any("The sweep over this number ended" in note.message for note in app._notifications)
        await until(pilot, lambda: "Swept:" not in screen_text(app))
        await pilot.press("escape", "u")
        await until(pilot, lambda: app.laboratory.editable.raw["axes"])
        await until(pilot, lambda: "swept to 64" in screen_text(app))


@pytest.mark.set_up("filled")
async def test_typing_a_number_over_an_axis_reports_the_unused_axis_once():
    app = HadamardApp(EditableExperiment.of("hadamard-d", ["run.device=cpu"]))
    async with opened(app, WIDE) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        setup.enter("problem.matrix.d")
        await until(pilot, lambda: setup.has_focus_within)
        await pilot.press("end", *["backspace"] * 4, "6", "4")
        await until(pilot, lambda: app.laboratory.editable.value("problem.matrix.d") == 64)
        notices = [
            note.message for note in app._notifications if "No field uses the axis size" in note.message
        ]
        assert len(notices) == 1, "the second digit says nothing new"
        assert "its 17 values repeat the same experiment" in notices[0]


@pytest.mark.slow
async def test_the_sweep_key_runs_a_sweep_shows_its_law_and_can_be_undone():
    app = HadamardApp(small())
    async with opened(app, WIDE) as pilot:
        before = app.laboratory.editable.document
        await pilot.press("tilde", "f")
        await until(pilot, lambda: app.laboratory.session is not None and session_of(app).over)
        await until(pilot, lambda: "GD and least squares ∝ d^0.96" in screen_text(app))
        assert "matrix hadamard d 4…64" in screen_text(app)
        await pilot.press("u")
        await until(pilot, lambda: app.laboratory.editable.document == before)


@pytest.mark.set_up("filled")
@pytest.mark.slow
async def test_the_sweep_key_sweeps_the_number_under_the_cursor():
    app = HadamardApp(small())
    async with opened(app, WIDE) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        await until(pilot, lambda: setup.query(NumberEntry))
        entry = next(row for row in setup.query("FieldRow") if row.place == "run.seed").query_one(NumberEntry)
        entry.focus()
        await pilot.press("tilde")
        await until(pilot, lambda: app.laboratory.editable.raw["axes"])
        assert app.laboratory.editable.raw["axes"][0]["set"] == "run.seed"
        assert entry.value == "0", "the key types nothing"


@pytest.mark.set_up("empty")
async def test_a_sweep_hides_its_footer_key_and_explains_how_to_change_it():
    app = HadamardApp(small())
    async with opened(app, WIDE) as pilot:
        await until(pilot, lambda: "~ Sweep" in screen_text(app))
        await app.laboratory.present(swept(small(), "problem.matrix.d", True, "d"), run=False)
        await until(pilot, lambda: "~ Sweep" not in screen_text(app))
        await pilot.press("tilde")
        assert any(
            "already has a sweep axis: s opens the set-up" in note.message for note in app._notifications
        )
