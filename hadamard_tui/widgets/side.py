"""Story and list of runs, beside the charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from engine.core.texts import printable
from hadamard_tui.keyboard import IN_LISTS, key, motions
from hadamard_tui.panels import claims, story
from hadamard_tui.panels.story import story_text
from hadamard_tui.running.runs import ListedRun, Runs, changes
from hadamard_tui.widgets.controls import Entry, Words, compact

if TYPE_CHECKING:
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from hadamard_tui.editing.document_edits import LeftOutClaim
    from hadamard_tui.panels.panel import PanelContext
    from hadamard_tui.running.runs import ListedRun, Runs

PINNED, ON_SCREEN = "●", "▸"
"""Sign of a pinned run (its curves are drawn, too), and sign of the run on the screen."""

AFTER_THE_RUN = "The story follows after the run, because it answers the question."

HEIGHT = 2
"""Number of text lines per row."""

INDENT = "   "
"""Blank cells before the second line of a row, as wide as the signs in the first line."""


class RunRows(ScrollView, can_focus=True):
    """List of runs, the newest last. One row is highlighted."""

    BINDINGS: ClassVar[list[BindingType]] = [*IN_LISTS, *motions(filter="screen.filter_runs")]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"run-rows--highlighted"}
    DEFAULT_CSS = """
    RunRows { background: transparent; scrollbar-size-vertical: 1; overflow-x: hidden; }
    RunRows > .run-rows--highlighted { background: $block-cursor-blurred-background; }
    RunRows:focus > .run-rows--highlighted {
        background: $block-cursor-background; color: $block-cursor-foreground;
    }
    """

    class Selected(Message):
        """Message: the user wants to see the run of a row on the screen."""

        def __init__(self, run: ListedRun) -> None:
            super().__init__()
            self.run = run

    class Highlighted(Message):
        """Message: the user moved the highlight of the list to another run."""

    def __init__(self, runs: Runs, id: str | None = None) -> None:
        super().__init__(id=id)
        self._runs = runs
        self._rows: Sequence[ListedRun] = ()
        self._trace: Trace | None = None
        self._place: int | None = None

    @property
    def highlighted(self) -> ListedRun | None:
        return None if self._place is None else self._rows[self._place]

    @property
    def count(self) -> int:
        return len(self._rows)

    def show(self, rows: Sequence[ListedRun], trace: Trace | None) -> None:
        """Show these rows, and highlight one of them. `trace` is the trace of the run on the screen.

        If the list has the focus and the highlighted row was not the last, its run stays highlighted.
        Otherwise, the last row becomes highlighted.
        """
        before, was_last = self.highlighted, self._place in (None, len(self._rows) - 1)
        self._rows, self._trace = rows, trace
        self.virtual_size = Size(0, HEIGHT * len(rows))
        place = len(rows) - 1
        if before is not None and self.has_focus and not was_last:
            names = [row.key for row in rows]
            place = names.index(before.key) if before.key in names else min(self._place or 0, place)
        self._place = place if rows else None
        self._scroll_to_place()

    def move(self, place: int) -> None:
        if self._rows:
            self._place = max(0, min(place, len(self._rows) - 1))
            self._scroll_to_place()

    def _scroll_to_place(self) -> None:
        self.refresh()
        self.post_message(self.Highlighted())
        if self._place is not None and (height := self.size.height):
            top = HEIGHT * self._place
            y = min(max(self.scroll_offset.y, top + HEIGHT - height), top)
            y = min(y, max(0, HEIGHT * len(self._rows) - height))
            self.scroll_to(y=y, animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        self.virtual_size = Size(0, HEIGHT * len(self._rows))
        self._scroll_to_place()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        place, line = divmod(self.scroll_offset.y + y, HEIGHT)
        if place >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        style = self.rich_style
        if place == self._place:
            style = self.get_component_rich_style("run-rows--highlighted")
        text = self.lines_of(self._rows[place], width)[line]
        text.truncate(width, overflow="ellipsis")
        strip = Strip(text.render(self.app.console)).adjust_cell_length(width)
        return strip.apply_style(style)

    def lines_of(self, row: ListedRun, width: int | None = None) -> tuple[Text, Text]:
        """Return the two lines of text in the row of a run. Differences that exceed `width` are counted.

        The first line holds signs, name, time, preset, state and tags. The second line holds a small chart,
        and the difference from the previous run or the headline of the run.
        """
        in_memory, stored = row.kept, row.stored
        is_shown = in_memory is not None and in_memory.trace is self._trace
        signs = f"{ON_SCREEN if is_shown else ' '}{PINNED if row.is_pinned else ' '} "
        first = Text.assemble(signs, (printable(row.name), "bold"))
        chart, words = "", ""
        if stored is not None:
            from hadamard_tui.running.run_words import began, small_chart, state

            tags = "".join(f" #{tag}" for tag in stored.tags)
            where = "" if stored.preset is None else f"  {row.preset}"
            fate = "" if stored.fate == "finished" else f"  {state(stored)}"
            first.append(printable(f"  {began(stored)}{where}{fate}{tags}"), "dim")
            chart = small_chart(stored.chart[::2])
            words = stored.headline or stored.title
        if in_memory is not None and not (in_memory.session.is_followed and stored is not None):
            room = None if width is None else width - cell_len(INDENT) - cell_len(chart) - bool(chart)
            words = self._runs.difference_of(in_memory, room) or words
        return first, Text.assemble(INDENT, f"{chart} " if chart else "", printable(words))

    def action_cursor_down(self) -> None:
        self.move((self._place or 0) + 1)

    def action_cursor_up(self) -> None:
        self.move((self._place or 0) - 1)

    def action_first(self) -> None:
        self.move(0)

    def action_last(self) -> None:
        self.move(len(self._rows))

    def action_page_down(self) -> None:
        self.move((self._place or 0) + max(1, self.size.height // HEIGHT))

    def action_page_up(self) -> None:
        self.move((self._place or 0) - max(1, self.size.height // HEIGHT))

    def action_select(self) -> None:
        if self.highlighted is not None:
            self.post_message(self.Selected(self.highlighted))

    def on_click(self, event: events.Click) -> None:
        place = (self.scroll_offset.y + event.y) // HEIGHT
        if 0 <= place < len(self._rows):
            self.move(place)
            self.action_select()


NONE_YET = "No run has ended yet. Run, press {pin}, change the set-up, and run again."
KEYS = (
    "enter shows it · {pin} pins or unpins · {difference} difference · {rename} renames · {delete} deletes "
    "· {filter} filters"
)
BACK = " · {undo} brings back the deleted run"


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
        self,
        context: PanelContext | None,
        experiment: Experiment,
        left_out: Sequence[LeftOutClaim] = (),
        is_hidden: bool = False,
    ) -> None:
        """Show the story of a run. If `context` is None, there is no run: show the story of the set-up.

        Args:
            left_out: claims that are not valid for the set-up, such as claims about a missing learner.
            is_hidden: whether to hide the story, because it would answer the question of a stop.
        """
        before = *story.expensive(experiment), *claims.left_out(left_out)
        told = Text(f"{AFTER_THE_RUN}\n", "italic") if is_hidden else story_text(experiment)
        words = Text("\n").join([told, *before])
        text = words if context is None else Text("\n").join([story.show(context), claims.show(context)])
        if text != self._text or text.spans != self._text.spans:
            self._text = text
            self.query_one(Static).update(text)


class RunList(Vertical):
    """List of this session's runs and of stored runs, with a filter and a description of one run.

    A run of this session is described by its difference from the previous run, and a stored run by its
    headline.
    """

    # These keys work while the filter has the focus. The rows have their own keys.
    BINDINGS: ClassVar[list[BindingType]] = [
        *motions(move_down="move('cursor_down')", move_up="move('cursor_up')")
    ]

    class Chosen(Message):
        """Message: the user wants to see a run of the list on the screen."""

        def __init__(self, run: ListedRun) -> None:
            super().__init__()
            self.run = run

    def __init__(self, runs: Runs, id: str | None = None) -> None:
        super().__init__(id=id)
        self._runs = runs
        self._shown: object = None
        self._now: tuple[Raw | None, Trace | None, str | None] = None, None, None

    def compose(self) -> ComposeResult:
        yield Static("", id="runs-hint", markup=False)
        yield compact(Entry("", id="runs-filter", placeholder="name, preset, date, tag or word"))
        yield RunRows(self._runs, id="runs-list")
        yield Static("", id="runs-now", markup=False)

    def on_mount(self) -> None:
        self.border_title = "Runs"
        self.query_one(Entry).display = False

    def on_show(self) -> None:
        self.show(*self._now)

    @property
    def selected(self) -> ListedRun | None:
        return self.query_one(RunRows).highlighted

    def show(self, now: Raw | None, shown: Trace | None = None, running: str | None = None) -> None:
        """Show the runs, if the list is visible.

        Args:
            now: the document of the run on the screen; None if this run is already in the list.
            shown: the trace of the run on the screen.
            running: the name under which the run on the screen is stored while it runs; None if it has ended.
        """
        self._now = now, shown, running
        if not all(widget.display for widget in self.ancestors_with_self):
            return
        finished, words = self._runs.finished, self.query_one(Entry).value
        signature = [(run, run.name, run.pinned) for run in finished], self._runs.stored, words, shown, now
        if signature == self._shown:
            return
        self._shown = (*signature[:1], dict(signature[1]), *signature[2:])
        rows = self._runs.listed(words, running)
        total = len(rows) if not words else len(self._runs.listed("", running))
        self.query_one(RunRows).show(rows, shown)
        self.border_subtitle = f"{len(rows):,} of {total:,}" if words else f"{total:,}" if total > 1 else ""
        action_ids = ("pin", "difference", "rename_run", "delete_run", "undo", "filter")
        keys = {action_id.removesuffix("_run"): key(action_id) for action_id in action_ids}
        hint = KEYS if total else NONE_YET
        if self._runs.deleted:
            hint += BACK
        self.query_one("#runs-hint", Static).update(hint.format(**keys))
        self._describe_run()

    def _describe_run(self) -> None:
        """Describe a run below the list of runs.

        If the run on the screen is not in the list, show its changes since the last finished run. Otherwise,
        if the list has the focus, show the two complete lines of the highlighted run.
        """
        document, _, _ = self._now
        finished, run = self._runs.finished, self.selected
        text = Text()
        if document is not None and finished:
            text = Text.assemble(("on the screen", "bold"), f"  {changes(finished[-1].document, document)}")
        elif run is not None and self.query_one(RunRows).has_focus:
            first, second = self.query_one(RunRows).lines_of(run)
            text = Text.assemble((first.plain.strip(" ●▸"), "bold"), "\n", second.plain.strip())
        self.query_one("#runs-now", Static).update(text)

    def enter(self) -> None:
        self.query_one(RunRows).focus()

    def filter(self) -> None:
        self.query_one(Entry).display = True
        self.query_one(Entry).focus()

    def action_move(self, motion: str) -> None:
        getattr(self.query_one(RunRows), f"action_{motion}")()

    def leave_filter(self) -> bool:
        """Close the filter, and return whether it was open."""
        filter_line = self.query_one(Entry)
        was_open, filter_line.display, filter_line.value = filter_line.display, False, ""
        return was_open

    @on(Entry.Changed)
    def _filter_typed(self, event: Entry.Changed) -> None:
        event.stop()
        self.show(*self._now)

    @on(Entry.Submitted)
    def _filter_submitted(self, event: Entry.Submitted) -> None:
        event.stop()
        self.enter()

    @on(RunRows.Highlighted)
    def _run_highlighted(self, event: RunRows.Highlighted) -> None:
        event.stop()
        self._describe_run()

    @on(RunRows.Selected)
    def _run_selected(self, event: RunRows.Selected) -> None:
        event.stop()
        self.post_message(self.Chosen(event.run))


class Side(Vertical):
    """Column with the story above the list of runs."""

    def __init__(self, runs: Runs, id: str | None = None) -> None:
        super().__init__(id=id)
        self._runs = runs

    def compose(self) -> ComposeResult:
        yield Story(id="story")
        yield RunList(self._runs, id="runs")
