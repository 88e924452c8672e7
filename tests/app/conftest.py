"""A small laboratory that the tests drive through Textual's pilot."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import crossing
import pytest
from rich.console import RenderableType
from textual._compositor import Compositor
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.message_pump import MessagePump
from textual.pilot import Pilot, WaitForScreenTimeout

from engine.core import catalogue, machine
from engine.core.parts import Part
from engine.spec import presets
from engine.spec.experiment import Experiment
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.widgets.setup import SetupPane

WIDE, SMALL = (140, 40), (80, 24)


@pytest.fixture(autouse=True, scope="session")
def style_sheets_are_parsed_once() -> Iterator[None]:
    """Cache parsed style sheets across the apps of a process; every app would parse each of them twice."""
    parse, rules_by_words = Stylesheet._parse_rules, {}

    def parsed(sheet: Stylesheet, *words: Any, **more: Any) -> list[RuleSet]:
        key = (tuple(sheet._variables.items()), words, tuple(more.items()))
        if key not in rules_by_words:
            rules_by_words[key] = parse(sheet, *words, **more)
        return rules_by_words[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parsed)
        yield


@pytest.fixture(autouse=True, scope="package")
def no_run_samples_the_machine() -> Iterator[None]:
    """Take no samples, because those of runs of some seconds would differ in every picture."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "SECONDS", math.inf)
        yield


@pytest.fixture(autouse=True, scope="package")
def lines_of_the_theory_are_those_that_are_done() -> Iterator[None]:
    """Leave experimental theory lines out, so that work on one changes no chart, gap or verdict here."""
    all_defaults = catalogue.defaults

    def shipped(family: str) -> tuple[Part, ...]:
        return tuple(part for part in all_defaults(family) if family != "theory" or not part.experimental)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "defaults", shipped)
        yield


@pytest.fixture(autouse=True, scope="session")
def widgets_at_rest_are_not_waited_for() -> Iterator[None]:
    """Let pilots wait for busy widgets only, since waking all of them takes longer than most keys."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pilot, "_wait_for_screen", wait_for_screen)
        yield


async def wait_for_screen(pilot: Pilot[None], timeout: float = 30.0) -> bool:
    """Wait until the app and the widgets of its screen have handled what they have in hand, and what they
    then send one another; whether they could."""
    for _ in range(3):
        handled: list[asyncio.Event] = []
        for pump in (pilot.app, *pilot.app.screen.walk_children(with_self=True)):
            if not is_at_rest(pump) and pump.call_later((done := asyncio.Event()).set):
                handled.append(done)
        if not handled:
            break
        failed = asyncio.create_task(pilot.app._exception_event.wait())
        waiting = asyncio.gather(*(done.wait() for done in handled))
        ended, _ = await asyncio.wait((waiting, failed), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        failed.cancel()
        waiting.cancel()
        if not ended:
            raise WaitForScreenTimeout("widgets did not handle what they were sent")
        if waiting not in ended:
            return False
    return True


def is_at_rest(pump: MessagePump) -> bool:
    """Whether a message pump has handled all messages and waits for more."""
    queue = pump._message_queue
    return queue.empty() and bool(queue.ready_event._waiters)


@pytest.fixture(autouse=True)
def frames_where_they_matter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the screen only when a test reads it, as other frames have no effect.

    `make test-all` draws it once more at the end, and `@pytest.mark.drawn` draws all of them.
    """
    if request.node.get_closest_marker("drawn") is None:
        update = Compositor.render_update

        def drawn(compositor: Compositor, full: bool = False, **words: Any) -> RenderableType | None:
            if full:  # of a screenshot
                return update(compositor, full, **words)
            compositor._dirty_regions.clear()
            return None

        monkeypatch.setattr(Compositor, "render_update", drawn)


@pytest.fixture(autouse=True)
def fields_where_they_matter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """`@pytest.mark.set_up("empty")` leaves the set-up panel without its fields, as it is at the first paint.

    Making them is most of what opening the app costs. The mark of a test goes before that of its module.
    """
    mark = request.node.get_closest_marker("set_up")
    if mark is not None and mark.args == ("empty",):
        monkeypatch.setattr(SetupPane, "on_show", stay_empty)


def stay_empty(setup: SetupPane) -> None:
    """Replacement for the method that makes the fields of a set-up panel in sight: makes none."""


def settled(setup: SetupPane) -> bool:
    """Whether the fields of the set-up exist, if the test wants them and they are in sight."""
    return setup.filled or not setup.display or SetupPane.on_show is stay_empty


@pytest.fixture(scope="session")
def small() -> Experiment:
    """The preset hadamard-128, made small: 16 examples."""
    return presets.load(
        "hadamard-128",
        ["problem.matrix.d=16", "learners.GD.update.lr=0.03125", "run.device=cpu", "claims=[]"],
    )


@pytest.fixture(scope="session")
def unchanged(small: Experiment) -> EditableExperiment:
    """Set-up of the small experiment, shared and copied before edits because making it reads presets."""
    return EditableExperiment(small, "hadamard-128")


@pytest.fixture
def editable(unchanged: EditableExperiment) -> EditableExperiment:
    """Editable copy of the small experiment."""
    return unchanged.copied()


@pytest.fixture
def app(editable: EditableExperiment) -> HadamardApp:
    return HadamardApp(editable)


@asynccontextmanager
async def opened(app: HadamardApp, size: tuple[int, int]) -> AsyncIterator[Pilot[None]]:
    """Open the app in a terminal of `size`, with the fields of its set-up if the test wants them."""
    async with app.run_test(size=size) as pilot:
        app.animation_level = (
            "none"  # keys are waited for until all is at rest, which ends no more with the app
        )
        setup = app.laboratory.query_one(SetupPane)
        await until(pilot, lambda: settled(setup))
        await pilot.pause()  # all of the screen is where it belongs
        yield pilot
        if crossing.all_combinations:
            app.screen._compositor.render_strips()


async def until(
    pilot: Pilot[None], condition: Callable[[], object], seconds: float = 60.0, subject: str = "the app"
) -> None:
    """Let the app work until a condition holds; fail with the name of the subject if that takes too long.

    Afterwards wait for all widgets, as `pilot.pause` does, which takes longer than most conditions.
    """
    waited = 0.0
    while not condition():
        assert waited < seconds, f"{subject} never got there"
        await asyncio.sleep(0.02)
        pilot.app.screen._on_timer_update()
        waited += 0.02
    if waited:
        await pilot._wait_for_screen()
