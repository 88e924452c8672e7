"""Talks: files that say which presets come in which order, with a line of the speaker's for each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from engine.core import files
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.spec import presets, raw_values
from hadamard_tui.panels import ABOUT
from hadamard_tui.tours.tour import Stop

MOST_BYTES = 1 << 18


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A stop as a talk file says it.

    Args:
        preset: by its name, or as the path of a file beside the talk.
        line: what the speaker says, below its title; without one the story of the preset stands there.
        panel: what stands below the chart.
        set: changes of the preset, such as `problem.matrix.d=256`.
    """

    preset: str
    line: str = ""
    panel: str | None = None
    set: tuple[str, ...] = ()


class Talk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A talk file."""

    title: str
    stops: Annotated[tuple[Place, ...], Meta(min_length=1, max_length=200)]


def folder() -> Path:
    """Where the talks lie that come with the program."""
    return presets.folder() / "talks"


def names() -> list[str]:
    """The talks that come with the program."""
    return sorted(file.stem for file in folder().glob("*.toml"))


def stops_of(given: str) -> list[Stop] | None:
    """The stops of a talk, given by its name or the path of a file; None for what is a preset.

    Raises: BadInput for a talk that cannot be given, with the stop that is wrong.
    """
    path = folder() / f"{given}.toml" if given in names() else Path(given)
    if path.suffix != ".toml":
        return None
    with files.faults(given):
        if not path.exists():
            return None
        raw = _read(path)
    if "stops" not in raw:
        return None
    try:
        raw_values.check(raw)
        talk = msgspec.convert(raw, Talk)
    except BadInput as error:
        raise BadInput(f"{given}: {error.where}" if error.where else given, error.what) from error
    except msgspec.ValidationError as error:
        raise BadInput(
            given, f"{error}; a talk has a title, and stops with preset, line, panel and set"
        ) from error
    return [_stop(given, number, place, path) for number, place in enumerate(talk.stops)]


def check_preset(given: str) -> None:
    """See that what is no talk is a preset. Raises: BadInput, with talks and presets that may be meant."""
    if not given.endswith(".toml") and Path(given).name == given and given not in presets.names():
        raise presets.unknown(given, "talk or preset", [*names(), *presets.names()])
    presets.load(given)


def _read(path: Path) -> dict[str, object]:
    return raw_values.document(files.read(path, MOST_BYTES))


def _stop(given: str, number: int, place: Place, path: Path) -> Stop:
    """A stop whose preset is there and whose panel there is. Raises: BadInput."""
    where = f"{given}: stops[{number}]"
    preset = str(path.parent / place.preset) if place.preset.endswith(".toml") else place.preset
    try:
        presets.load(preset, place.set)
    except BadInput as error:
        raise BadInput(f"{where}: {error.where}", error.what) from error
    if place.panel is not None and place.panel not in ABOUT:
        raise BadInput(f"{where}.panel", f"there is no panel {place.panel!r}; there are {listed(ABOUT)}")
    return Stop(preset, place.panel, place.line, place.set)
