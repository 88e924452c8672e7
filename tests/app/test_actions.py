"""Every action of the registry acts: its key changes what the action is about."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Digits

from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.keyboard import ACTIONS, GROUPS, Action
from hadamard_tui.panels import ABOUT, DIGITS, WORDS
from hadamard_tui.running.playback import Pace
from hadamard_tui.state.config import Config
from hadamard_tui.tours import Stop, Tour, paths
from hadamard_tui.widgets.controls import NumberEntry
from hadamard_tui.widgets.setup import SetupPane
from hadamard_tui.widgets.side import RunList
from hadamard_tui.widgets.stage import Stage

from .conftest import WIDE, opened, until
from .test_runs import screen_text, session_of

pytestmark = pytest.mark.set_up("empty")

RUN = "(a run that has ended)"


@dataclass(frozen=True)
class Trial:
    """How to see that an action acts.

    Args:
        watched: differs before and after; what it gives before must not change by itself.
        first: keys and words in parentheses that bring the app to where the action means something.
        alone: whether the app is not fit for another trial afterwards.
        last: keys that make it fit for another.
    """

    watched: Callable[[HadamardApp], object]
    first: tuple[str, ...] = ()
    size: tuple[int, int] = WIDE
    tour: bool = False
    replicas: int = 1
    pictures: tuple[dict[str, str], ...] = ()
    alone: bool = False
    last: tuple[str, ...] = ()


def place(app: HadamardApp) -> float:
    return session_of(app).playback.place


def pace(app: HadamardApp) -> Pace:
    now = app.laboratory._pace
    return Pace(now.factor, now.unlimited)


def names(app: HadamardApp) -> list[str]:
    return [learner.name for learner in app.laboratory.editable.experiment.learners]


def pinned(app: HadamardApp) -> list[str]:
    return [run.name for run in app.laboratory.runs.pinned]


def notices(app: HadamardApp) -> int:
    return len(app._notifications)


def scrolled(app: HadamardApp) -> float:
    return float(app.laboratory.query_one("#panel-words").scroll_offset.y)


def screen(app: HadamardApp) -> str:
    return type(app.screen).__name__


def panel(app: HadamardApp) -> str:
    return app.laboratory.query_one(Stage).chosen


def selected(app: HadamardApp) -> int:
    return app.laboratory.query_one(SetupPane).learner


def files(app: HadamardApp) -> list[str]:
    return [path.name for path in Path.cwd().iterdir()]


TRIALS: dict[str, Trial] = {
    "presets": Trial(screen, last=("escape",)),
    "new_experiment": Trial(screen, last=("escape",)),
    "own_table": Trial(screen, last=("escape",)),
    "theory": Trial(screen, last=("escape",)),
    "run": Trial(lambda app: app.laboratory.session, last=("R",)),
    "pause": Trial(lambda app: app.laboratory.session, last=("R",)),
    "predict": Trial(lambda app: app.laboratory.guesses, last=("escape",)),
    "step": Trial(lambda app: app.laboratory.session, last=("R",)),
    "halt": Trial(lambda app: session_of(app).state == "stopped", ("r",), alone=True),
    "reset": Trial(lambda app: app.laboratory.session is None, (RUN,), alone=True),
    "faster": Trial(pace),
    "slower": Trial(pace),
    "unlimited": Trial(pace),
    "back": Trial(place, (RUN, "end")),
    "forward": Trial(place, (RUN, "home")),
    "far_back": Trial(place, (RUN, "end")),
    "far_forward": Trial(place, (RUN, "home")),
    "first": Trial(place, (RUN, "end")),
    "latest": Trial(place, (RUN, "home")),
    "x_log": Trial(lambda app: app.laboratory.chart_options, (RUN,)),
    "y_log": Trial(lambda app: app.laboratory.chart_options, (RUN,)),
    "zoom": Trial(lambda app: app.laboratory.chart_options, (RUN,)),
    "unzoom": Trial(lambda app: app.laboratory.chart_options, (RUN, "z")),
    "smooth": Trial(lambda app: app.laboratory.chart_options, (RUN,)),
    "band": Trial(lambda app: app.laboratory.chart_options, (RUN,), replicas=2),
    "multiples": Trial(lambda app: app.laboratory.chart_options),
    "next_picture": Trial(
        lambda app: app.laboratory.query_one(Stage).picture, pictures=({"measure": "loss"},)
    ),
    "full": Trial(lambda app: app.laboratory.has_class("-full"), last=("escape",)),
    "recipe": Trial(lambda app: app.laboratory.focused, last=("escape",)),
    "view": Trial(panel),
    "previous_view": Trial(panel),
    **{f"panel-{number}": Trial(panel) for number in range(1, min(len(ABOUT), DIGITS) + 1)},
    "panel-1": Trial(panel, ("2",)),
    "panel-2": Trial(panel, ("1",)),
    "next_learner": Trial(selected),
    "previous_learner": Trial(selected),
    "remedy": Trial(lambda app: app.laboratory.editable.experiment.run.measures, ("v",) * 7, alone=True),
    "page_down": Trial(scrolled, (RUN, "3"), (80, 24)),
    "page_up": Trial(scrolled, (RUN, "3", "pagedown"), (80, 24)),
    "pin": Trial(pinned, (RUN,), alone=True),
    "difference": Trial(notices),
    "runs": Trial(lambda app: app.laboratory.query_one(RunList).has_focus_within, (RUN, "c"), alone=True),
    "another_seed": Trial(lambda app: app.laboratory.editable.experiment.run.seed, (RUN,), alone=True),
    "rename_run": Trial(screen, (RUN, "c", "l"), alone=True),
    "delete_run": Trial(pinned, (RUN, "c", "l"), alone=True),
    "next_stop": Trial(lambda app: app._guide and app._guide.tour.place, tour=True),
    "previous_stop": Trial(lambda app: app._guide and app._guide.tour.place, tour=True),
    "back_to_stop": Trial(names, ("d",), tour=True, alone=True),
    "break_stop": Trial(notices, alone=True),
    "blank": Trial(screen, last=("x",)),
    "add_learner": Trial(names),
    "copy_learner": Trial(names),
    "remove_learner": Trial(names),
    "switch_learner": Trial(names),
    "larger": Trial(notices),
    "smaller": Trial(notices),
    "vary": Trial(lambda app: app.laboratory.editable.raw["axes"], alone=True),
    "undo": Trial(names, ("d",)),
    "redo": Trial(names, ("d", "u")),
    "setup": Trial(lambda app: app.laboratory.query_one(SetupPane).display),
    "focus_next": Trial(lambda app: app.focused, alone=True),
    "export": Trial(screen, last=("escape",)),
    "save_preset": Trial(screen, last=("escape",)),
    "copy_command": Trial(lambda app: app.clipboard),
    "screenshot": Trial(files),
    "theme": Trial(lambda app: app.theme),
    "jump": Trial(screen, last=("escape",)),
    "leave": Trial(lambda app: app.focused, ("tab",), alone=True),
    "help": Trial(screen, last=("escape",)),
    "command_palette": Trial(screen, last=("escape",)),
    "quit": Trial(lambda app: app._exit, alone=True),
}


MOST_QUICK = 10
"""Most trials in one app for the quick tests."""


def those_of_one_app() -> list[Any]:
    """Actions tried in sequence in one app, because opening an app takes longer than most trials."""
    groups: dict[object, list[Action]] = {}
    for action in ACTIONS:
        trial = TRIALS[action.id]
        like = (RUN in trial.first, trial.size, trial.tour, trial.replicas, str(trial.pictures))
        groups.setdefault(action.id if trial.alone else like, []).append(action)
    return [
        pytest.param(actions, marks=[] if is_quick(actions) else [pytest.mark.slow], id=actions[0].id)
        for actions in groups.values()
    ]


def is_quick(actions: list[Action]) -> bool:
    """Whether trying the actions takes less than half a second: they are few, and none needs a run."""
    return len(actions) <= MOST_QUICK and not any(RUN in TRIALS[action.id].first for action in actions)


async def prepare(pilot: Pilot[None], app: HadamardApp, first: tuple[str, ...]) -> None:
    for key in first:
        if key == RUN:
            await pilot.press("r", "f")
            await until(pilot, lambda: session_of(app).outcomes is not None)
            await until(pilot, lambda: session_of(app).state == "finished")
            await pilot.pause(0.2)
        else:
            await pilot.press(key)


@pytest.mark.slow
@pytest.mark.parametrize("actions", those_of_one_app())
async def test_every_action_acts(
    actions: list[Action], editable: EditableExperiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    trial = TRIALS[actions[0].id]
    tour = Tour((Stop("hadamard-128"), Stop("zero-one-128"))) if trial.tour else None
    editable.put("run.replicas", trial.replicas)
    editable.put("pictures", list(trial.pictures))
    app = HadamardApp(editable, tour=tour)
    async with opened(app, trial.size) as pilot:
        if tour is not None:
            await until(pilot, lambda: app.laboratory.query(Digits))
        if RUN in trial.first:
            await prepare(pilot, app, (RUN,))
        for action in actions:
            trial = TRIALS[action.id]
            await prepare(pilot, app, tuple(key for key in trial.first if key != RUN))
            before = trial.watched(app)
            await pilot.press(action.keys.split(",")[0])
            await until(
                pilot, lambda trial=trial, before=before: trial.watched(app) != before, subject=action.id
            )
            if trial.last:
                await pilot.press(*trial.last)
                await until(pilot, lambda trial=trial, before=before: trial.watched(app) == before)


def test_each_trial_belongs_to_an_action_and_each_action_has_a_trial() -> None:
    assert TRIALS.keys() == {action.id for action in ACTIONS}


def test_every_action_belongs_to_a_group_named_by_a_verb() -> None:
    assert {action.group for action in ACTIONS} == set(GROUPS)
    assert [group.split()[0] for group in GROUPS[:6]] == ["Run", "Look", "Compare", "Change", "Keep", "Give"]


VERBS = """
add blank change choose clear copy decrease delete double draw end go guess halve increase label leave list
make move open pause pin read redo remove rename run save scroll search select show start stop subtract sweep
switch undo zoom
"""


def test_the_help_of_every_key_begins_with_a_verb() -> None:
    first_words = {action.id: action.help.split()[0].lower() for action in ACTIONS}
    assert {key: word for key, word in first_words.items() if word not in VERBS.split()} == {}


def test_no_key_does_two_things() -> None:
    keys = [key for action in ACTIONS for key in action.keys.split(",")]
    assert len(keys) == len(set(keys))


EATEN = ("ctrl+z", "ctrl+a", "ctrl+b", "ctrl+s", "f1", "f11", "ctrl+w", "ctrl+t", "ctrl+n", "ctrl+tab")


def test_no_action_uses_a_key_that_terminals_multiplexers_or_browsers_intercept() -> None:
    for action in ACTIONS:
        for key in action.keys.split(","):
            assert key not in EATEN, action.name
            assert not key.startswith(("alt+", "super+", "ctrl+shift+")), action.name


@pytest.mark.slow
async def test_the_palette_and_the_help_page_list_every_action(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        offered = {command.title for command in app.get_system_commands(app.screen)}
        actions = {action.label for action in ACTIONS if not TRIALS[action.id].tour}
        walks = {f"Path: {path.title}" for path in paths().values()}
        added = {"Add axis", "Add picture", "Add claim"}
        assert offered == actions | walks | added | {f"Tab: {WORDS[panel_name]}" for panel_name in ABOUT}
        await pilot.press("question_mark")
        await until(
            pilot, lambda: "What am I seeing" in screen_text(app) or "Each curve is" in screen_text(app)
        )


@pytest.mark.set_up("filled")
@pytest.mark.slow
async def test_configured_keys_replace_the_default_keys(editable: EditableExperiment):
    app = HadamardApp(editable, config=Config(keys={"run": "f5", "quit": "ctrl+x", "add_learner": "f6"}))
    async with opened(app, WIDE) as pilot:
        await pilot.press("r", "q")
        assert app.laboratory.session is None
        await until(pilot, lambda: "f5 Run" in screen_text(app))
        assert "f5 runs it" in screen_text(app)
        assert "press f5 to run" in screen_text(app)
        assert app.laboratory.query_one("#add").tooltip == "Add a learner (f6)"
        await pilot.press("question_mark", "pagedown")
        await until(pilot, lambda: re.search(r"f5 +Run the set-up", screen_text(app)))
        await pilot.press("escape")
        await pilot.press("f5")
        await until(pilot, lambda: app.laboratory.session is not None)
        await pilot.press("ctrl+x")
        await until(pilot, lambda: app._exit)


@pytest.mark.set_up("filled")
@pytest.mark.parametrize(("size", "opens"), [((80, 24), "s opens the set-up, tab"), (WIDE, "at once: tab")])
@pytest.mark.slow
async def test_a_visible_message_is_not_repeated_and_names_keys_to_a_number(
    editable: EditableExperiment, size: tuple[int, int], opens: str
):
    app = HadamardApp(editable)
    async with opened(app, size) as pilot:
        for _ in range(3):
            await pilot.press("down")
        (note,) = app._notifications
        assert f"{opens} goes from field to field" in note.message
        if "s opens" in note.message:
            await pilot.press("s")
        for _ in range(12):  # the choices of the first row come first
            await pilot.press("tab")
            if isinstance(app.focused, NumberEntry):
                break
        assert isinstance(app.focused, NumberEntry)
