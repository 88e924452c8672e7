"""Lines of text above and below the charts: headline, data files, machine, error of the set-up, footer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from engine.core.parts import BadInput
from hadamard_tui.charts.drawing.raster import elided
from hadamard_tui.editing.history import place_in_words
from hadamard_tui.keyboard import AT_REST, FOOTER, IN_A_RUN, ON_A_PATH

if TYPE_CHECKING:
    from engine.core.machine import MachineSample
    from engine.problems.problem import Problem
    from hadamard_tui.editing.editable_experiment import EditableExperiment


class Caption(Static):
    """Text on one or two lines. If it does not fit, it ends in an ellipsis.

    A text with a line break keeps its two lines at every width.
    """

    DEFAULT_CSS = """
    Caption { height: 1; padding: 0 1; text-style: bold; text-wrap: wrap; text-overflow: ellipsis; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._words = ""

    def say(self, words: str) -> None:
        if words != self._words:
            self._words = words
            self._fit_lines()

    def on_resize(self, event: events.Resize) -> None:
        self._fit_lines()

    def _fit_lines(self) -> None:
        width = self.content_size.width
        first_line, separator, rest = self._words.partition("\n")
        if separator and width > 0:
            text, lines = f"{elided(first_line, width)}\n{elided(rest, width)}", 2
        else:
            lines = 2 if 0 < width < cell_len(self._words) else 1
            first_line, *more_lines = wrap(self._words, width) if lines == 2 else [self._words]
            text = f"{first_line} {elided(' '.join(more_lines), width)}".rstrip()
        self.update(text, layout=False)
        if self.size.height != lines:
            self.styles.height = lines


class DataLine(Static):
    """Line that says how instances and labels were read from files. It is hidden if there are no files."""

    DEFAULT_CSS = """
    DataLine { display: none; height: auto; max-height: 2; padding: 0 1; color: $text-muted; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._problem: Problem | None = None
        self._sentence = ""

    def show(self, problem: Problem) -> None:
        if problem is self._problem:
            return
        self._problem = problem
        try:
            sentence = problem.data_sentence
        except BadInput:  # a file no longer exists; the set-up reports this
            sentence = ""
        if sentence != self._sentence:  # an update lays out the screen, which takes longer than one frame
            self._sentence, self.display = sentence, bool(sentence)
            self.update(f"data: {sentence}")


class MachineLine(Static):
    """Line with load and memory of the machine that computes the run. It is hidden if no run is going on."""

    DEFAULT_CSS = """
    MachineLine {
        display: none; height: 1; padding: 0 1; color: $text-muted;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    MachineLine.-there { display: block; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._sample: MachineSample | None = None

    def show(self, sample: MachineSample | None) -> None:
        if sample is self._sample:
            return
        self._sample = sample
        self.set_class(sample is not None, "-there")
        if sample is not None:
            from engine.core.machine import in_words

            self.update(f"machine: {in_words(sample)}", layout=False)


class Status(Static):
    """Line with the error of an invalid set-up.

    The error names the wrong value, because the field of the value may be out of sight.
    """

    DEFAULT_CSS = """
    Status {
        display: none; height: 1; padding: 0 1; background: $boost; color: $text-error;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._message = ""

    def show(self, editable: EditableExperiment) -> None:
        error = editable.error
        message = "" if error is None else f"▲ fix {place_in_words(editable, error.where)}: {error.fault}"
        if message != self._message:
            self._message, self.display = message, bool(message)
            self.update(message)


_GAP = 2

FooterEntry = tuple[str, str, str]
"""Key, label and action of a footer entry."""


class Keys(Widget):
    """Footer that lists keys on one line. It leaves out entries that do not fit completely.

    A click on an entry has the effect of its key.
    """

    DEFAULT_CSS = """
    Keys {
        height: 1; padding: 0 1; link-style: none;
        background: $footer-background; color: $footer-description-foreground;
    }
    """

    entries: reactive[dict[str, FooterEntry]] = reactive[dict[str, FooterEntry]](dict)
    """Footer entries by action id."""

    in_a_run: reactive[bool] = reactive(False)
    """Whether a run is in progress."""

    labels: reactive[dict[str, str]] = reactive[dict[str, str]](dict)
    """Labels to show in place of the actions' own labels, by action id. An empty label removes the entry."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)
        self.call_after_refresh(self._bindings_changed, self.screen)

    def _bindings_changed(self, screen: Screen[object]) -> None:
        entries: dict[str, FooterEntry] = {}
        for _, binding, enabled, _ in screen.active_bindings.values():
            if enabled and binding.id in FOOTER and binding.id not in entries:
                action = binding.action if "." in binding.action else f"screen.{binding.action}"
                if label := self.labels.get(binding.id, binding.description):
                    entries[binding.id] = self.app.get_key_display(binding), label, action
        self.entries = entries

    def watch_labels(self) -> None:
        self._bindings_changed(self.screen)

    def render(self) -> Content:
        at_rest = ON_A_PATH if "next_stop" in self.entries else AT_REST
        ranked = IN_A_RUN if self.in_a_run else at_rest
        return Content("  ").join(
            Content.assemble(
                Content.from_markup(f"[bold $footer-key-foreground @click={action}]$key[/]", key=key),
                " ",
                Content.from_markup(f"[@click={action}]$label[/]", label=label),
            )
            for key, label, action in fitting(self.entries, ranked, self.content_size.width)
        )


def fitting(entries: Mapping[str, FooterEntry], ranked: Sequence[str], width: int) -> list[FooterEntry]:
    """Return the entries that fit into `width` cells, in the order of the footer.

    If not all entries fit, entries that come first in `ranked` take precedence.
    """
    fitting_ids: set[str] = set()
    for id in ranked:
        if id in entries:
            key, label, _ = entries[id]
            needed = cell_len(key) + 1 + cell_len(label) + (_GAP if fitting_ids else 0)
            if needed <= width:
                fitting_ids.add(id)
                width -= needed
    return [entries[id] for id in FOOTER if id in fitting_ids]
