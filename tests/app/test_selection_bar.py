"""The first row names the parts of the experiment and exchanges them."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.screens.browser import Browser
from hadamard_tui.widgets.controls import NumberEntry
from hadamard_tui.widgets.form import FieldRow
from hadamard_tui.widgets.selection_bar import ANOTHER_SIZE, PartWord, PresetWord, SelectionBar

from .conftest import SMALL, opened, until
from .test_runs import screen_text, session_of

pytestmark = pytest.mark.set_up("empty")

AT = {"preset": 0, "matrix": 1, "learner": 2, "architecture": 3, "protocol": 4}
"""Presses of the right arrow to reach each choice."""


def first_row(app: HadamardApp) -> str:
    return screen_text(app).splitlines()[0]


def choice(app: HadamardApp, part: str) -> PartWord:
    return app.laboratory.query_one(f"#bar-{part}", PartWord)


async def open_list(app: HadamardApp, pilot: Pilot[None], part: str) -> None:
    await pilot.press("escape", "k", *["right"] * AT[part], "enter")
    await until(pilot, lambda: choice(app, part).expanded, subject=f"the list of {part}")


async def choose(app: HadamardApp, pilot: Pilot[None], part: str, words: str) -> None:
    """Choose a line from a list of the bar by typing its letters."""
    await open_list(app, pilot, part)
    await pilot.press(*words, "enter")
    await until(pilot, lambda: not choice(app, part).expanded)


@pytest.fixture
def shipped() -> HadamardApp:
    return HadamardApp(EditableExperiment.of("hadamard-128"))


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (80, ("hadamard-128 ▾", "hadamard d 128 ▾", "A GD ▾", "linear ▾", "one-pass ▾", "ready")),
        (
            140,
            ("preset hadamard-128 ▾", "matrix hadamard d 128 ▾", "learner A GD ▾", "architecture linear ▾"),
        ),
    ],
)
async def test_each_entry_shows_its_choice_and_a_label_if_room_allows(
    shipped: HadamardApp, width: int, words: tuple[str, ...]
) -> None:
    async with opened(shipped, (width, 24)) as pilot:
        await until(pilot, lambda: "one-pass ▾" in first_row(shipped))
        row = first_row(shipped)
        places = [row.find(word) for word in words]
        assert -1 not in places, row
        assert places == sorted(places)
        assert "…" not in row
        assert ("matrix" in row) == ("architecture" in row) == (width == 140)


async def test_the_bar_omits_only_as_many_labels_as_necessary() -> None:
    app = HadamardApp(EditableExperiment.of("hadamard-128-weights"))
    async with opened(app, (120, 24)) as pilot:
        await until(pilot, lambda: "one-pass ▾" in first_row(app))
        words = "preset hadamard-128-weights ▾ matrix hadamard d 128 ▾ learner A GD ▾ linear ▾"
        assert words in first_row(app)


@pytest.mark.set_up("filled")
@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, (140, 40)])
async def test_the_list_of_matrices_leads_to_the_field_of_d(
    shipped: HadamardApp, size: tuple[int, int]
) -> None:
    async with opened(shipped, size) as pilot:
        await choose(shipped, pilot, "matrix", "another")
        await until(pilot, lambda: isinstance(shipped.focused, NumberEntry))
        assert [row.place for row in shipped.focused.ancestors if isinstance(row, FieldRow)] == [ANOTHER_SIZE]
        await until(pilot, lambda: "matrix hadamard d 128" in first_row(shipped) or size == SMALL)
        await pilot.press("up")
        await until(pilot, lambda: shipped.laboratory.editable.raw["problem"]["matrix"]["d"] > 128)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "kind", "place"),
    [
        ("matrix", "gaussian", "problem.matrix"),
        ("architecture", "spindly", "learners[0].architecture"),
        ("protocol", "epochs", "protocol"),
    ],
)
async def test_keys_exchange_a_part_and_undo_restores_it(
    app: HadamardApp, part: str, kind: str, place: str
) -> None:
    async with opened(app, SMALL) as pilot:
        before = app.laboratory.editable.copied().raw
        await choose(app, pilot, part, kind)
        await until(pilot, lambda: _kind(app.laboratory.editable.value(place)) == kind)
        await until(pilot, lambda: choice(app, part).words.startswith(kind))
        await pilot.press("u")
        await until(pilot, lambda: app.laboratory.editable.raw == before, subject="the set-up before")
        await until(pilot, lambda: not choice(app, part).words.startswith(kind))


def _kind(part: object) -> str:
    return str(part["kind"]) if isinstance(part, dict) else str(part)


@pytest.mark.slow
async def test_choosing_a_learner_selects_it_and_labels_its_solver(
    app: HadamardApp,
) -> None:
    async with opened(app, (140, 30)) as pilot:
        assert choice(app, "architecture").label == "architecture"
        await choose(app, pilot, "learner", "B least")
        await until(pilot, lambda: choice(app, "learner").words == "B least squares")
        assert choice(app, "architecture").label == "solver"
        assert "solver lls ▾" in first_row(app)
        before = [dict(learner) for learner in app.laboratory.editable.learners]
        await choose(app, pilot, "architecture", "ridge")
        await until(pilot, lambda: _kind(app.laboratory.editable.learners[1]["solver"]) == "ridge")
        assert app.laboratory.editable.learners[0] == before[0], "of the selected learner alone"


@pytest.mark.slow
async def test_the_last_entry_of_the_learner_list_adds_a_learner(app: HadamardApp) -> None:
    async with opened(app, SMALL) as pilot:
        count = len(app.laboratory.editable.learners)
        await open_list(app, pilot, "learner")
        await pilot.press("end", "enter")
        await until(pilot, lambda: len(app.laboratory.editable.learners) == count + 1)
        await until(pilot, lambda: choice(app, "learner").words[2:] != "GD")
        words = [words for words, _ in choice(app, "learner").choices]
        assert len(words) == count + 2
        assert words[-1] == "add a learner"
        await pilot.press("u")
        await until(pilot, lambda: len(app.laboratory.editable.learners) == count)
        await until(pilot, lambda: len(choice(app, "learner").choices) == count + 1)


async def test_the_preset_entry_opens_the_preset_browser(app: HadamardApp) -> None:
    async with opened(app, SMALL) as pilot:
        await pilot.press("k", "enter")
        await until(pilot, lambda: isinstance(app.screen, Browser))


@pytest.mark.slow
async def test_arrows_cycle_through_the_bar_and_letters_remain_app_commands(app: HadamardApp) -> None:
    async with opened(app, SMALL) as pilot:
        bar = app.laboratory.query_one(SelectionBar)
        await pilot.press("k")
        assert bar.query_one(PresetWord).has_focus
        await pilot.press("left")
        assert choice(app, "protocol").has_focus
        await pilot.press("right", "right")
        assert choice(app, "matrix").has_focus
        await pilot.press("r", "f")
        await until(pilot, lambda: session_of(app).state == "finished")
        assert not choice(app, "matrix").expanded
        await pilot.press("escape")
        assert app.laboratory.focused is None


async def test_a_narrow_bar_cuts_the_kind_of_a_matrix_and_not_its_size():
    app = HadamardApp(EditableExperiment.of("hadamard-128", ["problem.matrix.d=256"]))
    async with opened(app, SMALL) as pilot:
        await pilot.press("]")
        await until(pilot, lambda: "B least" in first_row(app))
        assert "… d 256 ▾" in first_row(app)
