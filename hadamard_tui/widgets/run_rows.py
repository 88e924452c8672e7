"""Rows of the list of runs. Only visible rows are drawn, because 10 000 runs may exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from engine.core.texts import printable
from hadamard_tui.keyboard import IN_LISTS, motions

if TYPE_CHECKING:
    from engine.results.trace import Trace
    from hadamard_tui.running.runs import ListedRun, Runs

PINNED, ON_SCREEN = "●", "▸"
"""Signs of a pinned run, whose curves are also drawn, and of the run on the screen."""

HEIGHT = 2
"""Number of text lines per row."""


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
        """Highlighted run, or None if the list is empty."""
        return None if self._place is None else self._rows[self._place]

    @property
    def count(self) -> int:
        """Number of rows in the list of runs."""
        return len(self._rows)

    def show(self, rows: Sequence[ListedRun], trace: Trace | None) -> None:
        """Show these rows, and highlight one of them. `trace` is the trace of the run on the screen.

        If the list has the focus and a row other than the last was highlighted, the same run stays
        highlighted. Otherwise, the last row is highlighted.
        """
        before, was_last = self.highlighted, self._place in (None, len(self._rows) - 1)
        self._rows, self._trace = rows, trace
        self.virtual_size = Size(0, HEIGHT * len(rows))
        place = len(rows) - 1
        if before is not None and self.has_focus and not was_last:
            names = [row.key for row in rows]
            place = names.index(before.key) if before.key in names else min(self._place or 0, place)
        self._place = place if rows else None
        self._follow()

    def move(self, place: int) -> None:
        """Highlight the row at `place` in the list of runs, or the nearest row if there is none."""
        if self._rows:
            self._place = max(0, min(place, len(self._rows) - 1))
            self._follow()

    def _follow(self) -> None:
        """Scroll to the highlighted row."""
        self.refresh()
        self.post_message(self.Highlighted())
        if self._place is not None and (height := self.size.height):
            top = HEIGHT * self._place
            y = min(max(self.scroll_offset.y, top + HEIGHT - height), top)
            y = min(y, max(0, HEIGHT * len(self._rows) - height))
            self.scroll_to(y=y, animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        self.virtual_size = Size(0, HEIGHT * len(self._rows))
        self._follow()

    def render_line(self, y: int) -> Strip:
        """Return line `y` of the visible part of the list."""
        width = self.scrollable_content_region.width
        place, line = divmod(self.scroll_offset.y + y, HEIGHT)
        if place >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        style = self.rich_style
        if place == self._place:
            style = self.get_component_rich_style("run-rows--highlighted")
        text = self.lines_of(self._rows[place])[line]
        text.truncate(width, overflow="ellipsis")
        strip = Strip(text.render(self.app.console)).adjust_cell_length(width)
        return strip.apply_style(style)

    def lines_of(self, row: ListedRun) -> tuple[Text, Text]:
        """Return the two lines of text in the row of a run.

        The first line holds signs, name, time, preset, state and tags. The second line holds a small chart,
        and the difference from the previous run or the headline of the run.
        """
        in_memory, stored = row.kept, row.stored
        is_shown = in_memory is not None and in_memory.trace is self._trace
        signs = f"{ON_SCREEN if is_shown else ' '}{PINNED if row.is_pinned else ' '} "
        first = Text.assemble(signs, (printable(row.name), "bold"))
        chart, words = "", ""
        if in_memory is not None and not (in_memory.session.is_followed and stored is not None):
            words = self._runs.difference_of(in_memory)
        if stored is not None:
            from hadamard_tui.running.run_words import began, small_chart, state

            tags = "".join(f" #{tag}" for tag in stored.tags)
            where = "" if stored.preset is None else f"  {row.preset}"
            fate = "" if stored.fate == "finished" else f"  {state(stored)}"
            first.append(printable(f"  {began(stored)}{where}{fate}{tags}"), "dim")
            chart = small_chart(stored.chart[::2])
            words = words or stored.headline or stored.title
        return first, Text.assemble("   ", f"{chart} " if chart else "", printable(words))

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
        """If a run is under the pointer, highlight the run and ask to show it."""
        place = (self.scroll_offset.y + event.y) // HEIGHT
        if 0 <= place < len(self._rows):
            self.move(place)
            self.action_select()
