"""Line with the set-up's error, which takes no room without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Static

from hadamard_tui.editing.history import in_words

if TYPE_CHECKING:
    from hadamard_tui.editing.editable_experiment import EditableExperiment


class Status(Static):
    """Shows which value of the set-up cannot run, and why: its field may be out of sight."""

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
        """Show what is wrong with a set-up, if that has changed."""
        error = editable.error
        message = "" if error is None else f"▲ fix {in_words(editable, error.where)}: {error.fault}"
        if message != self._message:
            self._message, self.display = message, bool(message)
            self.update(message)
