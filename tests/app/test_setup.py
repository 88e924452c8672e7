"""The set-up panels: forms from Structs, choices, messages by the fields, several learners."""

from __future__ import annotations

import asyncio
import copy
import threading
from pathlib import Path
from typing import Any

import crossing
import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Button, Checkbox, Input, OptionList, Static

from engine.core import catalogue
from engine.learners.learner import Learner
from engine.problems import table
from engine.spec import presets
from engine.spec.fields import fields_of
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.widgets.controls import Choice, Lines
from hadamard_tui.widgets.form import Edited, FieldRow, Fields, More, OptionalPart, PartForm, Row
from hadamard_tui.widgets.item_lists import ItemList, LearnerList
from hadamard_tui.widgets.setup import OWN, LearnerForm, SetupPane

from .conftest import SMALL, WIDE, opened, until
from .test_haste import post
from .test_runs import screen_text


def row_of(app: HadamardApp, place: str) -> Row:
    return next(row for row in app.laboratory.query_one(SetupPane).query(Row) if row.place == place)


def places(app: HadamardApp) -> set[str]:
    return {row.place for row in app.laboratory.query_one(SetupPane).query(Row)}


def composed(app: HadamardApp, place: str) -> bool:
    """Whether the row of a place exists with its control."""
    return place in places(app) and len(row_of(app, place).query("Input, Choice, Checkbox")) > 0


PARTS = {
    "problem.matrix": "matrices",
    "problem.target": "targets",
    "learners[0].architecture": "architectures",
    "learners[0].update": "updates",
    "protocol": "protocols",
}


def wanted(place: str, kind: str) -> set[str]:
    """Places of the rows that a part must have."""
    part = catalogue.members(PARTS[place])[kind]
    often = (field for field in fields_of(part) if not field.seldom)
    inner = (f"{field.name}.kind" if field.members else field.name for field in often)
    return {f"{place}.{name}" for name in ("kind", *inner)}


@pytest.mark.slow
async def test_choosing_a_kind_shows_the_fields_of_its_struct(app: HadamardApp):
    async with opened(app, (140, 60)) as pilot:
        for place, family in PARTS.items():
            kind = list(catalogue.members(family))[-1]
            row_of(app, f"{place}.kind").query_one(Choice).value = kind
            rows = wanted(place, kind)
            await until(pilot, lambda: {p for p in places(app) if p.startswith(f"{place}.")} == rows)  # noqa: B023


def of_every_sort(family: str) -> list[str]:
    """A few kinds of a family that cover every sort of field."""
    return crossing.covering_names(
        {
            kind: {f"{field.kind} {field.optional} {field.seldom}": True for field in fields_of(part)}
            for kind, part in catalogue.members(family).items()
        }
    )


@pytest.mark.parametrize("place", PARTS)
async def test_choosing_another_kind_rebuilds_the_form_of_a_part(editable: EditableExperiment, place: str):
    family = PARTS[place]
    form = PartForm(place, "part", family, editable.value(place))
    host: App[None] = App()
    async with host.run_test():
        await host.mount(form)
        for kind in of_every_sort(family):
            editable.put(f"{place}.kind", kind)
            await form.rebuild(editable.value(place))
            assert {row.place for row in form.query(Row)} == wanted(place, kind)


async def test_a_closed_choice_is_a_single_widget():
    app: App[None] = App()
    async with app.run_test() as pilot:
        await app.mount(choice := Choice([("a", "a"), ("[b]", "b")], value="b"))
        assert not choice.children
        assert choice.value == "b"
        choice.focus()
        await pilot.press("enter")
        await until(pilot, lambda: choice.query("Offered:focus"))
        assert choice.query_one(OptionList).highlighted == 1
        assert choice.query_one(OptionList).region.y == choice.region.bottom, "the choice stays in sight"
        await pilot.press("up", "enter")
        await until(pilot, lambda: choice.value == "a" and choice.has_focus and not choice.expanded)


async def test_typed_letters_open_a_list_at_their_match_and_enter_selects_it():
    app: App[None] = App()
    async with app.run_test() as pilot:
        names = ("gd", "egu", "e-gd", "adam")
        await app.mount(choice := Choice([(name, name) for name in names], value="gd"))
        choice.focus()
        await pilot.press("e", "-")
        await until(pilot, lambda: choice.query("Offered:focus"))
        assert choice.value == "gd"
        assert choice.query_one(OptionList).highlighted == 2
        await pilot.press("enter")
        await until(pilot, lambda: choice.value == "e-gd" and choice.has_focus)


async def test_a_choice_ignores_a_value_outside_its_options():
    app: App[None] = App()
    async with app.run_test():
        (field,) = (
            candidate
            for candidate in fields_of(catalogue.members("matrices")["xor"])
            if candidate.name == "features"
        )
        await app.mount(row := FieldRow("problem.matrix.features", field, "products"))
        row.follow("")
        assert row.query_one(Choice).value == "products"
        row.follow("bits")
        assert row.query_one(Choice).value == "bits"


@pytest.mark.slow
async def test_a_data_file_is_read_outside_the_main_thread(
    app: HadamardApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    threads: list[threading.Thread] = []
    read = table._read_table

    def watched(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return read(*arguments)

    monkeypatch.setattr(table, "_read_table", watched)
    (file := tmp_path / "X.csv").write_text("1,0,1\n0,0,0\n1,1,1\n")
    async with opened(app, WIDE) as pilot:
        row_of(app, "problem.matrix.kind").query_one(Choice).value = "file"
        await until(pilot, lambda: composed(app, "problem.matrix.path"))
        row_of(app, "problem.matrix.path").query_one(Input).value = str(file)
        await until(pilot, lambda: app.laboratory.editable.value("problem.matrix.path") == str(file))
        row_of(app, "problem.matrix.label").query_one(Input).value = "2"
        await until(pilot, lambda: app.laboratory.editable.value("problem.matrix.label") == 2)
        assert len(threads) > 1
        assert threading.main_thread() not in threads


@pytest.mark.slow
async def test_keys_in_a_closed_list_change_no_learners(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        before = copy.deepcopy(app.laboratory.editable.raw)
        row_of(app, "problem.matrix.kind").query_one(Choice).focus()
        for key in ("delete", "o", "escape", "d", "escape", "a", "escape"):
            await pilot.press(key)
        assert app.laboratory.editable.raw == before
        app.laboratory.query_one("#preset").focus()
        await pilot.press("s")
        await until(pilot, lambda: not app.laboratory.query_one(SetupPane).display)


async def test_a_list_shows_items_set_before_it_is_mounted(editable: EditableExperiment):
    async with App[None]().run_test() as pilot:
        items = ItemList("axes")
        editable.put("axes", [{"name": "alpha", "values": [1, 2]}])
        mounted = pilot.app.mount(items)
        items.show(editable)
        await mounted
        assert items.query_one(OptionList).option_count == 1


async def test_an_unmounted_choice_stays_closed():
    async with App[None]().run_test() as pilot:
        choice = Choice([("a", "a"), ("b", "b")], value="b")
        await choice.action_show_list()
        assert not choice.expanded
        mounted = pilot.app.mount(choice)
        await choice.action_show_list()
        await mounted
        await choice.action_show_list()
        await until(pilot, lambda: choice.query("Offered:focus"))
        await choice.remove()
        await choice.action_show_list()


async def test_a_choice_shows_its_value_and_the_direction_of_its_list():
    host: App[None] = App()
    async with host.run_test(size=(20, 10)) as pilot:
        choice = Choice([("a", "a"), ("[b]", "b")], value="b")
        await host.mount(choice)
        await until(pilot, lambda: screen_text(host).startswith("[b]") and "▼" in screen_text(host))
        choice.value = "a"
        await until(pilot, lambda: screen_text(host).startswith("a "))
        choice.expanded = True
        await until(pilot, lambda: "▲" in screen_text(host) and "▼" not in screen_text(host))


async def test_a_choice_reports_a_new_selection_but_not_its_initial_one():
    told: list[object] = []

    class Listening(App[None]):
        def on_choice_changed(self, event: Choice.Changed) -> None:
            told.append(event.value)

    app = Listening()
    async with app.run_test() as pilot:
        await app.mount(choice := Choice([("a", "a"), ("b", "b")], value="b"))
        await pilot.pause()
        for value in ("a", "b", "b"):
            choice.value = value
            await pilot.pause()
    assert told == ["a", "b"]


@pytest.mark.slow
async def test_mounting_fields_reports_no_edit(app: HadamardApp, monkeypatch: pytest.MonkeyPatch):
    told: list[str] = []
    listen = Edited.__init__

    def heard(self: Edited, row: Row, value: object) -> None:
        told.append(row.place)
        listen(self, row, value)

    monkeypatch.setattr(Edited, "__init__", heard)
    async with opened(app, WIDE) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        for number in reversed(range(len(setup.editable.learners))):
            setup.pick(number)
            await until(pilot, lambda number=number: setup.query_one(LearnerForm).number == number)
            await pilot.pause(0.05)
        assert told == []
        row_of(app, "run.seed").query_one(Input).value = "7"
        await until(pilot, lambda: setup.editable.experiment.run.seed == 7)
        assert told == ["run.seed"]


@pytest.mark.slow
async def test_fields_show_their_help_and_their_errors(app: HadamardApp):
    """All facts on one app, because opening it with all fields takes longer than checking a fact."""
    async with opened(app, WIDE) as pilot:
        for fact in (
            the_field_being_edited_shows_its_help,
            a_flag_is_a_check_box_and_says_its_value_without_colour,
            a_wrong_value_is_explained_by_its_field_and_its_correction_clears_it,
            text_in_a_number_field_is_refused_in_words,
            a_combination_that_makes_no_sense_is_refused_with_its_reason,
            the_help_of_a_choice_follows_the_choice,
            a_file_without_a_path_is_asked_for_by_the_field,
        ):
            await fact(app, pilot)


def help_of(row: Row) -> str:
    """Visible help below a control."""
    return " ".join(str(line.render()) for line in row.query(".help").results(Static) if line.display)


async def the_field_being_edited_shows_its_help(app: HadamardApp, pilot: Pilot[None]):
    row = row_of(app, "problem.matrix.d")
    assert help_of(row) == ""
    row.query_one(Input).focus()
    await until(pilot, lambda: "number of features and of rows" in help_of(row))
    app.laboratory.set_focus(None)
    await until(pilot, lambda: help_of(row) == "")


async def a_flag_is_a_check_box_and_says_its_value_without_colour(app: HadamardApp, pilot: Pilot[None]):
    flag = row_of(app, "problem.matrix.row_signs").query_one(Checkbox)
    for value, word in ((False, "no"), (True, "yes")):
        assert word not in str(flag.label)
        flag.toggle()
        await until(
            pilot, lambda value=value: app.laboratory.editable.value("problem.matrix.row_signs") is value
        )
        await until(pilot, lambda word=word: word in str(flag.label))


async def a_wrong_value_is_explained_by_its_field_and_its_correction_clears_it(
    app: HadamardApp, pilot: Pilot[None]
):
    row = row_of(app, "problem.matrix.d")
    row.query_one(Input).value = "92"
    await until(pilot, lambda: row.has_class("-wrong"))
    assert "take 88 or 96" in str(row.query_one(".problem", Static).render())
    await pilot.press("r")
    await pilot.pause(0.1)
    assert app.laboratory.session is None
    row.query_one(Input).value = "64"
    await until(pilot, lambda: not row.has_class("-wrong"))
    assert app.laboratory.editable.experiment.problem.matrix.shape() == (64, 64)


async def text_in_a_number_field_is_refused_in_words(app: HadamardApp, pilot: Pilot[None]):
    row = row_of(app, "run.seed")
    row.query_one(Input).value = "soon"
    await until(pilot, lambda: row.has_class("-wrong"))
    assert "whole number" in str(row.query_one(".problem", Static).render())
    row.query_one(Input).value = "1"
    await until(pilot, lambda: not row.has_class("-wrong"))


async def a_combination_that_makes_no_sense_is_refused_with_its_reason(app: HadamardApp, pilot: Pilot[None]):
    row_of(app, "learners[0].update.kind").query_one(Choice).value = "egu"
    row = row_of(app, "learners[0].architecture.kind")
    row.query_one(Choice).value = "dense"
    await until(pilot, lambda: row_of(app, "learners[0].update.kind").has_class("-wrong"))
    wrong = row_of(app, "learners[0].update.kind")
    assert "trains only the linear neuron" in str(wrong.query_one(".problem", Static).render())
    row_of(app, "learners[0].architecture.kind").query_one(Choice).value = "linear"
    await until(pilot, lambda: app.laboratory.editable.error is None)


async def the_help_of_a_choice_follows_the_choice(app: HadamardApp, pilot: Pilot[None]):
    row = row_of(app, "problem.matrix.kind")
    row.query_one(Choice).focus()
    await until(pilot, lambda: "Hadamard" in help_of(row))
    row.query_one(Choice).value = "gaussian"
    await until(pilot, lambda: "Gaussian" in help_of(row))


async def a_file_without_a_path_is_asked_for_by_the_field(app: HadamardApp, pilot: Pilot[None]):
    row_of(app, "problem.matrix.kind").query_one(Choice).value = "file"
    await until(pilot, lambda: "problem.matrix.path" in places(app))
    await until(pilot, lambda: row_of(app, "problem.matrix.path").has_class("-wrong"))
    await until(pilot, lambda: composed(app, "problem.matrix.path"))


@pytest.mark.slow
async def test_the_list_of_learners_and_their_fields_stay_in_sync(app: HadamardApp):
    """All facts on one app."""
    async with opened(app, WIDE) as pilot:
        for fact in (
            learners_picked_quickly_leave_only_the_fields_of_the_last,
            the_list_selects_with_the_arrows_and_enter_goes_to_the_fields,
            a_refused_learner_is_marked_in_the_list_and_named_with_the_reason,
        ):
            await fact(app, pilot)


async def learners_picked_quickly_leave_only_the_fields_of_the_last(app: HadamardApp, pilot: Pilot[None]):
    for _ in range(8):
        app.simulate_key("right_square_bracket")
    await until(pilot, lambda: composed(app, "learners[3].name"))
    await until(pilot, lambda: [form.number for form in app.laboratory.query(LearnerForm)] == [3])
    assert app.laboratory.query_one(LearnerList).highlighted == 3


async def the_list_selects_with_the_arrows_and_enter_goes_to_the_fields(app: HadamardApp, pilot: Pilot[None]):
    learners = app.laboratory.query_one(LearnerList)
    learners.focus()
    await pilot.press("up", "up", "down")
    await until(pilot, lambda: composed(app, "learners[2].name"))
    await pilot.press("enter")
    await until(pilot, lambda: app.focused in row_of(app, "learners[2].name").query(Input))


async def a_refused_learner_is_marked_in_the_list_and_named_with_the_reason(
    app: HadamardApp, pilot: Pilot[None]
):
    app.laboratory.set_focus(None)
    app.laboratory.editable.switch_learner(0)
    row_of(app, "learners[2].architecture.kind").query_one(Choice).value = "dense"
    await until(pilot, lambda: listed(app)[2].startswith("▲ "))
    assert app.laboratory.editable.error is not None
    assert app.laboratory.editable.error.where == "learners[2].update"
    await pilot.press("left_square_bracket")
    elsewhere = app.laboratory.query_one("#elsewhere", Static)
    await until(pilot, lambda: elsewhere.display and "EGU" in str(elsewhere.render()))


async def test_choosing_a_preset_loads_its_complete_experiment(app: HadamardApp):
    names = ["edge-of-stability", "hard-64"]
    if crossing.all_combinations:
        names = list(
            {presets.load(preset_name).protocol.kind: preset_name for preset_name in presets.names()}.values()
        )
    async with opened(app, WIDE) as pilot:
        for name in names:
            app.laboratory.query_one("#preset", Choice).value = name
            await until(pilot, lambda name=name: app.laboratory._editable.preset == name)
            assert app.laboratory._editable.experiment == presets.load(name)
            await until(pilot, lambda: composed(app, "run.replicas"))


@pytest.mark.slow
async def test_learners_can_be_changed_copied_renamed_and_removed_except_the_last(app: HadamardApp):
    async with opened(app, (140, 60)) as pilot:
        editable = app.laboratory._editable
        for method, place in (("solver", "learners[0].solver.kind"), ("gradient", "learners[0].update.kind")):
            app.laboratory.query_one("#method", Choice).value = method
            await until(
                pilot,
                lambda place=place: len(app.laboratory.query("LearnerForm")) == 1 and composed(app, place),
            )
            assert (editable.experiment.learners[0].solver is not None) == (method == "solver")
        count = len(editable.learners)
        app.laboratory.query_one("#copy", Button).press()
        await until(pilot, lambda: len(editable.learners) == count + 1)
        assert editable.experiment.learners[1].name == "GD 2"
        await until(pilot, lambda: composed(app, "learners[1].name"))
        row_of(app, "learners[1].name").query_one(Input).value = "slow GD"
        await until(pilot, lambda: editable.experiment.learners[1].name == "slow GD")
        for remaining in range(count, 0, -1):
            app.laboratory.query_one("#remove", Button).press()
            await until(pilot, lambda remaining=remaining: len(editable.learners) == remaining)
        app.laboratory.query_one("#remove", Button).press()
        await pilot.pause(0.1)
        assert len(editable.learners) == 1


@pytest.mark.set_up("empty")
@pytest.mark.slow
async def test_the_set_up_is_a_drawer_on_a_small_screen(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        assert not setup.display
        await pilot.press("s")
        await pilot.pause(0.1)
        assert setup.display
        await pilot.press("escape")
        await pilot.pause(0.1)
        assert not setup.display


@pytest.mark.set_up("empty")
async def test_the_set_up_is_docked_on_a_wide_screen_and_can_be_hidden(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        assert setup.display
        await pilot.press("s")
        await pilot.pause(0.1)
        assert not setup.display


async def test_restoring_a_value_restores_the_claims():
    editable = EditableExperiment.of("hadamard-128")
    editable.put("problem.matrix.d", 64)
    assert editable.changed
    editable.put("problem.matrix.d", 128)
    assert not editable.changed
    assert editable.experiment.claims


@pytest.mark.slow
async def test_keys_work_while_the_set_up_is_replaced(app: HadamardApp):
    async with opened(app, WIDE):
        setup = app.laboratory.query_one(SetupPane)
        showing = asyncio.create_task(setup.show(EditableExperiment.of("hadamard-128")))
        while not showing.done():
            setup.enter()
            await setup.switch()
            await asyncio.sleep(0)
        assert setup.query("#preset")


@pytest.mark.slow
async def test_text_typed_for_a_removed_learner_changes_no_other_learner(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        setup, count = app.laboratory.query_one(SetupPane), len(app.laboratory.editable.learners)
        for learner in (0, count - 2):  # the last one, once the first is removed
            setup.pick(learner)
            await until(pilot, lambda learner=learner: composed(app, f"learners[{learner}].name"))
            row = row_of(app, f"learners[{learner}].name")
            removing = asyncio.create_task(setup.remove_learner())
            await asyncio.sleep(0)
            await setup._field_edited(Edited(row, "another name"))
            await removing
            assert app.failure is None
            assert "another name" not in [values["name"] for values in setup.editable.learners]


@pytest.mark.slow
async def test_changes_of_many_keys_at_once_are_drawn_once(app: HadamardApp, monkeypatch: pytest.MonkeyPatch):
    calls: list[str] = []

    def counted(of: type[object], name: str) -> None:
        method = getattr(of, name)
        monkeypatch.setattr(of, name, lambda *words: (calls.append(name), method(*words))[1])

    async with opened(app, WIDE) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        count = len(setup.editable.learners)
        counted(LearnerForm, "compose")
        counted(SetupPane, "show_list")
        for keys, expected in ((8 * "d", count + 8), (8 * "u", count)):
            calls.clear()
            post(app, *keys)
            await until(pilot, lambda expected=expected: len(setup.editable.learners) == expected)  # type: ignore[misc]
            assert calls.count("compose") <= 3
            assert calls.count("show_list") <= 5
            assert setup.query_one(LearnerForm).number == setup.learner
            assert places(app) >= {f"learners[{setup.learner}].name", "run.seed"}
            assert len(listed(app)) == expected


@pytest.mark.slow
async def test_showing_a_rate_of_many_digits_does_not_change_it():
    editable = EditableExperiment(
        presets.load("hadamard-128", ["learners.GD.update.lr=0.3333333333333333"]), None
    )
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        await until(pilot, lambda: composed(app, "learners[0].update.lr"))
        await pilot.pause(0.2)
        assert editable.experiment.claims
        assert not editable.changed


def listed(app: HadamardApp) -> list[str]:
    """Lines of the list of learners."""
    options = app.laboratory.query_one(LearnerList).options
    return [str(option.prompt) for option in options]


@pytest.mark.slow
async def test_learners_are_added_copied_switched_and_removed_with_keys(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        editable = app.laboratory.editable
        await pilot.press("right_square_bracket", "d")
        await until(pilot, lambda: "least squares 2" in listed(app)[2])
        assert [learner.name for learner in editable.experiment.learners][1:3] == [
            "least squares",
            "least squares 2",
        ]
        await pilot.press("a")
        await until(pilot, lambda: listed(app)[3].startswith("G GD 2  linear · gd"))
        await pilot.press("o")
        await until(pilot, lambda: listed(app)[3].startswith("○ GD 2  off, linear · gd"))
        assert "GD 2" not in [learner.name for learner in editable.experiment.learners]
        assert listed(app)[4].startswith("C ")
        await pilot.press("o")
        await until(pilot, lambda: listed(app)[3].startswith("G "))
        assert editable.experiment.learners[3].name == "GD 2"
        await pilot.press("delete", "delete")
        await until(pilot, lambda: len(listed(app)) == 5)
        assert "GD 2" not in [learner.name for learner in editable.experiment.learners]


@pytest.mark.slow
async def test_the_last_running_learner_is_neither_removed_nor_switched_off(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        editable = app.laboratory.editable
        for _ in range(len(editable.learners) - 1):
            await pilot.press("o", "right_square_bracket")
        for key in ("o", "delete"):
            app.clear_notifications()
            await pilot.press(key)
            await until(pilot, lambda: len(app._notifications) == 1)
        assert len(editable.experiment.learners) == 1
        assert len(editable.learners) == 5


@pytest.mark.slow
async def test_inactive_learners_are_restored_with_the_set_up(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("right_square_bracket", "o", "q")
    memory = app.memory
    again = EditableExperiment(memory.experiment or {}, memory.preset, memory.off)
    assert [values["name"] for values in again.learners] == ["GD", "least squares", "EGU", "EGU±", "spindly"]
    assert again.place_in_run(1) is None
    assert again.switch_learner(1)
    assert again.experiment.learners[1].name == "least squares"


@pytest.mark.slow
async def test_a_changed_preset_is_marked_and_choosing_it_again_restores_its_expressions():
    app = HadamardApp(EditableExperiment.of("hadamard-128"))
    async with opened(app, WIDE) as pilot:
        select = app.laboratory.query_one("#preset", Choice)
        row_of(app, "problem.matrix.d").query_one(Input).value = "64"
        await until(pilot, lambda: select.value == OWN)
        assert app.laboratory._editable.experiment.claims
        select.value = "hadamard-128"
        await until(pilot, lambda: app.laboratory._editable.experiment == presets.load("hadamard-128"))
        await until(pilot, lambda: composed(app, "run.replicas"))
        await a_field_shows_an_expression_and_what_it_comes_to_with_another_d(app, pilot)


async def a_field_shows_an_expression_and_what_it_comes_to_with_another_d(
    app: HadamardApp, pilot: Pilot[None]
):
    row = row_of(app, "learners[0].update.lr")
    await until(pilot, lambda: row.value_text == "= 0.00390625")
    assert row.query_one(Input).value == "1/(2d)"
    row_of(app, "problem.matrix.d").query_one(Input).value = "2^6"
    await until(pilot, lambda: row.value_text == "= 0.0078125")
    assert row_of(app, "problem.matrix.d").value_text == "= 64"
    assert app.laboratory.editable.experiment.title == "hadamard-128: matrix.d 128 → 2^6"
    row.query_one(Input).value = "1/(2d), 1/x"
    await until(pilot, lambda: "'x' is unknown" in shown(row, ".problem"))
    assert row.value_text == ""
    row.query_one(Input).value = "1/(2d), 1/d"
    await until(pilot, lambda: row.value_text == "= 0.0078125, 0.015625")
    assert app.laboratory.editable.document["learners"][0]["update"]["lr"] == ["1/(2d)", "1/d"]


def shown(row: Row, kind: str) -> str:
    """Text of a row below its control."""
    return "".join(str(line.render()) for line in row.query(kind).results(Static))


async def test_a_row_accepts_values_and_errors_before_it_is_composed():
    app: App[None] = App()
    async with app.run_test(size=SMALL) as pilot:
        row = Row("run.seed", "seed", "help", Static(), 0)
        row.say_value(3.0)
        row.complain("too large")
        app.mount(row)
        row.say_value(3.0)
        row.complain("too large")
        await until(pilot, lambda: row.is_mounted)
        await until(pilot, lambda: "= 3" in screen_text(app))


def test_an_expression_of_equal_value_keeps_the_claims_and_its_text():
    editable = EditableExperiment.of("hadamard-128")
    editable.put("learners[0].update.lr", "0.5/d")
    assert editable.changed
    assert editable.experiment == presets.load("hadamard-128")
    assert editable.document["learners"][0]["update"]["lr"] == "0.5/d"
    assert editable.document["claims"] == presets.document("hadamard-128")["claims"]
    editable.put("learners[0].update.lr", "1/(2d)")
    assert not editable.changed


def test_expressions_have_values_only_for_active_learners():
    editable = EditableExperiment.of("hadamard-128-weights")
    editable.copy_learner(0)
    editable.switch_learner(0)
    places = [f"learners[{number}].update.lr" for number in range(3)]
    assert [editable.number(place) for place in places] == [None, 1 / 256, None]


def test_a_set_up_equal_to_a_preset_is_recognized_without_its_expressions():
    editable = EditableExperiment(presets.load("hadamard-128"), "hadamard-128")
    assert not editable.changed
    assert editable.document == presets.document("hadamard-128")


def lines_of(app: HadamardApp, part: str) -> list[str]:
    """Lines of the set-up about axes, pictures or claims."""
    lines = app.laboratory.query_one(f"#{part}-list", Lines)
    return [str(option.prompt) for option in lines.options]


@pytest.mark.slow
async def test_the_form_of_an_axis_changes_its_name_and_values():
    app = HadamardApp(EditableExperiment.of("edge-of-stability"))
    async with opened(app, (140, 100)) as pilot:
        editable, axes = app.laboratory.editable, app.laboratory.query_one("#axes-list", Lines)
        assert lines_of(app, "axes") == ["▸ eta: 0.05, 0.1, 0.2, 0.3"]
        axes.focus()
        await until(pilot, lambda: app.focused is axes)
        await pilot.press("down", "enter")
        await until(pilot, lambda: composed(app, "axes[0].values"))
        row_of(app, "axes[0].name").query_one(Input).value = "rate"
        await until(pilot, lambda: lines_of(app, "axes") == ["▾ rate: 0.05, 0.1, 0.2, 0.3"])
        assert row_of(app, "learners[0].update.lr").query_one(Input).value == "rate"
        assert row_of(app, "learners[0].update.lr").value_text == "= 0.05"
        row_of(app, "axes[0].values").query_one(Input).value = "0.05, 0.1, fast"
        await until(
            pilot, lambda: "only an axis with set" in shown(row_of(app, "axes[0].values"), ".problem")
        )
        assert lines_of(app, "axes")[0].startswith("▲ ")
        app.laboratory.query_one("#given-by", Choice).value = "range"
        await until(pilot, lambda: composed(app, "axes[0].points"))
        row_of(app, "axes[0].from").query_one(Input).value = "0.1"
        row_of(app, "axes[0].to").query_one(Input).value = "0.2"
        await until(pilot, lambda: editable.document["axes"][0]["to"] == 0.2)
        assert editable.error is None
        assert [point.names["rate"] for point in editable.sweep().points] == [0.1, 0.15, 0.2]
        await until(pilot, lambda: any(line.startswith("▲ left out: ") for line in lines_of(app, "claims")))


@pytest.mark.slow
async def test_a_picture_is_added_edited_and_removed_in_its_list(app: HadamardApp):
    async with opened(app, (140, 120)) as pilot:
        editable, setup = app.laboratory.editable, app.laboratory.query_one(SetupPane)
        app.laboratory.query_one("#pictures-items .add", Button).press()
        await until(pilot, lambda: composed(app, "pictures[0].measure.kind"))
        await until(pilot, lambda: lines_of(app, "pictures") == ["▾ loss against k"])
        row_of(app, "pictures[0].measure.kind").query_one(Choice).value = "error"
        row_of(app, "pictures[0].y_log").query_one(Choice).value = "yes"
        row_of(app, "pictures[0].x").query_one(Input).value = "m"
        await until(pilot, lambda: "there is no 'm'" in shown(row_of(app, "pictures[0].x"), ".problem"))
        row_of(app, "pictures[0].x").query_one(Input).value = "k/d"
        await until(pilot, lambda: lines_of(app, "pictures") == ["▾ error against k/d"])
        (picture,) = editable.experiment.pictures
        assert (picture.measure.kind, picture.x, picture.y_log) == ("error", "k/d", True)
        app.laboratory.query_one("#pictures-list", Lines).focus()
        await pilot.press("delete")
        await until(pilot, lambda: not lines_of(app, "pictures"))
        assert not editable.experiment.pictures
        assert not setup.query("ItemForm")


@pytest.mark.slow
async def test_the_form_of_a_left_out_claim_gives_the_reason_at_its_field(app: HadamardApp):
    async with opened(app, (140, 120)) as pilot:
        app.laboratory.query_one("#claims-items .add", Button).press()
        await until(pilot, lambda: composed(app, "claims[0].at"))
        row_of(app, "claims[0].at").query_one(Input).value = "2d"
        await until(pilot, lambda: "past the end" in shown(row_of(app, "claims[0].at"), ".problem"))
        assert app.laboratory.editable.error is None
        (line,) = lines_of(app, "claims")
        assert line.startswith("▲ left out: The loss is small at the end – 32 is past the end")
        row_of(app, "claims[0].at").query_one(Input).value = "d"
        await until(pilot, lambda: bool(app.laboratory.editable.experiment.claims))
        await until(pilot, lambda: not row_of(app, "claims[0].at").has_class("-wrong"))


@pytest.mark.set_up("empty")
async def test_showing_a_set_up_twice_at_once_fills_it_once(app: HadamardApp):
    async with opened(app, (140, 60)) as pilot:
        setup = app.laboratory.query_one(SetupPane)
        await asyncio.gather(setup.fill(), setup.fill())
        await until(pilot, lambda: composed(app, "problem.matrix.d"))
        assert len(setup.query("#preset")) == 1


@pytest.mark.set_up("empty")
@pytest.mark.slow
async def test_choosing_a_preset_during_composition_shows_the_chosen_preset(app: HadamardApp):
    async with opened(app, (140, 60)):
        setup = app.laboratory.query_one(SetupPane)
        other = EditableExperiment(presets.load("hard-64"), "hard-64")
        await asyncio.gather(setup.fill(), setup.show(other))
        assert row_of(app, "problem.matrix.d").query_one(Input).value == str(other.value("problem.matrix.d"))


@pytest.mark.slow
async def test_rare_fields_are_mounted_on_demand_and_stay_visible_once_set():
    app = HadamardApp(EditableExperiment.of("hadamard-128"))
    async with opened(app, (140, 90)) as pilot:
        editable, setup = app.laboratory.editable, app.laboratory.query_one(SetupPane)
        assert not {place for place in places(app) if "noise" in place.removeprefix("problem.noise")}
        setup.query_one(LearnerForm).query_one(More).focus()
        await pilot.press("enter")
        await until(pilot, lambda: composed(app, "learners[0].where"))
        row_of(app, "learners[0].noise.kind").query_one(Checkbox).toggle()
        await until(pilot, lambda: composed(app, "learners[0].noise.on"))
        sigma = row_of(app, "learners[0].noise.sigma")
        await until(pilot, lambda: shown(sigma, ".problem") == "▲ missing")
        sigma.query_one(Input).value = "1/d"
        await until(pilot, lambda: sigma.value_text == "= 0.0078125")
        row_of(app, "learners[0].schedule.kind").query_one(Choice).value = "constant"
        await until(pilot, lambda: composed(app, "learners[0].schedule.warm_up"))
        row_of(app, "learners[0].role").query_one(Choice).value = "reference"
        await until(pilot, lambda: editable.experiment.learners[0].role == "reference")
        assert editable.document["learners"][0]["noise"] == {"sigma": "1/d", "on": "gradient"}
        assert editable.document["learners"][0]["schedule"] == {"kind": "constant", "warm_up": 0}
        more = setup.query_one(LearnerForm).query_one(More)
        more.focus()
        await pilot.press("enter")
        await until(pilot, lambda: "learners[0].noise.sigma" not in places(app))
        await pilot.press("escape", "right_square_bracket", "left_square_bracket")
        await until(pilot, lambda: not more.is_attached and composed(app, "learners[0].noise.sigma"))
        assert row_of(app, "learners[0].noise.sigma").query_one(Input).value == "1/d"
        assert "learners[0].schedule.warm_up" in places(app)
        assert "noise" not in str(setup.query_one(LearnerForm).query_one(More).render())


async def test_another_preset_selects_its_first_learner_and_a_change_keeps_the_selection(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        laboratory, setup = app.laboratory, app.laboratory.query_one(SetupPane)
        await pilot.press("right_square_bracket", "right_square_bracket")
        await until(pilot, lambda: setup.learner == 2)
        await laboratory.present(EditableExperiment.of("hadamard-128"), run=False)
        assert setup.learner == 2
        await laboratory.present(EditableExperiment.of("rotated-128"), run=False)
        assert setup.learner == 0


async def test_opening_rare_fields_survives_the_removal_of_their_part():
    form = PartForm("architecture", "architecture", "architectures", {"kind": "dense"})
    host: App[None] = App()
    async with host.run_test():
        await host.mount(form)
        await form.turn({"kind": "dense"})
        await form.rebuild({"kind": "linear"})
        assert not form.query(More), "the linear neuron has no field that few set"
        await form.turn({"kind": "linear"})
        assert [row.place for row in form.query(FieldRow)] == []


async def test_the_form_of_a_claim_has_its_own_measure_field():
    form = PartForm("claims[0]", "claim", "claims", {"kind": "slope", "measure": {"kind": "norm", "p": "1"}})
    host: App[None] = App()
    async with host.run_test():
        await host.mount(form)
        assert {"claims[0].measure.kind", "claims[0].measure.p"} <= {row.place for row in form.query(Row)}
        (measure,) = form.query(OptionalPart)
        await measure.rebuild(None)
        assert [row.place for row in measure.query(Row)] == ["claims[0].measure.kind"]
        await measure.rebuild("loss")
        assert [row.place for row in measure.query(Row)] == [
            "claims[0].measure.kind",
            "claims[0].measure.rows",
        ]


async def test_an_empty_optional_part_is_visible_once_chosen():
    (field,) = (field for field in fields_of(Learner) if field.name == "clip")
    host: App[None] = App()
    async with host.run_test():
        await host.mount(closed := Fields("learners[0]", [field], {"clip": None}))
        await host.mount(opened := Fields("learners[0]", [field], {"clip": {}}))
        assert not closed.query(Row)
        assert {row.place for row in opened.query(FieldRow)} == {
            "learners[0].clip.norm",
            "learners[0].clip.value",
        }


async def test_a_learner_in_short_notation_has_a_form_away_from_the_first_point():
    document = presets.document("edge-of-stability")
    other = {"name": "late", "architecture": "linear", "update": "gd", "where": "eta > 0.1"}
    document["learners"].append(other)
    editable = EditableExperiment(document, None)
    host: App[None] = App()
    async with host.run_test():
        await host.mount(form := LearnerForm(editable, 1))
        assert "learners[1].update.lr" in {row.place for row in form.query(Row)}
