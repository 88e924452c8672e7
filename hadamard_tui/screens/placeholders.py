"""Words of an empty chart, for every state of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hadamard_tui.keyboard import key

if TYPE_CHECKING:
    from hadamard_tui.running.session import Session

WORDS = {
    "waiting": "Waiting for the last run, which ends as soon as\nits data are drawn or its step is made.",
    "loading engine": "Loading the engine. The first time takes a second or two;\nevery key works meanwhile.",
    "preparing": "Drawing the data and computing the bounds.",
    "running": "The first evaluation point is being computed.",
    "paused": "Paused before the first evaluation point. {pause} goes on, {step} takes one step.",
    "stopped": "Stopped before the first evaluation point. {run} runs the set-up from the start.",
    "failed": "The engine could not run this.\nChange the set-up, or press {run} to try again.",
}


def waiting_words(session: Session) -> str:
    """Return the words in place of a chart."""
    words = WORDS.get(session.state, "")
    return words.format(run=key("run"), pause=key("pause"), step=key("step"))
