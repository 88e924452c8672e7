"""Talks and paths: files that say which presets come in which order, with words for each.

A talk has a line of the speaker's for each stop. A path is walked alone: each of its stops asks for a
prediction first, and ends with a change that takes the theorem away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from engine.core import files
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.spec import presets, raw_values
from hadamard_tui.panels import ABOUT, FORMER
from hadamard_tui.tours.tour import Break, Stop, broken

MOST_BYTES = 1 << 18
FOLDERS = ("paths", "talks")
ESSENTIALS = "essentials"
"""The talk of the presets that everybody should have seen. Lists of presets begin with its stops."""

FORM = (
    "a talk has a title, and stops with preset, line, panel, set, predict, learns and break; "
    "a break has set and claim"
)


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A stop as a talk file says it.

    Args:
        preset: by its name, or as the path of a file beside the talk.
        line: what the speaker says, or why the run came out as it did; without one the story of the preset.
        panel: what stands below the chart.
        set: changes of the preset, such as `problem.matrix.d=256`.
        predict: a question about the run. The app waits for a guess before it runs.
        learns: who else learns what this stop is about.
        break_: a change that takes the theorem away; without one, that of another talk for this preset.
    """

    preset: str
    line: str = ""
    panel: str | None = None
    set: tuple[str, ...] = ()
    predict: str = ""
    learns: str = ""
    break_: Break | None = msgspec.field(name="break", default=None)


class Talk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A talk file. `place` is its position in lists."""

    title: str
    stops: Annotated[tuple[Place, ...], Meta(min_length=1, max_length=200)]
    place: int = 100


@cache
def shipped() -> Mapping[str, Path]:
    """Return the files of the shipped paths and talks by name, paths first."""
    paths = [file for folder in FOLDERS for file in sorted((presets.folder() / folder).glob("*.toml"))]
    return {file.stem: file for file in paths}


@cache
def talks() -> Mapping[str, Talk]:
    """Return the shipped talks, in the order of lists, without reading their presets. Raises: BadInput."""
    read = {name: _talk(name, _document(name, file)) for name, file in shipped().items()}
    return dict(sorted(read.items(), key=lambda item: item[1].place))


def is_path(talk: Talk) -> bool:
    """Whether a talk asks for predictions."""
    return any(stop.predict for stop in talk.stops)


def break_at(preset: str) -> Break | None:
    """Return the first break that a shipped talk has for an unchanged preset."""
    stops = [
        stop for talk in talks().values() for stop in talk.stops if stop.preset == preset and not stop.set
    ]
    return next((stop.break_ for stop in stops if stop.break_ is not None), None)


def stops_of(name: str) -> list[Stop] | None:
    """Return the stops of a talk, by its name or the path of a file; None for a preset.

    Raises: BadInput for an invalid talk, with the stop that is wrong.
    """
    path = shipped().get(name, Path(name))
    if path.suffix != ".toml":
        return None
    with files.faults(name):
        if not path.exists():
            return None
        raw = _document(name, path)
    if "stops" not in raw:
        return None
    return [_stop(name, number, place, path) for number, place in enumerate(_talk(name, raw).stops)]


def stops_to(names: Sequence[str]) -> list[Stop]:
    """Return the stops of several paths, talks and presets; without names, those of ESSENTIALS.

    Raises: BadInput for a name that is none of these.
    """
    stops: list[Stop] = []
    for name in names or [ESSENTIALS]:
        talk = stops_of(name)
        if talk is None:
            _check_preset(name)
        stops += [Stop(name)] if talk is None else talk
    return stops


def title_of(names: Sequence[str]) -> str:
    """Return the titles of the paths and talks among `names`, and the names of all others."""
    return ", ".join(talks()[name].title if name in talks() else name for name in names or [ESSENTIALS])


def _check_preset(name: str) -> None:
    """Check that a preset exists. Raises: BadInput, with the talks and presets that may be meant."""
    if not name.endswith(".toml") and Path(name).name == name and name not in presets.names():
        raise presets.unknown(name, "talk or preset", [*shipped(), *presets.names()])
    presets.load(name)


def _document(name: str, path: Path) -> dict[str, Any]:
    with files.faults(name):
        return raw_values.document(files.read(path, MOST_BYTES))


def _talk(name: str, raw: dict[str, Any]) -> Talk:
    try:
        raw_values.check(raw)
        return msgspec.convert(raw, Talk)
    except BadInput as error:
        raise BadInput(f"{name}: {error.where}" if error.where else name, error.what) from error
    except msgspec.ValidationError as error:
        raise BadInput(name, f"{error}; {FORM}") from error


def _stop(name: str, number: int, place: Place, path: Path) -> Stop:
    """Return a stop whose preset, panel and break exist. Raises: BadInput."""
    where = f"{name}: stops[{number}]"
    preset = str(path.parent / place.preset) if place.preset.endswith(".toml") else place.preset
    panel = FORMER.get(place.panel or "", place.panel)
    change = place.break_ or (None if place.set else break_at(preset))
    stop = Stop(preset, panel, place.line, place.set, place.predict, change)
    try:
        presets.load(preset, place.set)
    except BadInput as error:
        raise BadInput(f"{where}: {error.where}", error.what) from error
    if panel is not None and panel not in ABOUT:
        raise BadInput(f"{where}.panel", f"there is no panel {panel!r}; there are {listed(ABOUT)}")
    if change is not None:
        try:
            broken(stop, change)
        except BadInput as error:
            inside = error.where.replace("claims[0]", "claim")
            raise BadInput(f"{where}.break: {inside}", error.what) from error
    return stop
