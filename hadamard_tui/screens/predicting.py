"""Screen for guesses before a run: for each learner, the user moves a mark on the empty chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from textual import on

from hadamard_tui.charts.plots.series_builder import colour, mark, theory
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.keyboard import key, shown_keys
from hadamard_tui.running.guesses import LEVEL, Guesses, in_words
from hadamard_tui.screens.view_control import LEAPS, ViewControl
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.screen_lines import Caption
from hadamard_tui.widgets.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.spec.reading import Raw
    from hadamard_tui.editing.editable_experiment import EditableExperiment
    from hadamard_tui.running.playback import Pace
    from hadamard_tui.running.session import Session
    from hadamard_tui.running.stored import StoredPictures


class Predicting(ViewControl):
    """Screen that asks for guesses before a run, and passes them to the run."""

    def __init__(self, editable: EditableExperiment, pace: Pace) -> None:
        super().__init__(editable, pace)
        self.guesses: Guesses | None = None
        self._guessed_setup: Raw | None = None
        """Set-up that the guesses are about."""
        self._picture_before = 0
        """Number of the picture that was on the screen before the guessing."""

        self.asks_first = False
        """Whether the stop of a tour asks a question that the stored curves and the title would answer."""

        self.asked_about: Sequence[str] = ()
        """Names of the learners that the question of a stop is about; empty for all learners."""

        self._set_aside: Session | None = None
        """Ended run that was on the screen before the guessing. If the user cancels, it is shown again."""

    def action_predict(self) -> None:
        if self.guesses is not None:
            self._stop_guessing()
            return
        if self.refused():
            return
        if why := self._why_no_guess:
            self.notify(f"{why} {key('run')} runs it.")
            return
        experiment = self._editable.experiment
        rows = experiment.n
        names = [learner.name for learner in experiment.learners if learner.role == "learner"]
        names = [name for name in names if name in self.asked_about] or names
        from engine import protocols

        places = protocols.places(experiment.protocol, rows)
        if len(places) < 2 or not names:
            self.notify("This run has no curve along examples or steps, so there is nothing to predict.")
            return
        ended_run = self.session if self.session is not None and self.session.ended else None
        if ended_run is not None:
            self.session = None
        self._clear_run()
        self._set_aside = ended_run
        self.guesses, self._guessed_setup = Guesses(places, names), self._editable.document
        stage = self.query_one(Stage)
        self._picture_before = stage.picture
        stage.choose_picture(0)  # the losses, which the guesses are about
        self.show_guess()

    @property
    def _why_no_guess(self) -> str:
        """Reason why the user cannot guess when losses fall below LEVEL; "" if there is no such reason."""
        if self._editable.raw["axes"]:
            return "This set-up has a sweep, so a learner has several curves and a guess would fit only one."
        if self.asks_first and not self.asked_about:
            return f"The question of this stop is not when a loss falls below {LEVEL:g}."
        return ""

    def stored_beside(self, session: Session | None) -> StoredPictures | None:
        """Return the stored charts as the base class does, or None if they would answer a question.

        They would answer a guess in progress. If a tour asks a question, they would answer it until the run
        begins.
        """
        would_answer = self.guesses is not None or (self.hides_result and session is None)
        return None if would_answer else super().stored_beside(session)

    def _leave_guess(self) -> None:
        """Go back to the guess that was confirmed last. If there is none, end the guessing."""
        if self.guesses is not None and self.guesses.take_back():
            self.show_guess()
        else:
            self._stop_guessing()

    @property
    def hides_result(self) -> bool:
        """Whether a stop asks a question, and no run has answered it yet."""
        return self.asks_first and self.session is None

    def end_outdated_guesses(self) -> None:
        """Stop the guessing if the set-up has changed since it began."""
        if self.guesses is not None and self._guessed_setup != self._editable.document:
            self._stop_guessing()

    def _stop_guessing(self) -> None:
        self.guesses = None
        self.query_one(Stage).choose_picture(self._picture_before)
        self.session, self._set_aside = self._set_aside, None
        self.redraw()
        self.refresh_bindings()

    def _change_picture(self, change: Callable[[], None]) -> None:
        if self.guesses is None:  # guesses are about the losses
            super()._change_picture(change)

    def _clear_run(self) -> None:
        if self._set_aside is not None:
            self._set_aside.end()
            self._set_aside = None
        self.guesses = None
        super()._clear_run()

    def show_guess(self) -> None:
        """Draw the guesses on the empty chart, and ask for the next guess."""
        from engine.protocols import CLOCKS

        guesses = self.guesses
        assert guesses is not None, "a guess is being made"
        experiment = self._editable.experiment
        guessed = {*guesses.confirmed, guesses.learner} - {None}
        if not guessed <= self._editable.running_letters.keys():  # the set-up was replaced in the meantime
            self._stop_guessing()
            return
        axes = Axes(
            "Predict, then run",
            CLOCKS[experiment.protocol.clock],
            f"average {experiment.protocol.loss} loss",
            (float(guesses.places[0]), float(guesses.places[-1])),
            (0.0, 1.04),
        )
        ends = np.array(axes.x_limits)
        level = Series(f"loss {LEVEL:g}", ends, np.full(2, LEVEL), theory(), "dashed")
        marks = [self._guess_series(guesses, learner_name) for learner_name in guesses.confirmed]
        learner = guesses.learner
        place = None if learner is None else guesses.x(learner)
        at = float(ends[1]) if place is None else place
        chart = self.query_one("#loss", ChartView)
        chart.show([level, *marks], axes, "", at)
        self.query_one(Caption).say(self._guess_question(guesses))
        self.refresh_bindings()

    def _guess_series(self, guesses: Guesses, learner_name: str) -> Series:
        place = guesses.x(learner_name)
        letter = mark(self._editable.running_letters[learner_name])
        tint = colour(self._editable.kind_places.get(learner_name))
        at = np.full(2, guesses.places[-1] if place is None else place)
        return Series(
            f"{learner_name}: {in_words(place)}",
            at,
            np.array([0.0, LEVEL]),
            tint,
            "pairs",
            mark=letter,
        )

    def _guess_question(self, guesses: Guesses) -> str:
        learner_name = guesses.learner
        assert learner_name is not None, "there is a learner to guess about"
        place, clock = guesses.x(learner_name), self._editable.experiment.protocol.clock
        letter = mark(self._editable.running_letters[learner_name])
        when = f"never gets below {LEVEL:g}"
        if place is not None:
            when = f"stays below {LEVEL:g} after {clock} = {place:g}"
        before = guesses.last_confirmed
        leaves = " cancels"
        if before is not None:
            leaves = f": back to {mark(self._editable.running_letters[before])}"
        far = f"{shown_keys('far_back').split()[-1]} {shown_keys('far_forward').split()[-1]}"
        more_keys = f", {key('next_learner')} skips, {key('run')} runs"
        keys = (
            f"{key('back')} {key('forward')} move the mark ({far}: far)",
            f"{key('remedy')} confirms it{more_keys if guesses.remaining > 1 else ' and runs'}",
            f"{key('leave')}{leaves}",
        )
        return f"{letter} ({learner_name}) {when}?\n{', '.join(keys)}."

    @on(ChartView.Pointed)
    def _guess_pointed(self, event: ChartView.Pointed) -> None:
        if self.guesses is not None and self.query_one(Stage).is_of_picture(event.chart):
            self.guesses.move_to(event.x)
            self.show_guess()

    def _move_cursor(self, places: int) -> None:
        if self.guesses is None:
            super()._move_cursor(places)
        else:
            self.guesses.move(places)
            self.show_guess()

    def _leap_cursor(self, times: int) -> None:
        if self.guesses is None:
            super()._leap_cursor(times)
        else:
            self._move_cursor(times * max(1, len(self.guesses.places) // LEAPS))

    def _move_to_border(self, to_the_end: bool) -> None:
        if self.guesses is None:
            super()._move_to_border(to_the_end)
        else:
            self._move_cursor(len(self.guesses.places) * (1 if to_the_end else -1))

    def action_page_down(self) -> None:
        if self.guesses is None:
            super().action_page_down()
        else:
            self._leap_cursor(1)

    def action_page_up(self) -> None:
        if self.guesses is None:
            super().action_page_up()
        else:
            self._leap_cursor(-1)

    def action_next_learner(self) -> None:
        if self.guesses is None:
            super().action_next_learner()
        else:
            self._skip_learner(1)

    def action_previous_learner(self) -> None:
        if self.guesses is None:
            super().action_previous_learner()
        else:
            self._skip_learner(-1)

    def _skip_learner(self, by: int) -> None:
        assert self.guesses is not None, "a guess is being made"
        self.guesses.skip(by)
        self.show_guess()

    def action_remedy(self) -> None:
        """Confirm the guess, and go to the next learner without one. After the last guess, run.

        Without a guess in progress, make the change that the open panel proposes, and run.
        """
        if self.guesses is None:
            super().action_remedy()
            return
        self.guesses.take()
        if self.guesses.learner is None:
            self._begin_run()
        else:
            self.show_guess()

    def _begin_run(self, paused: bool = False, at_once: bool = False) -> None:
        """Run the set-up with the confirmed guesses. A restart of the same set-up keeps its guesses."""
        guesses, self.guesses, before = self.guesses, None, self.session
        super()._begin_run(paused, at_once)
        if self.session is None or self.session is before:
            return
        if guesses is not None:
            self.session.guesses = guesses.confirmed
        elif before is not None and before.document == self.session.document:
            self.session.guesses = before.guesses
