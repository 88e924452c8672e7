"""Guided tours through presets: their stops, the talks and paths that list them, and the way on.

A talk has a line of the speaker's for each stop. A path is walked alone: each of its stops asks for a
prediction first, and ends with a change that takes the theorem away.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from engine.core import files
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.spec import presets, raw_values
from hadamard_tui import NAME
from hadamard_tui.panels import ABOUT, FORMER

if TYPE_CHECKING:
    from engine.spec.reading import Raw
    from hadamard_tui.editing.editable_experiment import EditableExperiment


REST = 6.0
"""Seconds that a finished run stays on the screen in a tour that runs alone."""


class Break(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A change that takes the theorem of a stop away.

    Args:
        set: the change, such as `problem.matrix.d=256`.
        claim: what a run with it shows, as presets state claims. Its text is what people read.
    """

    set: Annotated[tuple[str, ...], Meta(min_length=1)]
    claim: dict[str, Any]

    @property
    def text(self) -> str:
        """Result of a run with the change, in words."""
        return str(self.claim.get("text", ""))


class Stop(NamedTuple):
    """A preset, and what is shown of it.

    Args:
        panel: the panel that is spoken of; none where the chart says it all.
        line: what the speaker says, or why the run came out as it did; nothing for the story of the preset.
        changes: of the preset, such as `problem.matrix.d=256`.
        predict: a question to answer before the run.
        breaks: the change that takes its theorem away, if any.
    """

    preset: str
    panel: str | None = None
    line: str = ""
    changes: tuple[str, ...] = ()
    predict: str = ""
    breaks: Break | None = None


def broken(stop: Stop, change: Break) -> Raw:
    """Return the document of a stop with its break, whose claim is the only one. Raises: BadInput."""
    from engine.spec import documents

    document = presets.document(stop.preset, (*stop.changes, *change.set, "claims=[]"))
    document["claims"] = [change.claim]
    documents.sweep_of(document)
    return document


class Tour:
    """The position of a tour. Its seeds are those of the presets, so that each tour is the same."""

    def __init__(self, stops: Sequence[Stop], alone: bool = False) -> None:
        """`alone`: the tour goes on by itself, and starts again at its end."""
        self.stops, self.alone = tuple(stops), alone
        self.place = 0
        self.scores: dict[int, Sequence[bool]] = {}
        """Whether the guesses of each stop were right."""

    @property
    def stop(self) -> Stop:
        """Present stop."""
        return self.stops[self.place]

    @property
    def editable(self) -> EditableExperiment:
        """Set-up of this stop."""
        from hadamard_tui.editing.editable_experiment import EditableExperiment

        return EditableExperiment.of(self.stop.preset, self.stop.changes)

    @property
    def score(self) -> tuple[int, int]:
        """Number of right guesses, and of all guesses."""
        guesses = [is_right for stop in self.scores.values() for is_right in stop]
        return sum(guesses), len(guesses)

    def move(self, by: int) -> bool:
        """Go on or back. Return False at the end; a tour alone starts again there."""
        place = self.place + by
        if self.alone:
            place %= len(self.stops)
        if not 0 <= place < len(self.stops):
            return False
        self.place = place
        return True


MOST_BYTES = 1 << 18
FOLDERS = ("paths", "talks")
ESSENTIALS = "essentials"
"""The talk of the presets that everybody should have seen. Lists of presets begin with its stops."""

FORM = (
    "a talk has a title, and stops with preset, line, panel, set, predict, learns and break; "
    "a break has set and claim"
)


class TalkStop(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
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
    stops: Annotated[tuple[TalkStop, ...], Meta(min_length=1, max_length=200)]
    place: int = 100


@cache
def shipped_talks() -> Mapping[str, Path]:
    """Return the files of the shipped paths and talks by name, paths first."""
    paths = [file for folder in FOLDERS for file in sorted((presets.folder() / folder).glob("*.toml"))]
    return {file.stem: file for file in paths}


@cache
def talks() -> Mapping[str, Talk]:
    """Return the shipped talks, in the order of lists, without reading their presets. Raises: BadInput."""
    read = {name: _talk(name, _document(name, file)) for name, file in shipped_talks().items()}
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
    path = shipped_talks().get(name, Path(name))
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
        raise presets.unknown(name, "talk or preset", [*shipped_talks(), *presets.names()])
    presets.load(name)


def _document(name: str, path: Path) -> dict[str, Any]:
    with files.faults(name):
        return raw_values.document(files.read(path, MOST_BYTES))


def _talk(name: str, raw: dict[str, Any]) -> Talk:
    try:
        raw_values.check(raw)
        return msgspec.convert(raw, Talk)
    except BadInput as error:
        raise BadInput(f"{name}: {error.where}" if error.where else name, error.fault) from error
    except msgspec.ValidationError as error:
        raise BadInput(name, f"{error}; {FORM}") from error


def _stop(name: str, number: int, place: TalkStop, path: Path) -> Stop:
    """Return a stop whose preset, panel and break exist. Raises: BadInput."""
    where = f"{name}: stops[{number}]"
    preset = str(path.parent / place.preset) if place.preset.endswith(".toml") else place.preset
    panel = FORMER.get(place.panel or "", place.panel)
    change = place.break_ or (None if place.set else break_at(preset))
    stop = Stop(preset, panel, place.line, place.set, place.predict, change)
    try:
        presets.load(preset, place.set)
    except BadInput as error:
        raise BadInput(f"{where}: {error.where}", error.fault) from error
    if panel is not None and panel not in ABOUT:
        raise BadInput(f"{where}.panel", f"there is no panel {panel!r}; there are {listed(ABOUT)}")
    if change is not None:
        try:
            broken(stop, change)
        except BadInput as error:
            inside = error.where.replace("claims[0]", "claim")
            raise BadInput(f"{where}.break: {inside}", error.fault) from error
    return stop


@cache
def onward(preset: str | None, break_key: str = "") -> tuple[str, ...]:
    """Return the sentences at the end of a preset's story; none if it is no stop of a path or talk.

    `break_key` breaks the preset in the app; without one its command line is named.
    """
    return tuple(_sentences(preset, break_key)) if preset is not None else ()


def command_of_stop(preset: str, change: Break) -> str:
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
        way = f"{break_key} sets {', '.join(change.set)}" if break_key else command_of_stop(preset, change)
        yield f"Break it: {way}. {change.text}"
    if learners:
        yield f"Who else learns: {'; '.join(learners)}."
