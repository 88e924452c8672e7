"""Choose what the app opens with: the command line, or else the state of the last session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from engine.core.parts import BadInput
from engine.spec import presets
from hadamard_tui.colours.palette import ThemeName
from hadamard_tui.state import config, state_file
from hadamard_tui.state.config import Config
from hadamard_tui.state.state_file import KeptView, Memory
from hadamard_tui.terminal.standard_streams import lacks_letters
from hadamard_tui.tours import Tour, stops_to

if TYPE_CHECKING:
    from engine.spec.reading import Raw


@dataclass(frozen=True)
class Launch:
    """What the app opens with.

    Args:
        document: the experiment as a preset would say it.
        preset: name or file of the preset that the experiment is or was, if any.
        autorun: start the run at once.
        notes: lines to show to the person, as that a broken file was set aside.
        off: the learners of the set-up that are switched off, by their place among all.
        left_out: its claims that do not fit it, by their place among all.
        tour: the tour to lead through, if any.
        first: whether the app was never opened before and nothing is to run, so that it introduces itself.
    """

    document: Raw
    preset: str | None = None
    autorun: bool = False
    config: Config = field(default_factory=Config)
    view: KeptView = field(default_factory=KeptView)
    notes: Sequence[str] = ()
    tour: Tour | None = None
    first: bool = False
    off: dict[int, dict[str, Any]] = field(default_factory=dict)
    left_out: dict[int, dict[str, Any]] = field(default_factory=dict)


def begin(
    wanted: Raw | None,
    preset: str,
    autorun: bool,
    reset: bool,
    theme: str | None,
    ascii_only: bool,
    view: Sequence[str] = (),
    answers: Sequence[str] = (),
) -> Launch:
    """Return what the app opens with.

    Args:
        wanted: set-up from the command line, `preset` with changes; None for the saved set-up.
        preset: preset to take if nothing is wanted and nothing is saved.
        reset: ignore the saved set-up and view.
        answers: lines about the command line, to show to the person.
        view: changes of the view, such as `panel=svd`; with any, the saved view is ignored.

    Raises: BadInput for a theme that does not exist, or an invalid view.
    """
    configured, complaints = config.read()
    memory, lost = (Memory(), "") if reset else state_file.read()
    if view:
        memory.view = state_file.looked_at(KeptView(theme=memory.view.theme), view)
    if theme is not None:
        try:
            memory.view.theme = msgspec.convert(theme, ThemeName)
        except msgspec.ValidationError as error:
            raise BadInput("--theme", f"{theme!r} is unknown; use dark, light or contrast") from error
    if ascii_only or lacks_letters():
        configured = msgspec.structs.replace(configured, ascii=True)
    first = wanted is None and memory.experiment is None and not autorun
    off: dict[int, dict[str, Any]] = {}
    left_out: dict[int, dict[str, Any]] = {}
    if wanted is None and (wanted := memory.set_up()) is not None:
        preset, off, left_out = memory.preset or preset, memory.off, memory.left_out
    document = wanted or presets.document(preset)
    notes = [*answers, *complaints, *([lost] if lost else [])]
    return Launch(document, preset, autorun, configured, memory.view, notes, None, first, off, left_out)


def begin_tour(stops: Sequence[str], alone: bool, theme: str | None, ascii_only: bool) -> Launch:
    """Return a tour through presets and talks, without the set-up panels.

    Raises: BadInput for a preset, talk or theme that does not exist.
    """
    tour = Tour(stops_to(stops), alone)
    start = begin(tour.editable.document, tour.stop.preset, False, True, theme, ascii_only)
    start.view.setup_hidden = True
    return replace(start, tour=tour, first=False)
