"""List of the learners of a set-up, with those that are off or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual.widgets import OptionList

from hadamard_tui.charts.series_builder import colour, mark
from hadamard_tui.colours.contrast import legible
from hadamard_tui.widgets.lines import Lines

if TYPE_CHECKING:
    from hadamard_tui.editing.editable_experiment import EditableExperiment


class LearnerList(Lines):
    """One line per learner; moving in it selects. It notifies only of what a person does."""

    DEFAULT_CSS = """
    LearnerList {
        height: auto; max-height: 9; border: none; padding: 0;
        background: transparent; scrollbar-size-vertical: 1;
    }
    LearnerList:focus { border: none; }
    """

    def show(self, editable: EditableExperiment, selected: int) -> None:
        """Show the learners of a set-up."""
        with self.prevent(OptionList.OptionHighlighted):
            self.write([line(editable, number) for number in range(len(editable.learners))])
            self.highlighted = selected


def line(editable: EditableExperiment, number: int) -> Text:
    """Return a learner in one line: its letter in charts, its name, and how it learns."""
    values = editable.learners[number]
    place = editable.place_in_run(number)
    if editable.refused(number):
        sign, style = "▲", "bold"
    elif place is None:
        sign, style = "○", "dim"
    else:
        kind_place = editable.kind_places.get(str(values["name"]))
        sign, style = mark(editable.letters[number]), f"bold {legible(colour(kind_place))}"
    off = "off, " if place is None else ""
    return Text.assemble((f"{sign} ", style), str(values["name"]), (f"  {off}{method(values)}", "dim"))


def method(values: dict[str, Any]) -> str:
    """Return the parts of a learner by their names in preset files."""
    parts = (values.get(part) for part in ("architecture", "update", "solver"))
    return " · ".join(str(part["kind"]) for part in parts if part)
