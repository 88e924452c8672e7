"""The Textual app: one laboratory screen over the engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from engine.experiment import Experiment
from hadamard_tui.actions import ACTIONS
from hadamard_tui.draft import Draft
from hadamard_tui.screens.laboratory import Laboratory

PATIENCE = 0.4
"""Seconds that quitting waits for the engine to come out of its last round."""


class HadamardApp(App[None]):
    """The laboratory."""

    TITLE = "hadamard-tui"
    CSS_PATH = "hadamard.tcss"
    COMMAND_PALETTE_BINDING = "ctrl+p"
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = True
    # With priority: a field would copy, and a page on top would not hear of it.
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", show=False, priority=True)]

    def __init__(self, draft: Draft, autorun: bool = False) -> None:
        super().__init__()
        self.laboratory = Laboratory(draft, autorun)

    def get_default_screen(self) -> Screen[None]:
        return self.laboratory

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for action in ACTIONS:
            yield SystemCommand(action.label, action.help, self._command(action.name))

    def _command(self, name: str):  # type: ignore[no-untyped-def]
        async def act() -> None:
            await self.laboratory.run_action(name)

        return act


def open_app(experiment: Experiment, preset: str | None, autorun: bool) -> None:
    """Open the laboratory on an experiment; returns when the person quits, within a second."""
    app = HadamardApp(Draft(experiment, preset), autorun)
    app.run()
    ended = app.laboratory.end(PATIENCE)
    if not ended:
        sys.stdout.flush()
        os._exit(app.return_code or 0)
