"""Story and list of runs, beside the stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from hadamard_tui.keyboard import key
from hadamard_tui.panels import claims, story
from hadamard_tui.panels.story import story_text
from hadamard_tui.running.runs import Kept, Runs, changes
from hadamard_tui.widgets.controls import Lines, Words, compact

if TYPE_CHECKING:
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from hadamard_tui.editing.document_edits import LeftOutClaim
    from hadamard_tui.panels.panel import PanelContext

NONE_YET = "No run has ended yet. Run something, press {pin}, change one thing, and run again."
KEYS = "enter shows it · {pin} pins or unpins · {difference} difference · {rename} renames · {delete} deletes"
PINNED, ON_SCREEN = "●", "▸"
"""Signs of the runs drawn together with the run on the screen, and of the run on the screen."""


class Story(Words):
    """Story of the experiment on the screen."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text: Text | None = None

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    def on_mount(self) -> None:
        self.border_title = "What am I seeing?"

    def show(
        self, context: PanelContext | None, experiment: Experiment, left_out: Sequence[LeftOutClaim] = ()
    ) -> None:
        """Show the story of a run, or of the set-up before a run, without the claims `left_out`."""
        before = *story.expensive(experiment), *claims.left_out(left_out)
        words = Text("\n").join([story_text(experiment), *before])
        text = words if context is None else Text("\n").join([story.show(context), claims.show(context)])
        if text != self._text or text.spans != self._text.spans:
            self._text = text
            self.query_one(Static).update(text)


class RunOption(Option):
    """Line of the list of runs."""

    def __init__(self, run: Kept, name: str, difference: str) -> None:
        super().__init__(Text.assemble((name, "bold"), f"  {difference}"))
        self.run = run


class RunList(Vertical):
    """Finished runs and the run on the screen, each with its difference from the previous run."""

    class Chosen(Message):
        """Message: a person requests a run."""

        def __init__(self, run: Kept) -> None:
            super().__init__()
            self.run = run

    def __init__(self, runs: Runs, id: str | None = None) -> None:
        super().__init__(id=id)
        self._runs = runs
        self._shown: object = None
        self._last: tuple[Raw | None, Trace | None] = None, None

    def compose(self) -> ComposeResult:
        yield Static("", id="runs-hint", markup=False)
        yield compact(Lines(id="runs-list"))
        yield Static("", id="runs-now", markup=False)

    def on_mount(self) -> None:
        self.border_title = "Runs"

    def on_show(self) -> None:
        self.show(*self._last)

    @property
    def selected(self) -> Kept | None:
        """Highlighted run; without a highlight, the last run."""
        place = self.query_one(OptionList).highlighted
        runs = self._runs.finished
        return runs[-1 if place is None else min(place, len(runs) - 1)] if runs else None

    def show(self, now: Raw | None, shown: Trace | None = None) -> None:
        """Show the runs, if the list is visible.

        `now` is the document of the run on the screen if it is not kept, and `shown` its trace.
        """
        self._last = now, shown
        if not all(widget.display for widget in self.ancestors_with_self):
            return
        runs, options = self._runs.finished, self.query_one(OptionList)
        text = Text()
        if now is not None and runs:
            text = Text.assemble(("on the screen", "bold"), f"  {changes(runs[-1].document, now)}")
        lines = [
            (f"{ON_SCREEN if run.trace is shown else ' '}{PINNED if run.pinned else ' '} {run.name}", number)
            for number, run in enumerate(runs)
        ]
        content = [(line, self._runs.difference_of(number)) for line, number in lines], text.plain
        if content == self._shown:
            return
        self._shown = content
        place = options.highlighted
        options.clear_options()
        options.add_options([RunOption(run, *line) for run, line in zip(runs, content[0], strict=True)])
        if runs:
            last = len(runs) - 1
            options.highlighted = last if place is None or not options.has_focus else min(place, last)
        options.display = bool(runs)
        names = ("pin", "difference", "rename_run", "delete_run")
        keys = {action_id.removesuffix("_run"): key(action_id) for action_id in names}
        hint = (KEYS if runs else NONE_YET).format(**keys)
        self.query_one("#runs-hint", Static).update(hint)
        self.query_one("#runs-now", Static).update(text)

    def enter(self) -> None:
        """Focus the list."""
        self.query_one(OptionList).focus()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if isinstance(event.option, RunOption) and event.option.run in self._runs.finished:
            self.post_message(self.Chosen(event.option.run))


class Side(Vertical):
    """Story and runs, one above the other."""

    def __init__(self, runs: Runs, id: str | None = None) -> None:
        super().__init__(id=id)
        self._runs = runs

    def compose(self) -> ComposeResult:
        yield Story(id="story")
        yield RunList(self._runs, id="runs")
