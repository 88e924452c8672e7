"""Guide of a tour: it shows the text of each stop, and counts the user's right guesses."""

from __future__ import annotations

import asyncio
import copy
import time
from typing import TYPE_CHECKING, NamedTuple

from engine.core.texts import cut
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.keyboard import key
from hadamard_tui.panels import TABLE
from hadamard_tui.running.guesses import judged
from hadamard_tui.terminal.timing import call_after
from hadamard_tui.tours import MOST_CHANGE, REST, Tour, broken, change_in_words
from hadamard_tui.widgets.banner import Banner
from hadamard_tui.widgets.setup import SetupPane
from hadamard_tui.widgets.stage import TOUR, Stage

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from hadamard_tui.running.session import Session
    from hadamard_tui.screens.laboratory import Laboratory


class StopText(NamedTuple):
    """Text about the current step of a stop, for the banner.

    Args:
        step: name of the step, such as "predict"; empty if the stop has no steps.
        hint: a sentence after the words. It is left out if it does not fit.
    """

    step: str
    title: str
    words: str
    hint: str = ""


MINUTE = 60.0
"""Seconds between two updates of the time in the banner."""


class Guide:
    """Guide through a tour, with a banner above the main screen.

    In an automatic tour, the guide shows the next stop after each run.
    """

    def __init__(self, tour: Tour, laboratory: Laboratory, has_clock: bool = True) -> None:
        """Create the guide. If `has_clock`, the banner shows the time since the start, for speakers."""
        self.tour, self._laboratory, self._has_clock = tour, laboratory, has_clock
        self._banner = Banner()
        self._ended: float | None = None
        self._begun = 0.0
        self._next_look: asyncio.TimerHandle | None = None
        self._shown: Raw | None = None
        """Set-up that was last shown for the stop, with or without the change that breaks its result."""
        self._original: Raw | None = None
        """Set-up of the stop without the change that breaks its result."""
        self._is_broken = False

    async def start(self) -> None:
        self._begun = time.monotonic()
        self._laboratory.add_class(TOUR)
        await self._laboratory.mount(self._banner, before=0)
        self._laboratory.watchers.append(self._update_stop)
        await self.present()

    async def leave(self) -> None:
        self._laboratory.watchers.remove(self._update_stop)
        self._laboratory.asks_first, self._laboratory.asked_about = False, ()
        self._laboratory.query_one(SetupPane).limit_undo(False)
        if self._next_look is not None:
            self._next_look.cancel()
        self._laboratory.remove_class(TOUR)
        await self._banner.remove()

    async def move(self, by: int) -> bool:
        """Move by `by` stops. Beyond an end of the tour, notify the user and return False."""
        if self.tour.move(by):
            await self.present()
            return True
        self._laboratory.notify(self._end_sentence() if by > 0 else "This is the first stop of the path.")
        return False

    def _end_sentence(self) -> str:
        right, total = self.tour.score
        stops = [
            f"stop {place + 1}: {sum(guesses)}/{len(guesses)}"
            for place, guesses in sorted(self.tour.scores.items())
        ]
        return "This was the last stop of the path." + (
            f" {right} of {total} guesses were within a factor of two ({', '.join(stops)})." if total else ""
        )

    @property
    def changed(self) -> bool:
        return self._shown is not None and self._laboratory.editable.raw != self._shown

    async def present(self) -> None:
        """Show the stop with its original experiment, and run it.

        If the stop asks a question, the run waits for the user. An automatic tour does not wait.
        """
        self._is_broken = False
        self._laboratory.asks_first = waits = bool(self.tour.stop.predict) and not self.tour.alone
        editable = self.tour.editable
        self._original = copy.deepcopy(editable.raw)
        self._laboratory.asked_about = self.tour.stop.guess
        await self._present_stop(editable, run=not waits)
        self._laboratory.query_one(SetupPane).limit_undo(True)

    async def break_stop(self) -> None:
        if (change := self.tour.stop.breaks) is None:
            self._laboratory.notify("The talk shows no change that breaks the result of this preset.")
            return
        self._is_broken = True
        document = broken(self.tour.stop, change)
        await self._present_stop(EditableExperiment(document, self.tour.stop.preset), run=True)

    async def _present_stop(self, editable: EditableExperiment, run: bool) -> None:
        self._ended = None
        self._laboratory.query_one(Stage).choose(self.tour.stop.panel or TABLE)
        self._shown = copy.deepcopy(editable.raw)
        await self._laboratory.present(editable, run)

    def _stop_text(self, session: Session | None, experiment: Experiment) -> StopText:
        """Return the text of the current step of a stop, for the banner.

        The steps are "predict" (a question before the run), "why" (the explanation), "broken" (after the
        change that breaks the result), and "changed" (after another change). If the stop asks no question,
        the name of the explanation is "".
        """
        stop, is_over = self.tour.stop, session is not None and session.over
        if self.changed:
            return StopText("changed", "", self._change_text())
        if self._is_broken and stop.breaks is not None:
            words = f"Changed: {change_in_words(stop.preset, stop.breaks, stop.changes)}."
            return StopText("broken", "", f"{words} {stop.breaks.text}" if is_over else words)
        if stop.predict and not self.tour.alone and not is_over:
            if session is not None:
                return StopText("predict", experiment.title, stop.predict)
            keys = f"{key('run')} runs it."
            if stop.guess:
                keys = f"{key('predict')} marks your guess, {keys}"
            return StopText("predict", "", f"{stop.predict} {keys}")  # the title would answer the question
        breaks = f"Key {key('break_stop')} breaks this result by one change." if stop.breaks else ""
        return StopText(
            "why" if stop.predict else "", experiment.title, stop.line or experiment.story, breaks
        )

    def _change_text(self) -> str:
        from engine.spec.differences import differences

        shown, raw = self._shown, self._laboratory.editable.raw
        assert shown is not None, "a stop is on the screen"
        words = "; ".join(map(str, differences(shown, raw)))
        about = f"The text of this stop is about the preset, which {key('back_to_stop')} restores."
        return f"Changed: {cut(words, MOST_CHANGE)}. {about}" if words else about

    def _record_score(self, session: Session) -> None:
        """After a run of the stop has ended, record which of the user's guesses were right.

        Only the first guesses at a stop count. Guesses about a changed experiment do not count.
        """
        look = session.look()
        if session.over and session.guesses and not (self.changed or self._is_broken):
            self.tour.scores.setdefault(self.tour.place, judged(session.guesses, look.view))

    @property
    def _session_of_set_up(self) -> Session | None:
        """Run on the screen, or None if it is the run of an earlier set-up, as after an undo."""
        session = self._laboratory.session
        is_current = session is not None and session.document == self._laboratory.editable.document
        return session if is_current else None

    def _update_stop(self) -> None:
        session, now = self._session_of_set_up, time.monotonic()
        if self._is_broken and self._laboratory.editable.raw == self._original:  # the break was undone
            self._is_broken, self._shown = False, self._original
        experiment = self._laboratory.editable.experiment if session is None else session.experiment
        look = self._laboratory.look
        seconds = now - self._begun
        if session is not None and look is not None:
            self._record_score(session)
        text = self._stop_text(session, experiment)
        self._banner.show(self.tour, *text, look, seconds if self._has_clock else None)
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
