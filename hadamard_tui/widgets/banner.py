"""Banner of a tour: the current stop, its story, and the current numbers in large digits."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Digits, Label, Static

from engine.core.expressions import number
from engine.pictures.view import FROM_BELOW, along_records
from engine.pictures.wording import x_name
from hadamard_tui.charts.plots.values import looked_at
from hadamard_tui.widgets.scoreboard import brief_measured, value_text

if TYPE_CHECKING:
    from hadamard_tui.charts.plots.look import Look
    from hadamard_tui.tours import Tour

NOTHING = "–"
COMPARED = "-compared"
"""Class of a banner that shows the ratio of a value to its theory line."""

PLACES = 3
"""Decimal places of values and ratios."""

LINES = 5
"""Height of the banner in lines. The style sheet of `Banner` states the same number."""


class Number(Vertical):
    """Widget that shows a number in large digits above its label."""

    DEFAULT_CSS = """
    Number { width: auto; min-width: 13; height: auto; margin: 0 0 0 2; }
    Number Digits { width: auto; min-width: 12; }
    Number Label { color: $text-muted; }
    """

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._number_and_label = ("", "")

    def compose(self) -> ComposeResult:
        yield Digits(NOTHING)
        yield Label("")

    def show(self, number: str, label: str, brief: str = "") -> None:
        """Show a number above its label. On a narrow screen, a non-empty `brief` replaces the label."""
        if brief and self.screen.has_class("-narrow"):
            label = brief
        if (number, label) != self._number_and_label:
            self._number_and_label = number, label
            self.query_one(Digits).update(number)
            self.query_one(Label).update(Text(label))


class Banner(Horizontal):
    """Banner above the main screen during a tour."""

    DEFAULT_CSS = """
    Banner { height: 5; padding: 0 1; background: $boost; }
    Banner #words { width: 1fr; height: 5; }
    Banner #ratio { display: none; }
    Banner.-compared #ratio { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._words = ("", "", "", 0)
        """Displayed text: its first line, its other lines, its hint, and its width in cells."""

    def compose(self) -> ComposeResult:
        yield Static("", id="words", markup=False)
        yield Number("seen")
        yield Number("best")
        yield Number("ratio")

    def show(
        self,
        tour: Tour,
        step: str,
        title: str,
        words: str,
        hint: str,
        look: Look | None,
        seconds: float | None,
    ) -> None:
        """Show the current stop, the elapsed time, and the numbers at the playhead.

        Args:
            step: the current step of the stop, such as "predict"; empty if the stop has no steps.
            title: the title of the stop. It is left out if the stop has a speaker's text, and the first line
                is too short for the title.
            words: the text for this step. If it does not fit, it ends in an ellipsis.
            hint: a sentence after the text. It is left out if it does not fit.
            seconds: the time since the start of the tour; None shows no time.
        """
        static = self.query_one("#words", Static)
        since = "" if seconds is None else f"  {seconds // 60:.0f} min"
        right, total = tour.score
        score = f"  score {right}/{total}" if total else ""
        where = f"{tour.place + 1} of {len(tour.stops)}"
        place = f"{where}{f' · {step}' if step else ''}{since}{score}"
        width = static.size.width
        head = f"{place}  {title}".rstrip()
        if tour.stop.line and len(head) > width:
            head = place  # the speaker's words are more important than the title
        layout_state = head, words, hint, width
        if layout_state != self._words:
            self._words = layout_state
            text = fitting(head, words, width, hint)
            static.update(Text.assemble((head, "bold"), "\n", text), layout=False)
        seen, best, ratio = (self.query_one(f"#{id}", Number) for id in ("seen", "best", "ratio"))
        if look is None or look.shown_at is None:
            for shown in (seen, best, ratio):
                shown.show("", "")
            return
        place, last = number(look.shown_at), f"of {number(look.view.places[-1])}"
        if look.ended_low:
            at = f"at {x_name(look.view)} = {place}"
            seen.show(place, f"{at} {last}", at)
        elif along_records(look.view):
            seen.show(place, f"{look.view.axes.x_label} {last}", last)
        else:  # "of 1024" would read like the progress of a run
            seen.show(place, look.view.axes.x_label, x_name(look.view))
        now, value_name = looked_at(look, ""), brief_measured(look.view)
        self.set_class(now is not None and now.line is not None, COMPARED)
        if now is None or now.value is None:
            best.show(NOTHING, value_name)
            return
        best.show(
            value_text(now.value, now, PLACES), f"{value_name} of {now.name}", f"{now.mark}: {value_name}"
        )
        if now.line is None:
            return
        line = "bound" if now.line.direction in FROM_BELOW else "line"
        ratio.show(
            NOTHING if now.ratio is None else f"{now.ratio:.3f}",
            f"{value_name} / {line}",
            f"{now.mark}: {value_name}/{line}",
        )

    def has_title(self, title: str) -> bool:
        """Return whether the first line of the banner ends with this title.

        At stops with a speaker's text, a title that does not fit is left out.
        """
        return self._words[0].endswith(title)


def fitting(head: str, story: str, width: int, hint: str = "") -> str:
    """Return as many first sentences of a story as fit into the banner below the line `head`.

    An ellipsis follows if sentences are left out. `hint` follows the whole story, if it fits.
    """
    width = max(width, 1)
    room = LINES - len(wrap(head, width))

    def fits(text: str) -> bool:
        return len(wrap(text, width)) <= room

    sentences = re.split(r"(?<=[.;!?]) ", " ".join(story.split()))
    for count in range(len(sentences), 0, -1):
        text = " ".join(sentences[:count])
        if count < len(sentences):
            text = f"{text.rstrip(';')} …"
        elif hint and fits(f"{text} {hint}"):
            return f"{text} {hint}"
        if fits(text):
            return text
    return ""
