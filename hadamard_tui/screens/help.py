"""Help page: a newcomer's questions, and all keys by purpose, made from the registries."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from hadamard_tui.keyboard import ACTIONS, GROUPS, MOTIONS, key, panel_key, shown_keys
from hadamard_tui.screens.modal import Framed
from hadamard_tui.widgets.lines import Words

MOVE = "Move in lists, tables, heat maps and texts"


class Help(Framed[None]):
    """What am I seeing, and what can I press?"""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("question_mark", "dismiss(None)", id="help", show=False)]
    DEFAULT_CSS = """
    Help > Words { width: 92; scrollbar-size-vertical: 1; }
    Help Static { padding: 0 1 0 0; }
    """

    def compose(self) -> ComposeResult:
        with Words() as page:
            page.border_title = "hadamard-tui"
            read_on = f"{key('move-down')} {key('move-page-down')} read on"
            page.border_subtitle = f"{read_on} · {key('close')} closes"
            yield Static(_answers())
            yield Static(_keys())


def questions() -> tuple[tuple[str, str], ...]:
    """What a newcomer asks, and the answers, with the keys that there are between backticks."""
    return (
        (
            "What am I seeing?",
            "Each curve is one learner: its average loss over all rows after k examples, so the sooner it is "
            "down, the better. Its letter and colour are the same in the table below. "
            f"`{key('run')}` runs the set-up.",
        ),
        (
            "What are the dashed lines?",
            "What theory proves. No learner that a lower bound binds can stay below it on average: the "
            "shaded region is closed to all of them, and their curves have long dashes. Dotted lines are "
            "conjectures. In the table, a bound in parentheses does not bind that learner: it is the line to "
            "beat. The ratio is loss / bound.",
        ),
        (
            "What do the colours say?",
            "Which kind of learner it is, everywhere the same: blue are dense gradient rules, teal exact "
            "solvers and kernels, red to orange multiplicative rules, magenta spindly and sparse nets, "
            "yellow coordinate-wise and sign rules, violet spectral and second-order rules, grey-green all "
            "others. "
            "The lightness distinguishes learners of one kind; of many curves the letters do.",
        ),
        (
            "Why does one learner follow the line while another falls below it?",
            f"`{key('next_learner')}` selects one. `{panel_key('why')}` says which theorem binds it, "
            f"or why none does, `{panel_key('invariance')}` measures whether its predictions change when the "
            f"features are rotated, and `{panel_key('story')}` tells what the preset is about.",
        ),
        (
            "What else can I look at?",
            f"`{key('recipe')}` goes along the first row, which says what runs; enter exchanges it there. "
            f"`{key('full')}` shows the chart alone. `{key('presets')}` lists the presets by subject, "
            f"each with its chart. "
            f"`{key('command_palette')}` searches presets, parts, theorems and commands.",
        ),
        (
            "What do the other charts show?",
            "A chart of one run goes along examples, steps or time. With an axis, such "
            "as d, a set-up runs once per value, and a chart along the axis has one point per run. "
            f"`{key('vary')}` makes such an axis of the number at the cursor; the headline says by which law "
            "the curves grow. With two axes the chart is a heat map of one learner: the bar beside it says "
            "which shade is which value. A spectrum has the number of a singular value below it, largest "
            f"first. `{key('next_picture')}` goes from chart to chart, if there are several.",
        ),
        (
            "What do the words and signs mean?",
            "GD is gradient descent. EGU is unnormalised exponentiated gradient: a step multiplies every "
            "weight by exp(−η g), so weights stay positive. EGU± has a positive and a negative weight per "
            "feature. A spindly net is linear, and each of its weights is a product of two or more. In one "
            "pass, every example is shown once. A bound binds a learner that meets the conditions of the "
            "theorem; all others may fall below it. ≡ joins equal curves in the legend, ≈ curves that are "
            "close. A star after the name of a preset says that the set-up was changed.",
        ),
        (
            "What if something were different?",
            f"`{key('setup')}` shows or hides the set-up, `{key('focus_next')}` goes from field to field; "
            f"change one and press `{key('run')}`. `{key('undo')}` takes a change back. `{key('pin')}` keeps "
            "a run, so that the next is drawn over it.",
        ),
    )


def _answers() -> Text:
    text = Text()
    for question, answer in questions():
        text.append(f"{question}\n", "bold underline")
        for place, part in enumerate(answer.split("`")):
            text.append(part, "bold" if place % 2 else "")
        text.append("\n\n")
    return text


def _keys() -> Table:
    """Return all keys, below their purposes."""
    table = Table.grid(padding=(0, 2))
    for group in GROUPS:
        table.add_row("", Text(group, "bold"))
        for action in ACTIONS:
            if action.group == group:
                table.add_row(Text(shown_keys(action.id)), action.help)
        table.add_row()
    table.add_row("", Text(MOVE, "bold"))
    for motion in MOTIONS:
        table.add_row(Text(shown_keys(motion.id)), motion.help)
    return table
