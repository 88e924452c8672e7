"""Guided tours through presets: talks, which show a speaker's words, and paths for people who explore alone.

A tour is a sequence of stops, each of which runs a preset. A stop may ask for a prediction before the run,
and may end with a change that breaks its result.
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
from engine.core.texts import cut, listed
from engine.spec import presets, raw_values
from hadamard_tui import NAME
from hadamard_tui.panels import ABOUT, FORMER

if TYPE_CHECKING:
    from engine.spec.reading import Raw
    from hadamard_tui.editing.editable_experiment import EditableExperiment


REST = 6.0
"""Seconds that a finished run stays on the screen in an automatic tour."""


class Break(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Change that breaks the result of a stop, and the finding of a run with this change.

    Args:
        set: changes of fields, such as `problem.matrix.d=256`.
        claim: the finding, with the same fields as a claim in a preset file. The app shows the claim's text.
    """

    set: Annotated[tuple[str, ...], Meta(min_length=1)]
    claim: dict[str, Any]

    @property
    def text(self) -> str:
        return str(self.claim.get("text", ""))


class Stop(NamedTuple):
    """Stop of a tour: a preset and how to present it.

    Args:
        panel: panel to open; None leaves the table of learners below the chart.
        line: the speaker's words, or the reason for the result; empty to show the preset's story.
        changes: changes of the preset, such as `problem.matrix.d=256`.
        predict: question to answer before the run; empty if there is no question.
        guess: learners for which the user guesses after how many examples the loss stays below a tenth; empty
            if the question is about something else.
    """

    preset: str
    panel: str | None = None
    line: str = ""
    changes: tuple[str, ...] = ()
    predict: str = ""
    breaks: Break | None = None
    guess: tuple[str, ...] = ()


MOST_CHANGE = 120
"""Maximum number of characters of a change in words."""


MINOR = ("replicas", "records", "where")
"""Fields whose changes are left out of a change in words: they change precision or range, not the result."""


def change_in_words(preset: str, change: Break, changes: Sequence[str] = ()) -> str:
    """Return the change of a preset with `changes` as text, such as "update of GD becomes p-norm".

    If there are other changes, the text leaves out removed values, changes of sweep axes, and MINOR fields.
    If only pictures change, the text is the change as written on a command line. Learners keep their former
    names.
    """
    return _settings_in_words(preset, tuple(changes), change.set)


@cache
def _settings_in_words(preset: str, changes: tuple[str, ...], settings: tuple[str, ...]) -> str:
    from engine.pictures.wording import quoted
    from engine.spec.differences import differences

    unnamed = tuple(setting for setting in settings if not setting.partition("=")[0].endswith(".name"))
    before, after = (presets.document(preset, (*changes, *more, "claims=[]")) for more in ((), unnamed))
    changed = differences(before, after)
    essential = [
        change
        for change in changed
        if change.after != "none" and change.place not in MINOR and (change.part or not change.after)
    ]
    sentences = []
    for change in essential or changed:
        owner = f" of {quoted(change.owner)}" if change.owner else ""
        sentences.append(f"{change.place}{owner} becomes {change.after}" if change.after else str(change))
    return cut("; ".join(sentences) or ", ".join(settings), MOST_CHANGE)


def broken(stop: Stop, change: Break) -> Raw:
    """Return a stop's preset document with a change that breaks the stop's result.

    The document has one claim: the finding that belongs to `change`. Raises: BadInput.
    """
    from engine.spec import documents

    document = presets.document(stop.preset, (*stop.changes, *change.set, "claims=[]"))
    document["claims"] = [change.claim]
    documents.sweep_of(document)
    return document


class Tour:
    """Tour through stops, and the current position in it.

    Runs use the presets' seeds, so that a tour always shows the same runs.
    """

    def __init__(self, stops: Sequence[Stop], alone: bool = False) -> None:
        """Start at the first stop. If `alone`, the tour moves on automatically, in a loop."""
        self.stops, self.alone = tuple(stops), alone
        self.place = 0
        self.scores: dict[int, Sequence[bool]] = {}
        """For each stop, by its position: whether each of the guesses was right."""

    @property
    def stop(self) -> Stop:
        return self.stops[self.place]

    @property
    def editable(self) -> EditableExperiment:
        from hadamard_tui.editing.editable_experiment import EditableExperiment

        return EditableExperiment.of(self.stop.preset, self.stop.changes)

    @property
    def score(self) -> tuple[int, int]:
        """Number of the user's right guesses, and number of all guesses."""
        guesses = [is_right for stop in self.scores.values() for is_right in stop]
        return sum(guesses), len(guesses)

    def move(self, by: int) -> bool:
        """Move by `by` stops. Return False, and stay, if there is no such stop.

        An automatic tour continues with the first stop after the last one.
        """
        place = self.place + by
        if self.alone:
            place %= len(self.stops)
        if not 0 <= place < len(self.stops):
            return False
        self.place = place
        return True


MOST_BYTES = 1 << 18
"""Maximum size of a talk file in bytes."""

PATHS = "paths"
FOLDERS = (PATHS, "talks")
ESSENTIALS = "essentials"
"""Name of the talk with the most important presets. Lists of presets begin with the stops of this talk."""

FORM = (
    "fields of a talk are `title`, `place`, `asks` and `stops`; fields of a stop are `preset`, `line`, "
    "`panel`, `set`, `predict`, `guess`, `learns` and `break`; fields of a break are `set` and `claim`"
)


class TalkStop(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Stop in a talk file: a preset and how to present it.

    Args:
        preset: name of the preset, or path of its file, relative to the folder of the talk.
        line: the speaker's words, or the reason for the result; empty to show the preset's story.
        panel: panel below the chart.
        set: changes of the preset, such as `problem.matrix.d=256`.
        predict: question about the run, to answer before it starts. For an empty question, see `Talk.asks`.
        guess: learners for which the user guesses after how many examples the loss stays below a tenth; empty
            if the question is about something else.
        learns: text that names further learners, which are not in the preset but also learn its target.
        break_: change that breaks the result of the stop. If it is missing and `set` is empty, the stop takes
            the change that a built-in talk lists for the preset.
    """

    preset: str
    line: str = ""
    panel: str | None = None
    set: tuple[str, ...] = ()
    predict: str = ""
    guess: tuple[str, ...] = ()
    learns: str = ""
    break_: Break | None = msgspec.field(name="break", default=None)


class Talk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Content of a talk file.

    Args:
        place: rank in lists of talks; small numbers come first.
        asks: whether a stop without a question and without changes gets the question that a built-in talk
            asks about the same preset.
    """

    title: str
    stops: Annotated[tuple[TalkStop, ...], Meta(min_length=1, max_length=200)]
    place: int = 100
    asks: bool = False


@cache
def shipped_talks() -> Mapping[str, Path]:
    """Return the files of the built-in paths and talks by name, paths first."""
    shipped_files = [
        file for folder in FOLDERS for file in sorted((presets.folder() / folder).glob("*.toml"))
    ]
    return {file.stem: file for file in shipped_files}


@cache
def talks() -> Mapping[str, Talk]:
    """Return the built-in talks and paths by name, ordered by `Talk.place`.

    The presets of the stops are not checked. Raises: BadInput for an invalid file.
    """
    read = {
        talk_name: _parsed_talk(talk_name, _talk_document(talk_name, file))
        for talk_name, file in shipped_talks().items()
    }
    return dict(sorted(read.items(), key=lambda item: item[1].place))


@cache
def paths() -> Mapping[str, Talk]:
    return {name: talk for name, talk in talks().items() if shipped_talks()[name].parent.name == PATHS}


def break_at(preset: str) -> Break | None:
    """Return the change that breaks a preset's result, from the first built-in talk that lists one."""
    return next((stop.break_ for stop in _stops_at(preset) if stop.break_ is not None), None)


def question_at(preset: str) -> str:
    """Return the question about a preset from the first built-in talk that asks one; "" if there is none."""
    asking = _asking_stop(preset)
    return "" if asking is None else asking.predict


def _asking_stop(preset: str) -> TalkStop | None:
    return next((stop for stop in _stops_at(preset) if stop.predict), None)


def _stops_at(preset: str) -> Iterator[TalkStop]:
    """Yield the stops of built-in talks that show a preset without changes."""
    for talk in talks().values():
        yield from (stop for stop in talk.stops if stop.preset == preset and not stop.set)


def stops_of(name: str) -> list[Stop] | None:
    """Return the stops of a talk, or None if `name` is neither the name nor the file of a talk.

    Raises: BadInput for an invalid talk; the message names the faulty stop.
    """
    path = shipped_talks().get(name, Path(name))
    if path.suffix != ".toml":
        return None
    with files.faults(name):
        if not path.exists():
            return None
        raw = _talk_document(name, path)
    if "stops" not in raw:
        return None
    talk = _parsed_talk(name, raw)
    return [
        _stop_of_tour(f"{name}: stops[{number}]", stop, path, talk.asks)
        for number, stop in enumerate(talk.stops)
    ]


def stops_to(names: Sequence[str]) -> list[Stop]:
    """Return the stops of talks, paths and single presets. Without names, return the stops of ESSENTIALS.

    Raises: BadInput for an unknown name.
    """
    stops: list[Stop] = []
    for talk_name in names or [ESSENTIALS]:
        talk = stops_of(talk_name)
        if talk is None:
            _check_preset(talk_name)
        stops += [Stop(talk_name)] if talk is None else talk
    return stops


def title_of(names: Sequence[str]) -> str:
    return ", ".join(talks()[name].title if name in talks() else name for name in names or [ESSENTIALS])


def _check_preset(preset_name: str) -> None:
    """Raise BadInput if a preset does not exist or is invalid. The message suggests similar names."""
    if (
        not preset_name.endswith(".toml")
        and Path(preset_name).name == preset_name
        and preset_name not in presets.names()
    ):
        raise presets.unknown(preset_name, "talk or preset", [*shipped_talks(), *presets.names()])
    presets.load(preset_name)


def _talk_document(talk_name: str, path: Path) -> dict[str, Any]:
    with files.faults(talk_name):
        return raw_values.document(files.read(path, MOST_BYTES))


def _parsed_talk(talk_name: str, raw: dict[str, Any]) -> Talk:
    try:
        raw_values.check(raw)
        return msgspec.convert(raw, Talk)
    except BadInput as error:
        raise BadInput(f"{talk_name}: {error.where}" if error.where else talk_name, error.fault) from error
    except msgspec.ValidationError as error:
        raise BadInput(talk_name, f"{error}; {FORM}") from error


def _stop_of_tour(where: str, place: TalkStop, path: Path, asks: bool) -> Stop:
    """Convert a stop of a talk file to a stop of a tour.

    If the stop does not change its preset, built-in talks with this preset supply a missing break. If `asks`,
    they also supply a missing question.

    Raises: BadInput for an invalid preset, learner, panel or break.
    """
    preset = str(path.parent / place.preset) if place.preset.endswith(".toml") else place.preset
    panel = FORMER.get(place.panel or "", place.panel)
    change = place.break_ or (None if place.set else break_at(preset))
    asking = place
    if asks and not place.predict and not place.set:
        asking = _asking_stop(preset) or place
    stop = Stop(preset, panel, place.line, place.set, asking.predict, change, asking.guess)
    try:
        experiment = presets.load(preset, place.set)
    except BadInput as error:
        raise BadInput(f"{where}: {error.where}", error.fault) from error
    names = [learner.name for learner in experiment.learners]
    if unknown := [learner_name for learner_name in stop.guess if learner_name not in names]:
        raise BadInput(f"{where}.guess", f"there is no learner {unknown[0]!r}; there are {listed(names)}")
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
    """Return sentences on next steps, shown after a preset's story; none if no tour has the preset.

    `break_key` is the app's key that breaks the result of the preset. If it is empty, a sentence gives a
    command line instead.
    """
    return tuple(_closing_sentences(preset, break_key)) if preset is not None else ()


def command_of_stop(preset: str, change: Break) -> str:
    settings = (f"--set {shlex.quote(setting)}" for setting in change.set)
    return f"{NAME} run {preset} {' '.join(settings)}"


def _closing_sentences(preset: str, break_key: str) -> Iterator[str]:
    learners: list[str] = []
    for talk_name, talk in talks().items():
        for number, stop in enumerate(talk.stops):
            if stop.preset != preset or stop.set:
                continue
            if talk_name in paths():
                following = talk.stops[number + 1 :]
                after = f"Next: {following[0].preset}" if following else "This is the last stop"
                yield f"{after} (path {talk_name}: {talk.title})."
            if stop.learns and stop.learns not in learners:
                learners.append(stop.learns)
    if (change := break_at(preset)) is not None:
        way = change_in_words(preset, change) if break_key else command_of_stop(preset, change)
        yield f"Break it{f' with {break_key}' if break_key else ''}: {way}. {change.text}"
    if learners:
        yield f"Learners that also learn this target: {'; '.join(learners)}."
