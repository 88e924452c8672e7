"""Where to go from a preset: the next stop of its paths, its break, and other learners."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from hadamard_tui import NAME
from hadamard_tui.tours.talk import break_at, is_path, talks

if TYPE_CHECKING:
    from hadamard_tui.tours.tour import Break


@cache
def onward(preset: str | None, break_key: str = "") -> tuple[str, ...]:
    """Return the sentences at the end of a preset's story; none if it is no stop of a path or talk.

    `break_key` breaks the preset in the app; without one its command line is named.
    """
    return tuple(_sentences(preset, break_key)) if preset is not None else ()


def command(preset: str, change: Break) -> str:
    """Return the command line that runs a preset with its break."""
    settings = (f"--set {shlex.quote(setting)}" for setting in change.set)
    return f"{NAME} run {preset} {' '.join(settings)}"


def _sentences(preset: str, break_key: str) -> Iterator[str]:
    learners: list[str] = []
    for name, talk in talks().items():
        for number, stop in enumerate(talk.stops):
            if stop.preset != preset or stop.set:
                continue
            if is_path(talk):
                following = talk.stops[number + 1 :]
                after = f"Next: {following[0].preset}" if following else "The last stop"
                yield f"{after} (path {name}: {talk.title})."
            if stop.learns and stop.learns not in learners:
                learners.append(stop.learns)
    if (change := break_at(preset)) is not None:
        way = f"{break_key} sets {', '.join(change.set)}" if break_key else command(preset, change)
        yield f"Break it: {way}. {change.text}"
    if learners:
        yield f"Who else learns: {'; '.join(learners)}."
