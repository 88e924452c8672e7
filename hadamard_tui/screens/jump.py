"""Jump mode: each visible target shows a key, which focuses or opens the target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.errors import NoWidget
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from hadamard_tui.panels import DIGITS
from hadamard_tui.screens.modal import Modal
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.tabs import Tabs

LETTERS = "asdfghjklqwertyuiopzxcvbnm"
OWN = dict(
    zip(
        ("loss", "learners", "scoreboard", "panel-words", "story", "runs-list", "preset"),
        LETTERS,
        strict=False,
    )
)
"""Keys of the jump targets that always have the same key, by widget id."""
OTHERS = LETTERS[len(OWN) :] + LETTERS.upper()

WIDTH = len("[a]")

Place = Widget | int
"""Target of a jump, which is a widget or the number of a panel."""


class Spot(NamedTuple):
    """Target of a jump, such as a widget, and the screen cells that its label covers."""

    place: Place
    label: Region


def spots(page: Screen[Any]) -> dict[str, Spot]:
    """Return the targets of jump mode on a page, by key.

    They are the visible widgets that can have the focus, and on the main screen also the chart and the
    panels.
    """
    spots_by_key: dict[str, Spot] = {}
    other_keys = iter(OTHERS)
    for widget in (*page.query("#loss").results(ChartView), *page.focus_chain):
        label = next(
            (cells for cells in _label_cells(page, widget) if _is_uncovered(page, widget, cells)), None
        )
        if label is not None and (key := OWN.get(widget.id or "") or next(other_keys, None)):
            spots_by_key[key] = Spot(widget, label)
    for tabs in page.query(Tabs):
        for tab in tabs.in_sight:
            has_digit = tab.number <= DIGITS
            # The key of a tab without a digit covers the blank cell two cells before the word.
            column = tab.column if has_digit else max(tab.column - 2, 0)
            label = Region(tabs.region.x + column, tabs.region.y, 1, 1)
            tab_key = str(tab.number % 10) if has_digit else next(other_keys, None)
            if tab_key is not None and _is_uncovered(page, tabs, label):
                spots_by_key[tab_key] = Spot(tab.number, label)
    return spots_by_key


def _label_cells(page: Screen[Any], widget: Widget) -> Iterator[Region]:
    """Yield candidate cells for a widget's label: the end of its first row, then the start."""
    try:
        x, y, width, height = page.find_widget(widget).visible_region
    except NoWidget:
        return
    if width >= WIDTH and height:
        yield Region(x + width - WIDTH, y, WIDTH, 1)
        yield Region(x, y, WIDTH, 1)


def _is_uncovered(page: Screen[Any], widget: Widget, cells: Region) -> bool:
    try:
        tops = [page.get_widget_at(x, cells.y)[0] for x in range(*cells.column_span)]
    except NoWidget:
        return False
    return all(widget in top.ancestors_with_self for top in tops)


class Jump(Modal[Place | None]):
    """Screen that returns the target of the pressed key or clicked label; None for other keys and clicks."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"jump--label"}
    DEFAULT_CSS = """
    Jump { background: $background 35%; }
    Jump .jump--label, Jump #hint { background: $accent; color: $background; text-style: bold; }
    Jump #hint { dock: bottom; height: 1; padding: 0 1; }
    """

    def __init__(self, page: Screen[Any]) -> None:
        super().__init__()
        self._page = page
        self.spots = spots(page)

    def compose(self) -> ComposeResult:
        yield Static(
            "Jump: press the letter of a field or panel to go there, esc to stay", id="hint", markup=False
        )

    def on_mount(self) -> None:
        self._page.screen_layout_refresh_signal.subscribe(self, self._update_spots)

    def _update_spots(self, page: Screen[Any]) -> None:
        if (now := spots(page)) != self.spots:
            self.spots = now
            self.refresh()

    def render_line(self, y: int) -> Strip:
        strip, style = super().render_line(y), self.get_component_rich_style("jump--label")
        for key, (_, cells) in self.spots.items():
            if cells.y == y:
                label = Strip([Segment(f"[{key}]" if cells.width == WIDTH else key, style)], cells.width)
                strip = Strip.join([strip.crop(0, cells.x), label, strip.crop(cells.right)])
        return strip

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self._jump_to(self.spots.get(event.character or ""))

    def on_click(self, event: events.Click) -> None:
        on = (spot for spot in self.spots.values() if spot.label.contains(event.screen_x, event.screen_y))
        self._jump_to(next(on, None))

    def _jump_to(self, spot: Spot | None) -> None:
        if self.is_active:
            self.dismiss(None if spot is None else spot.place)
