"""Guide of a tour: it shows the text of each stop, and counts the user's right guesses."""

from __future__ import annotations

import asyncio
import copy
import time
from typing import TYPE_CHECKING

from engine.spec.experiment import drawn
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.keyboard import key
from hadamard_tui.panels import TABLE
from hadamard_tui.running.guesses import judged
from hadamard_tui.terminal.timing import call_after
from hadamard_tui.tours import REST, Tour, broken
from hadamard_tui.widgets.banner import Banner
from hadamard_tui.widgets.stage import TOUR, Stage

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from hadamard_tui.running.session import Session
    from hadamard_tui.screens.laboratory import Laboratory

MINUTE = 60.0
"""Seconds between two updates of the time in the banner."""


class Guide:
    """Guide through a tour, with a banner above the main screen.

    In an automatic tour, the guide shows the next stop after each run.
    """

    def __init__(self, tour: Tour, laboratory: Laboratory) -> None:
        self.tour, self._laboratory = tour, laboratory
        self._banner = Banner()
        self._ended: float | None = None
        self._begun = 0.0
        self._next_look: asyncio.TimerHandle | None = None
        self._shown: Raw | None = None
        """Set-up that was last shown for the stop, with or without the change that breaks its theorem."""
        self._original: Raw | None = None
        """Set-up of the stop without the change that breaks its theorem."""
        self._is_broken = False

    async def start(self) -> None:
        self._begun = time.monotonic()
        self._laboratory.add_class(TOUR)
        await self._laboratory.mount(self._banner, before=0)
        self._laboratory.watchers.append(self._update_stop)
        await self.present()

    async def leave(self) -> None:
        self._laboratory.watchers.remove(self._update_stop)
        self._laboratory.asks_first = False
        if self._next_look is not None:
            self._next_look.cancel()
        self._laboratory.remove_class(TOUR)
        await self._banner.remove()

    async def move(self, by: int) -> bool:
        """Move by `by` stops. Beyond an end of the tour, notify the user and return False."""
        if self.tour.move(by):
            await self.present()
            return True
        self._laboratory.notify(self._end_sentence() if by > 0 else "This is the first stop of the tour.")
        return False

    def _end_sentence(self) -> str:
        right, total = self.tour.score
        return "This was the last stop of the tour." + (
            f" {right} of {total} guesses were within a factor of two." if total else ""
        )

    @property
    def changed(self) -> bool:
        return self._shown is not None and self._laboratory.editable.raw != self._shown

    async def present(self) -> None:
        """Show the stop with its original experiment. It runs at once, unless the stop asks a question."""
        self._is_broken = False
        self._laboratory.asks_first = waits = bool(self.tour.stop.predict) and not self.tour.alone
        editable = self.tour.editable
        self._original = copy.deepcopy(editable.raw)
        await self._present_stop(editable, run=not waits)

    async def break_stop(self) -> None:
        if (change := self.tour.stop.breaks) is None:
            self._laboratory.notify(
                "The talk has no change for this preset that makes its theorem inapplicable."
            )
            return
        self._is_broken = True
        document = broken(self.tour.stop, change)
        await self._present_stop(EditableExperiment(document, self.tour.stop.preset), run=True)

    async def _present_stop(self, editable: EditableExperiment, run: bool) -> None:
        self._ended = None
        self._laboratory.query_one(Stage).choose(self.tour.stop.panel or TABLE)
        self._shown = copy.deepcopy(editable.raw)
        await self._laboratory.present(editable, run)

    def _step_and_words(self, session: Session | None, experiment: Experiment) -> tuple[str, str]:
        """Return the name and the text of the current step of a stop, for the banner.

        The steps are "predict" (a question before the run), "why" (the explanation), and "broken" (after the
        change that breaks the theorem). If the stop asks no question, the name of the explanation is "".
        """
        stop, is_over = self.tour.stop, session is not None and session.over
        if self._is_broken and stop.breaks is not None:
            words = stop.breaks.text if is_over else f"The change: {', '.join(stop.breaks.set)}."
            return "broken", words
        if stop.predict and not self.tour.alone and not is_over:
            keys = f"{key('run')} runs it."
            if not drawn(experiment):
                keys = f"{key('predict')} marks your guess, {keys}"
            return "predict", stop.predict if session is not None else f"{stop.predict} {keys}"
        words = stop.line or experiment.story
        if stop.breaks is not None:
            words = f"{words} Key {key('break_stop')} makes the theorem inapplicable."
        return "why" if stop.predict else "", words

    def _record_score(self, session: Session) -> None:
        """Once a run of the stop has ended, record which of the user's guesses were right.

        Only the first guesses at a stop count. They do not count if the user has changed the stop's
        experiment.
        """
        look = session.look()
        if session.over and session.guesses and not (self.changed or self._is_broken):
            self.tour.scores.setdefault(self.tour.place, judged(session.guesses, look.view))

    def _update_stop(self) -> None:
        session, now = self._laboratory.session, time.monotonic()
        if self._is_broken and self._laboratory.editable.raw == self._original:  # the break was undone
            self._is_broken, self._shown = False, self._original
        experiment = self._laboratory.editable.experiment if session is None else session.experiment
        look = None if session is None or session.trace is None else session.look()
        seconds = now - self._begun
        if session is not None and look is not None:
            self._record_score(session)
        step, words = self._step_and_words(session, experiment)
        self._banner.show(self.tour, step, words, experiment, look, seconds, self.changed)
        wait = MINUTE - seconds % MINUTE
        if self.tour.alone and session is not None and session.state in ("finished", "failed"):
            self._ended = now if self._ended is None else self._ended
            wait = min(wait, self._ended + REST - now)
            if wait <= 0:
                self._ended = None
                self._laboratory.call_later(self.move, 1)
        if self._next_look is not None:
            self._next_look.cancel()
        self._next_look = call_after(max(wait, 0.0), self._laboratory, self._update_stop)
