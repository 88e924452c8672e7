"""Undo and redo revert and repeat changes of the set-up, and name them."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable

import pytest
from textual.widgets import Input

from engine.spec.fields import UNTAGGED
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.editing.history import History, shape
from hadamard_tui.state.state_file import KeptView
from hadamard_tui.tours import Stop, break_at, broken
from hadamard_tui.widgets.controls import Choice
from hadamard_tui.widgets.setup import LearnerForm, SetupPane

from .conftest import SMALL, WIDE, opened, until
from .test_setup import composed, listed, row_of

CHANGES: dict[tuple[str, str], Callable[[EditableExperiment], object]] = {
    ("GD: update.lr 1/(2d) → 0.1", "GD: update.lr 0.1 → 1/(2d)"): lambda it: it.put(
        "learners[0].update.lr", 0.1
    ),
    ("matrix.d 128 → 92", "matrix.d 92 → 128"): lambda it: it.put("problem.matrix.d", 92),
    ("matrix hadamard → gaussian", "matrix gaussian → hadamard"): lambda it: it.put(
        "problem.matrix.kind", "gaussian"
    ),
    ("run.seed 0 → 7", "run.seed 7 → 0"): lambda it: it.put("run.seed", 7),
    ("GD: noise none → sigma 0.1, on gradient", "GD: noise sigma 0.1, on gradient → none"): lambda it: it.put(
        "learners[0].noise", {"sigma": 0.1}
    ),
    ("GD 2 added", "GD 2 removed"): lambda it: it.copy_learner(0),
    ("EGU removed", "EGU added"): lambda it: it.remove_learner(2),
    ("EGU off", "EGU on"): lambda it: it.switch_learner(2),
    ("axis a added", "axis a removed"): lambda it: it.add("axes"),
    ("picture 1 added", "picture 1 removed"): lambda it: it.add("pictures"),
    ("claim EGU needs 21 examples added", "claim EGU needs 21 examples removed"): lambda it: it.raw[
        "claims"
    ].append({**it.raw["claims"][3], "text": "EGU needs 21 examples"}),
    (
        "least squares: architecture none → linear, least squares: update none → gd and 1 more",
        "least squares: architecture linear → none, least squares: update gd → none and 1 more",
    ): lambda it: it.put_method(1, "gradient"),
}
"""Changes of the set-up, by their descriptions when they are made again and when they are undone."""


@pytest.mark.parametrize("words", CHANGES)
def test_undo_and_redo_name_the_change(words: tuple[str, str]):
    editable = EditableExperiment.of("hadamard-128")
    before, history = editable.copied(), History(editable)
    assert history.undo() is None
    CHANGES[words](editable)
    history.record(editable)
    undone = history.undo()
    assert undone is not None
    redone_words, undone_words = words
    assert undone.change == undone_words
    assert (undone.editable.raw, undone.editable.off, undone.editable.error) == (before.raw, {}, None)
    assert history.undo() is None
    done = history.redo()
    assert done is not None
    assert done.change == redone_words
    assert (done.editable.raw, done.editable.off) == (editable.raw, editable.off)
    assert str(done.editable.error) == str(editable.error)
    assert history.redo() is None


def test_text_typed_in_one_field_is_one_change_until_the_field_is_left():
    editable = EditableExperiment.of("hadamard-128")
    history = History(editable)
    for d in ("", 6, 64):
        editable.put("problem.matrix.d", d)
        history.record(editable, "problem.matrix.d")
    history.pause()
    for d in (6, 64, 6, 32):
        editable.put("problem.matrix.d", d)
        history.record(editable, "problem.matrix.d")
    steps = [history.undo(), history.undo(), history.undo()]
    assert [step and step.change for step in steps] == ["matrix.d 32 → 64", "matrix.d 64 → 128", None]


def test_a_new_change_clears_the_redo_history():
    editable = EditableExperiment.of("hadamard-128")
    history = History(editable)
    for seed in (1, 2):
        editable.put("run.seed", seed)
        history.record(editable)
    step = history.undo()
    assert step is not None
    step.editable.put("run.seed", 3)
    history.record(step.editable)
    assert history.redo() is None
    step = history.undo()
    assert step is not None
    assert step.change == "run.seed 3 → 1"


def test_undo_stops_at_a_limit_until_it_is_lifted():
    editable = EditableExperiment.of("hadamard-128")
    history = History(editable)
    for seed in (1, 2, 3):
        editable.put("run.seed", seed)
        history.record(editable)
        if seed == 2:
            history.limit(True)
    steps = [history.undo(), history.undo()]
    assert [step and step.change for step in steps] == ["run.seed 3 → 2", None]
    history.limit(False)
    steps = [history.undo(), history.undo(), history.undo()]
    assert [step and step.change for step in steps] == ["run.seed 2 → 1", "run.seed 1 → 0", None]


def test_an_undo_limit_stays_at_its_state_when_old_states_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("hadamard_tui.editing.history.MOST", 3)
    editable = EditableExperiment.of("hadamard-128")
    history = History(editable)
    for seed in (1, 2, 3, 4):
        editable.put("run.seed", seed)
        history.record(editable)
        if seed == 2:
            history.limit(True)
    steps = [history.undo(), history.undo(), history.undo()]
    assert [step and step.change for step in steps] == ["run.seed 4 → 3", "run.seed 3 → 2", None]


def test_undo_names_a_break_by_its_change_without_claims():
    change = break_at("hadamard-128")
    assert change is not None
    history = History(EditableExperiment.of("hadamard-128"))
    history.record(EditableExperiment(broken(Stop("hadamard-128"), change), "hadamard-128"))
    step = history.undo()
    assert step is not None
    assert step.change == "GD: update p-norm → gd"


def test_a_missing_value_does_not_change_the_shape_of_the_form():
    editable = EditableExperiment.of("hadamard-128")
    editable.put_kind("learners[0].clip", UNTAGGED)
    without = shape(editable.raw)
    editable.put("learners[0].clip.norm", 0.1)
    assert shape(editable.raw) == without
    editable.put_kind("learners[0].clip", None)
    assert shape(editable.raw) != without


def told(app: HadamardApp) -> list[str]:
    return [notice.message for notice in app._notifications]


@pytest.mark.slow
async def test_u_undoes_changes_also_with_a_hidden_set_up(editable: EditableExperiment):
    before, app = copy.deepcopy(editable.raw), HadamardApp(editable, view=KeptView(setup_hidden=True))
    async with opened(app, SMALL) as pilot:
        await pilot.press("u")
        await until(pilot, lambda: told(app) == ["There is nothing to undo."])
        await pilot.press("d", "A", "o")
        assert app.laboratory.query_one(SetupPane).editable.experiment.run.seed == 1
        await pilot.press("u", "u", "u")
        await until(pilot, lambda: app.laboratory.editable.raw == before)
        assert told(app)[-3:] == ["Undo: GD 2 on", "Undo: run.seed 1 → 0", "Undo: GD 2 removed"]
        await pilot.press("ctrl+r")
        await until(pilot, lambda: len(app.laboratory.editable.learners) == 6)
        assert told(app)[-1] == "Redo: GD 2 added"


@pytest.mark.slow
async def test_fields_show_undone_and_redone_values(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        row = row_of(app, "problem.matrix.d")
        row.query_one(Input).focus()
        await pilot.press("backspace", "backspace", "9", "2", "escape")
        await until(pilot, lambda: row.has_class("-wrong"))
        row_of(app, "problem.labels").query_one(Choice).value = "sign"
        await until(pilot, lambda: setup.editable.value("problem.labels") == "sign")
        await pilot.press("u", "u")
        await until(pilot, lambda: row.query_one(Input).value == "16" and not row.has_class("-wrong"))
        assert row.is_attached
        assert row_of(app, "problem.labels").query_one(Choice).value == "soft"
        assert told(app)[-1] == "Undo: matrix.d 92 → 16"
        row.query_one(Input).focus()
        await pilot.press("ctrl+r")
        await until(pilot, lambda: row.query_one(Input).value == "92")
        assert row.query_one(Input).has_focus


@pytest.mark.slow
async def test_panels_follow_undo_and_redo(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("right_square_bracket", "a")
        await until(pilot, lambda: composed(app, "learners[2].name"))
        row_of(app, "learners[2].update.kind").query_one(Choice).value = "egu"
        await until(pilot, lambda: "egu" in listed(app)[2])
        await pilot.press("u", "u")
        await until(pilot, lambda: len(listed(app)) == 5)
        await until(pilot, lambda: app.laboratory.query_one(LearnerForm).number == 1)
        await until(pilot, lambda: composed(app, "run.device"))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "F GD 2  linear · gd" in listed(app)[2])


async def test_a_learner_can_be_selected_before_its_set_up_is_shown(app: HadamardApp):
    async with opened(app, (140, 60)):
        setup = app.laboratory.query_one(SetupPane)
        more = copy.deepcopy(setup.editable)
        last = more.copy_learner(len(more.learners) - 1)
        async with setup._making:
            going = asyncio.create_task(setup.show(more, last))
            await asyncio.sleep(0.05)
            assert setup.learner == last
            app.laboratory._draw_frame()
        await going


async def test_selecting_a_missing_learner_selects_the_last_learner(app: HadamardApp):
    async with opened(app, (140, 60)) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        last = len(setup.editable.learners) - 1
        setup.pick(last + 1)
        await until(pilot, lambda: [form.number for form in setup.query(LearnerForm)] == [last])
