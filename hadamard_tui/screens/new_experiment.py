"""A new experiment: choose a problem, then a learner, and the set-up is ready to run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.css.query import NoMatches
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from hadamard_tui.browsing import beginnings
from hadamard_tui.keyboard import key
from hadamard_tui.screens.modal import Framed
from hadamard_tui.widgets.lines import Lines


class NewExperiment(Framed[dict[str, Any] | None]):
    """Page that returns the document of an experiment of one learner on a problem, or None."""

    DEFAULT_CSS = """
    NewExperiment > Vertical { width: 100; }
    NewExperiment OptionList { max-height: 7; text-wrap: nowrap; text-overflow: ellipsis; }
    NewExperiment #problem-lines { margin: 0 0 1 0; }
    """

    def compose(self) -> ComposeResult:
        with Vertical() as page:
            page.border_title = "New experiment"
            page.border_subtitle = f"{key('choose')} chooses · {key('close')} closes"
            yield Static(Text("1. Problem: matrix family and target", "bold"))
            yield Lines(id="problem-lines", compact=True)
            yield Static(Text("2. Learner", "bold"))
            yield Lines(id="learner-lines", compact=True)
            yield Static(
                Text(f"{key('recipe')} and {key('setup')} change every part afterwards.", "dim"), markup=False
            )

    def on_mount(self) -> None:
        self._read()

    @work
    async def _read(self) -> None:
        """Read the presets in a thread: they are many files."""
        problems = await asyncio.to_thread(_lines_of_problems)
        learners = await asyncio.to_thread(_lines_of_learners)
        with suppress(NoMatches):  # the page may be going by now
            for id, lines in (("#problem-lines", problems), ("#learner-lines", learners)):
                options = self.query_one(id, OptionList)
                options.add_options(lines)
                options.highlighted = 0

    @on(OptionList.OptionSelected, "#problem-lines")
    def _problem_chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.query_one("#learner-lines").focus()

    @on(OptionList.OptionSelected, "#learner-lines")
    def _learner_chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        number = self.query_one("#problem-lines", OptionList).highlighted
        if number is not None:
            problem, learner = beginnings.problems()[number], beginnings.learners()[event.option_index]
            self.dismiss(beginnings.document(problem, learner))


def _lines_of_problems() -> Sequence[Option]:
    return [_line(problem.title, problem.summary) for problem in beginnings.problems()]


def _lines_of_learners() -> Sequence[Option]:
    return [_line(learner.name, learner.summary) for learner in beginnings.learners()]


def _line(name: str, summary: str) -> Option:
    return Option(Text.assemble((f"{name:<22}", "bold"), (summary, "dim")))
