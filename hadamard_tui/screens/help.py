"""Pages to read: welcome, help with all keys, and the documentation of a part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from engine.core import catalogue
from engine.core.parts import docstring
from engine.spec import presets, theory_pages
from engine.spec.preset_index import naming
from hadamard_tui.browsing.preset_list import NEW, NEW_TITLE, OWN_TABLE, OWN_TABLE_TITLE
from hadamard_tui.charts.line_heads import head
from hadamard_tui.keyboard import ACTIONS, GROUPS, MOTIONS, action_of, key, panel_key, shown_keys
from hadamard_tui.screens.modal import Framed
from hadamard_tui.screens.theory_page import cited_sections, page_of, section_option
from hadamard_tui.tours import paths
from hadamard_tui.widgets.controls import Lines, Words

if TYPE_CHECKING:
    from engine.spec.theory_pages import Section

MOVE = "Move in lists, tables, heat maps and texts"


class Help(Framed[None]):
    """Page that explains the screen and lists all keys."""

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
            yield Static(_answers_text())
            yield Static(_key_table())


def questions() -> tuple[tuple[str, str], ...]:
    """Return pairs of a newcomer's question and its answer. Keys are between backticks."""
    return (
        (
            "What am I seeing?",
            "Each curve is one learner: its average loss over all rows after k examples. The earlier a curve "
            "falls, the better. Its letter and colour are the same in the table below. "
            f"`{key('run')}` runs the set-up.",
        ),
        (
            "What are the dashed lines?",
            "They are theory lines, except for curves with long dashes. A lower bound applies to some "
            "learners: on average, their loss cannot stay below this bound, in the shaded region. The curves "
            "of these learners have long dashes. Curves of other learners can stay in the shaded region. "
            "Dotted lines are conjectures. "
            "In the table, a bound in parentheses does not apply to the learner, whose loss may be lower. "
            "The ratio is loss / bound.",
        ),
        (
            "What do the colours say?",
            "The hue of a curve shows the kind of the learner. Dense gradient rules are blue, and exact "
            "solvers and kernels are teal. Multiplicative rules are red to orange, spindly nets (one edge "
            "per input) and sparse nets magenta, coordinate-wise and sign rules yellow, spectral and "
            "second-order rules violet. All other learners are grey-green. The lightness distinguishes "
            "learners of one kind. If there are many learners, only the letters distinguish them.",
        ),
        (
            "Why does one learner follow the bound while another falls below it?",
            f"`{key('next_learner')}` selects a learner. `{panel_key('why')}` shows which theorem "
            f"applies to this learner, or why none does. `{panel_key('invariance')}` measures whether the "
            f"learner's predictions change when the features are rotated. `{panel_key('story')}` shows what "
            "the preset is about.",
        ),
        (
            "What else can I look at?",
            f"`{key('recipe')}` goes to the first row, which lists the parts of the run, and the enter key "
            f"exchanges a part. `{key('full')}` shows the chart alone. `{key('presets')}` lists the presets "
            f"by subject, each with its chart. `{key('command_palette')}` searches presets, parts, "
            "theorems and commands.",
        ),
        (
            "What do the other charts show?",
            "The x-axis of a run shows examples, steps or time. A sweep axis, such as d, runs the set-up "
            "once for each of its values. A chart along the axis then has one point per run. "
            f"`{key('vary')}` makes a sweep axis from the number at the cursor. The headline above the chart "
            "then states a law for the growth of the curves along this axis. With two sweep axes, the chart "
            "is a heat map of one learner, and the bar beside it shows the value of each shade. A spectrum "
            "shows singular values, the largest first. "
            f"`{key('next_picture')}` shows the next chart, if there is one.",
        ),
        (
            "What do the words and signs mean?",
            "GD is gradient descent. EGU is unnormalised exponentiated gradient: a step multiplies every "
            "weight by exp(−η g), so weights stay positive. EGU± has a positive and a negative weight per "
            "feature. A spindly net is linear, and each of its weights is a product of two or more numbers. "
            "In one pass, every example is shown once. A bound binds a learner that meets the conditions of "
            "the theorem; other learners may fall below it. In the legend, ≡ joins equal curves, and ≈ joins "
            "curves that are close. A star after the name of a preset means that the set-up was changed.",
        ),
        (
            "What if something were different?",
            f"`{key('setup')}` shows or hides the set-up, and `{key('focus_next')}` goes from field to "
            f"field. Change a field and press `{key('run')}`. `{key('undo')}` undoes a change. "
            f"`{key('pin')}` pins a run, so that the next run is drawn over it.",
        ),
    )


def _answers_text() -> Text:
    text = Text()
    for question, answer in questions():
        text.append(f"{question}\n", "bold underline")
        for place, part in enumerate(answer.split("`")):
            text.append(part, "bold" if place % 2 else "")
        text.append("\n\n")
    return text


def _key_table() -> Table:
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


FIRST = ("hadamard-128", "hadamard-d", "rotated-128")
WHAT = (
    "Watch learners train against the lower bounds that theory proves, "
    "see which learners fall below a bound, and read why."
)


WALK = "Or follow a guided path: predict each result, run the preset, and read why"
"""Line above the paths. With a second line, the page would cover the footer of a screen of 80 × 24 cells."""


class Welcome(Framed[str | None]):
    """Welcome page. It returns the name of the chosen preset or path, or None if the user closes it."""

    DEFAULT_CSS = """
    Welcome > Vertical { max-width: 100%; max-height: 100%; padding: 1 1; }
    Welcome OptionList { margin: 1 0 0 0; }
    """

    def compose(self) -> ComposeResult:
        with Vertical() as page:
            page.border_title = "hadamard-tui"
            yield Static(WHAT, markup=False)
            first = (preset_option(preset_name, presets.load(preset_name).title) for preset_name in FIRST)
            new = Option(f"Or start from nothing: {_title_in_sentence(NEW_TITLE)}", id=NEW)
            own_data = Option(f"Or bring your own data: {_title_in_sentence(OWN_TABLE_TITLE)}", id=OWN_TABLE)
            yield Lines(*first, Option(WALK, disabled=True), *_path_options(), new, own_data, compact=True)

    def on_key(self, event: events.Key) -> None:
        """Handle a key of the main screen while the welcome page is open.

        The keys that start or pause a run open the highlighted line of the page. The help key opens the help.
        Any other key closes this page and acts on the main screen.
        """
        action = action_of(event.key) if event.is_printable else None
        if action is None:
            return
        event.stop()
        if action.id == "help":
            self.app.push_screen(Help())
        elif action.id in ("run", "pause"):
            self.query_one(OptionList).action_select()
        else:
            laboratory = self.app.screen_stack[0]
            self.dismiss(None)
            self.app.call_later(laboratory.run_action, action.name)

    @on(OptionList.OptionHighlighted)
    def _show_keys(self, event: OptionList.OptionHighlighted) -> None:
        """Show in the border what enter does: a preset runs at once, and other lines open first."""
        opens = f"{key('choose')} {'runs' if event.option_id in FIRST else 'opens'}"
        hints = f"{key('presets')} lists presets · {key('help')} shows help"
        self.query_one(Vertical).border_subtitle = f"{opens} · {hints} · {key('close')} closes"

    @on(OptionList.OptionSelected)
    def _preset_chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)


def _title_in_sentence(title: str) -> str:
    return f"{title[0].lower()}{title[1:]}"


def _path_options() -> Iterator[Option]:
    for path_name, path in paths().items():
        yield Option(f"  {path.title}", id=path_name)


def preset_option(name: str, title: str) -> Option:
    return Option(Text.assemble((name, "bold"), f"\n  {title}"), id=name)


class PartPage(Framed[str | None]):
    """Page that documents a part of experiments, such as an update rule.

    It returns the preset chosen from its list, or None if it is closed.
    """

    def __init__(self, family: str, kind: str) -> None:
        super().__init__()
        self._family, self._kind = family, kind

    def compose(self) -> ComposeResult:
        with Words() as page:
            page.border_title = Text(f"{self._family.capitalize()}: {self._kind}")
            shown = [preset_option(entry.name, entry.title) for entry in naming(self._kind)]
            sections = self._cited_sections()
            closes = f"{key('close')} closes"
            page.border_subtitle = (
                f"{key('choose')} opens the entry · {closes}" if shown or sections else closes
            )
            yield Static(about(self._family, self._kind))
            if sections:
                yield Static(Text("\nTheory", "bold"))
                yield Lines(*map(section_option, sections), compact=True)
            if shown:
                yield Static(Text("\nPresets that use this part", "bold"))
                yield Lines(*shown, compact=True)
            else:
                yield Static(Text("\nNo preset uses this part.", "italic"))

    def _cited_sections(self) -> list[Section]:
        member = catalogue.members(self._family)[self._kind]
        return cited_sections(f"{docstring(member)} {getattr(member, 'source', '')}")

    def on_mount(self) -> None:
        for options in self.query(OptionList):
            options.focus(scroll_visible=False)

    @on(OptionList.OptionSelected)
    def _line_chosen(self, event: OptionList.OptionSelected) -> None:
        if event.option_id in theory_pages.sections():
            self.app.push_screen(page_of([theory_pages.find(event.option_id)]))
        else:
            self.dismiss(event.option_id)


def about(family: str, kind: str) -> Text:
    from engine.theory import statement

    member: Any = catalogue.members(family)[kind]
    text = head(statement(member())).append("\n\n") if family == "theory" else Text()
    paragraphs = docstring(member).split("\n\n")
    return text.append("\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs))
