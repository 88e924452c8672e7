"""Leads a laboratory through a tour."""

from __future__ import annotations

import asyncio
import copy
import time
from typing import TYPE_CHECKING

from hadamard_tui.panels import TABLE
from hadamard_tui.terminal.alarm import after
from hadamard_tui.tours.tour import REST, Tour
from hadamard_tui.widgets.banner import Banner
from hadamard_tui.widgets.stage import TOUR, Stage

if TYPE_CHECKING:
    from engine.spec.reading import Raw
    from hadamard_tui.screens.laboratory import Laboratory

MINUTE = 60.0
"""Seconds between two times that the banner shows."""


class Guide:
    """Shows the banner of a tour and, where it runs alone, goes on when a run has been seen."""

    def __init__(self, tour: Tour, laboratory: Laboratory) -> None:
        self.tour, self._laboratory = tour, laboratory
        self._banner = Banner()
        self._ended: float | None = None
        self._begun = 0.0
        self._next_look: asyncio.TimerHandle | None = None
        self._shown: Raw | None = None
        """The set-up of the stop as it was put up."""

    async def start(self) -> None:
        """Show the banner and run the first stop."""
        self._begun = time.monotonic()
        self._laboratory.add_class(TOUR)
        await self._laboratory.mount(self._banner, before=0)
        self._laboratory.watchers.append(self._look)
        await self.present()

    async def move(self, by: int) -> None:
        """Go on or back."""
        if self.tour.move(by):
            await self.present()
        else:
            end = "The tour ends here." if by > 0 else "The tour begins here."
            self._laboratory.notify(end)

    @property
    def changed(self) -> bool:
        """Whether the set-up is another than the stop has."""
        return self._shown is not None and self._laboratory.editable.raw != self._shown

    async def present(self) -> None:
        """Put up the stop and run it, whatever has been changed since it was put up before."""
        self._ended = None
        self._laboratory.query_one(Stage).suggest(self.tour.stop.panel or TABLE)
        editable = self.tour.editable
        self._shown = copy.deepcopy(editable.raw)
        await self._laboratory.present(editable)

    def _look(self) -> None:
        """Say what the laboratory shows, whenever that has moved on, and when the time says something new."""
        session, now = self._laboratory.session, time.monotonic()
        experiment = self._laboratory.editable.experiment if session is None else session.experiment
        look = None if session is None or session.trace is None else session.look()
        seconds = now - self._begun
        self._banner.show(self.tour, experiment, look, seconds, self.changed)
        wait = MINUTE - seconds % MINUTE
        if self.tour.alone and session is not None and session.state in ("finished", "failed"):
            self._ended = now if self._ended is None else self._ended
            wait = min(wait, self._ended + REST - now)
            if wait <= 0:
                self._ended = None
                self._laboratory.call_later(self.move, 1)
        if self._next_look is not None:
            self._next_look.cancel()
        self._next_look = after(max(wait, 0.0), self._laboratory, self._look)
