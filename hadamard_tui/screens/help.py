"""The help page, made from the registry of actions."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from hadamard_tui.keyboard.actions import ACTIONS
from hadamard_tui.keyboard.keymap import placed
from hadamard_tui.screens.modal import Modal

WHAT = (
    "Each curve is a learner's average loss over all rows after k examples. Dashed lines are what theory "
    "proves: no learner that a bound applies to can stay below it on average. Learners that can tell "
    "features apart may, and do.\n\n"
    "In the table, a bound in parentheses does not bind that learner: it is the line to beat. The ratio is "
    "loss / bound; far below 1 is what rotation-invariant learners cannot do. The theory panel says why."
)


class Help(Modal[None]):
    """What am I seeing, and what can I press?"""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "dismiss", "Close")]
    DEFAULT_CSS = """
    Help { align: center middle; }
    Help > VerticalScroll {
        width: 76; max-width: 96%; height: auto; max-height: 96%;
        border: round $primary; padding: 0 1; background: $surface;
    }
    """

    def compose(self) -> ComposeResult:
        table = Table.grid(padding=(0, 2))
        for group in dict.fromkeys(action.group for action in ACTIONS):
            table.add_row("", Text(group, "bold"))
            for action in ACTIONS:
                if action.group == group:
                    table.add_row(placed(action).shown_keys, action.help)
        with VerticalScroll() as page:
            page.border_title = "hadamard-tui"
            page.border_subtitle = "esc closes"
            yield Static(WHAT + "\n")
            yield Static(table)
