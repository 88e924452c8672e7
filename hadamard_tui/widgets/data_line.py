"""Line above the status about how the user's data files were read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Static

from engine.core.parts import BadInput

if TYPE_CHECKING:
    from engine.problems.problem import Problem


class DataLine(Static):
    """Words about how instances and labels were read; without files it takes no room."""

    DEFAULT_CSS = """
    DataLine { display: none; height: auto; max-height: 2; padding: 0 1; color: $text-muted; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._problem: Problem | None = None
        self._sentence = ""

    def show(self, problem: Problem) -> None:
        """Show how the data of a problem were read, if the problem has changed."""
        if problem is self._problem:
            return
        self._problem = problem
        try:
            sentence = problem.data_sentence
        except BadInput:  # a file is gone meanwhile, which the set-up says
            sentence = ""
        if sentence != self._sentence:  # to lay out the screen anew takes longer than to draw a step
            self._sentence, self.display = sentence, bool(sentence)
            self.update(f"data: {sentence}")
