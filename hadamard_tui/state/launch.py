"""Set-up and options of the app at its start, from the command line or the last session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
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
    from engine.runtime.spreading import Begin
    from engine.spec.reading import Raw


@dataclass(frozen=True)
class Launch:
    """Set-up and options of the app at its start.

    Args:
        document: the experiment as a preset document.
        preset: name or file of the preset that the experiment was made from; None if there was none.
        autorun: whether to start the run at once.
        notes: messages to show at the start, for example that a broken file was renamed.
        off: switched-off learners, by their index among all learners.
        left_out: claims that do not fit the experiment, such as claims about a missing learner, by their
            index among all claims.
        watched: file of a stored run to show; None if there is none.
        devices: devices that share the work; without any, this process computes every run.
        first: whether to show the welcome page.
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
    watched: Path | None = None
    devices: Sequence[Begin] = ()


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
    """Return the set-up and the options with which the app starts.

    Args:
        wanted: set-up from the command line, made from `preset`; None to open the saved set-up.
        preset: preset of `wanted`. If `wanted` is None and no set-up is saved, the app opens this preset.
        reset: whether to ignore the saved set-up and view.
        theme: theme from the command line; None for the saved theme.
        view: changes of the view, such as `panel=svd`; if there are any, the saved view is ignored.
        answers: messages about the command line, to show at the start.

    Raises: BadInput for an unknown theme or an invalid view.
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
    """Return the set-up and the options with which the app starts a tour. The set-up panel is hidden.

    Args:
        stops: names of the presets and talks of the tour.
        alone: whether the tour moves on automatically, in a loop.

    Raises: BadInput for an unknown preset, talk or theme.
    """
    tour = Tour(stops_to(stops), alone)
    start = begin(tour.editable.document, tour.stop.preset, False, True, theme, ascii_only)
    start.view.setup_hidden = True
    return replace(start, tour=tour, first=False)
