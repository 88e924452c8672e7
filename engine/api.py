"""Python API without drawing: load presets, run them in the background, and read results as tables.

`hadamard_tui` offers the same names, with traces that can be drawn.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Generic, TypeVar

from engine.claims import Outcome
from engine.core.outside import outside
from engine.core.parts import BadInput
from engine.judging.named_rule import NO_SETTINGS, rule_of, title_of
from engine.judging.rule_judgement import RuleJudgement, judge_rule
from engine.pictures.view import View
from engine.results import tables
from engine.results.headlines import headline
from engine.results.outcomes import judge as judge_claims
from engine.results.report import encode
from engine.results.results import Results
from engine.results.views import view
from engine.runtime.job import Job
from engine.spec import changes, documents, presets
from engine.spec.document_expressions import as_document
from engine.spec.experiment import Experiment, drawn, of_run
from engine.spec.reading import Raw
from engine.spec.sweep import Sweep, only
from engine.symmetry.rules import assert_invariant as assert_invariant

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from engine.judging.named_rule import RuleOrOptimizer

PresetName = str | PathLike[str]
"""Name of a preset, or path of a preset file or of a result in JSON."""

Progress = Callable[[float], object]
"""Callback that receives the finished share of a run, from 0 to 1."""

SECONDS = 0.1
"""Seconds between two calls of a progress callback."""


Judgement = RuleJudgement


@dataclass(frozen=True)
class Preset:
    """A loaded preset."""

    document: Raw
    """Tables of the preset file, with default values filled in. Expressions are not evaluated."""

    points: Sweep
    """Experiments at all sweep points. A preset without sweep axes has one point."""

    @property
    def experiment(self) -> Experiment:
        """Experiment at the first sweep point."""
        return self.points.experiment

    def __repr__(self) -> str:
        axes = "".join(f"; along {axis.name}" for axis in self.points.axes)
        return f"<Preset “{_title_of(self.experiment)}”: {_learner_names(self.experiment)}{axes}>"


def _title_of(experiment: Experiment) -> str:
    return experiment.title or "experiment without a title"


def _learner_names(experiment: Experiment) -> str:
    return ", ".join(learner.name for learner in experiment.learners)


def load(name: PresetName, *changes: str) -> Preset:
    """Return a preset with changes such as `"problem.matrix.d=256"`. Raises: BadInput.

    Every claim of the preset is a statement about the results in one of its pictures. If a change affects
    these results or this picture, the claim's outcome is "not judged".

    Args:
        name: name of a preset, or path of a preset file.
        changes: places and values, such as `"run.replicas=10"`, as for the option --set.
    """
    _check_texts(changes)
    document = presets.document(fspath(name), changes)
    return Preset(document, presets.sweep_of(fspath(name), document))


def _check_texts(changes: Sequence[str]) -> None:
    """Check that changes are texts. Raises: BadInput."""
    if wrong := [change for change in changes if not isinstance(change, str)]:
        raise BadInput(repr(wrong[0]), 'a change must be a text, such as "problem.matrix.d=256"')


def load_parts(*paths: str | PathLike[str]) -> None:
    """Load your own parts from Python files; the files are executed. Call it before you load a preset.

    Args:
        paths: Python files that define parts.

    Raises: BadInput for a file that cannot be loaded, or for a call that comes too late.
    """
    outside.request(map(Path, paths))
    outside.modules()


def as_preset(setup: Preset | Experiment | PresetName, *changes: str) -> Preset:
    """Return `setup` as a preset: a preset's name is loaded, with `changes`; an experiment is converted.

    Raises: BadInput, also if there are changes although `setup` is not a name.
    """
    if isinstance(setup, Preset | Experiment):
        _check_texts(changes)
        if changes:
            raise BadInput(
                str(changes[0]), "changes require the name of a preset; pass the name, not a loaded preset"
            )
        return setup if isinstance(setup, Preset) else Preset(as_document(setup), only(setup))
    return load(setup, *changes)


def along(setup: Preset | PresetName, place: str, values: Sequence[float | str]) -> Preset:
    """Return a preset with a sweep axis that sets a field such as `"problem.matrix.d"` to each of `values`.

    Args:
        setup: a loaded preset, or the name or path of one. It has no sweep axis.
        place: place of the field in the preset's document.
        values: numbers, or expressions as text.

    Raises: BadInput.
    """
    preset = as_preset(setup)
    if preset.document["axes"]:
        raise BadInput(place, "the preset already has a sweep axis; take a preset without sweep axes")
    axis: Raw = {"name": changes.AXIS, "symbol": place.rpartition(".")[2], "set": place}
    numbers = [setting for setting in values if not isinstance(setting, str)]
    axis |= {"values": list(values), "log": len(numbers) == len(values) and min(numbers, default=0) > 0}
    document = changes.with_axis(copy.deepcopy(preset.document), preset.experiment, axis)
    return Preset(document, documents.sweep_of(document))


class Trace:
    """The results of a run or of a sweep: curves, theory lines and outcomes of claims.

    Args:
        results: the curves and theory lines at all sweep points, as far as they are computed.
        document: the experiment as a preset document.
    """

    def __init__(self, results: Results, document: Raw) -> None:
        self.results, self.document = results, document

    @property
    def experiment(self) -> Experiment:
        """The experiment of the run. For a sweep, it is the experiment at the first sweep point."""
        return self.results.sweep.experiment

    @cached_property
    def claims(self) -> list[Outcome]:
        """Outcomes of the preset's claims; empty while the run is incomplete."""
        return judge_claims(self.results) if self.results.complete else []

    @property
    def pictures(self) -> list[str]:
        """Names of the pictures; a picture without a name is called by its title.

        A run without pictures has the picture "loss".
        """
        pictures = drawn(self.experiment)
        return [picture.name or picture.title for picture in pictures] or ["loss"]

    def view(self, picture: str | int = 0) -> View:
        """Return the content of a picture as arrays: its curves, their standard errors, and theory lines.

        Raises: BadInput for an unknown picture.
        """
        pictures, names = drawn(self.experiment) or (of_run(self.experiment),), self.pictures
        if isinstance(picture, str) and picture not in names:
            raise BadInput(picture, f"no picture has this name; the names are {', '.join(names)}")
        number = names.index(picture) if isinstance(picture, str) else picture
        if not -len(pictures) <= number < len(pictures):
            raise BadInput(
                str(picture),
                f"no picture has this number; pictures have the numbers 0 to {len(pictures) - 1}",
            )
        return view(pictures[number], self.results)

    def headline(self, picture: str | int = 0) -> str:
        """Return one sentence that states what can be seen in a picture."""
        return headline(self.view(picture), self.experiment, self.claims, self.results)

    def to_pandas(self) -> pandas.DataFrame:
        """Return all pictures as one long table, with a row per point of a curve.

        Labels and headlines are in `attrs`.
        """
        return tables.as_frame(tables.table_of(self.results, self.claims))

    def to_arrow(self) -> pyarrow.Table:
        """Return the table of `to_pandas` as an Arrow table, with labels and headlines in its metadata."""
        return tables.as_arrow(tables.table_of(self.results, self.claims))

    def to_json(self, by_replica: bool = False) -> str:
        """Return the whole result as the command `run --json` prints it.

        With `by_replica`, curves also contain the values of every replica. `hadamard-tui run FILE.json` opens
        the result again. Raises: BadInput if there are more values of replicas than `run --json` can print.
        """
        return encode(self.document, self.results, self.claims, by_replica).decode()

    def __repr__(self) -> str:
        holding = sum(claim.holds is True for claim in self.claims)
        end = f"{holding} of {len(self.claims)} claims hold" if self.results.complete else "incomplete"
        return f"<Trace of “{_title_of(self.experiment)}”: {_learner_names(self.experiment)}; {end}>"


T = TypeVar("T", bound=Trace)


class Run(Generic[T]):
    """A run in the background. Leaving its `with` block stops the run, and keeps the curves so far.

    The constructor raises BadInput if the experiment is malformed. `wait` and `trace` raise BadInput if the
    experiment cannot run on this machine.
    """

    def __init__(self, preset: Preset, trace_type: type[T]) -> None:
        self._preset, self._trace_type = preset, trace_type
        self._job = Job(self._preset.points)

    def __enter__(self) -> Run[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the run after the steps that are being computed."""
        self._job.stop()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of the run, for at most `seconds` if given. Return whether the run has ended."""
        if ended := self._job.wait(seconds):
            self._job.finish()
        return ended

    @property
    def share(self) -> float:
        """Finished share of the run, from 0 to 1."""
        return 0.0 if self._job.results is None else self._job.results.share

    @property
    def trace(self) -> T:
        """Copy of the results so far, which does not grow during the run."""
        if self._job.wait(0):
            so_far = self._job.finish()
        elif self._job.results is None:
            so_far = Results(self._preset.points)
        else:
            so_far = self._job.results.snapshot()
        return self._trace_type(so_far, self._preset.document)

    def finish(self, progress: Progress | None = None) -> T:
        """Wait until the run ends, while calling `progress` repeatedly, and return the results.

        An exception during the wait, such as KeyboardInterrupt, stops the run.
        """
        with self:
            while not self.wait(SECONDS):
                if progress is not None:
                    progress(self.share)
            if progress is not None:
                progress(1.0)
        return self.trace


class Runner(Generic[T]):
    """Functions of the API that run presets. They return traces of the class `trace_type`."""

    def __init__(self, trace_type: type[T]) -> None:
        self._trace_type = trace_type

    def start(self, setup: Preset | Experiment | PresetName, *changes: str) -> Run[T]:
        """Start a preset or an experiment in the background, and return the run.

        The end of a `with` block stops the run.

        Args:
            setup: a loaded preset, the name or path of one, or an experiment.
            changes: changes of a preset that `setup` names, as in `load`.

        Raises: BadInput.
        """
        return Run(as_preset(setup, *changes), self._trace_type)

    def run(
        self, setup: Preset | Experiment | PresetName, *changes: str, progress: Progress | None = None
    ) -> T:
        """Run a preset, at all sweep points, or an experiment, until it ends. Return the results.

        Args:
            setup: a loaded preset, the name or path of one, or an experiment.
            changes: changes of a preset that `setup` names, as in `load`.
            progress: called repeatedly during the run, with the finished share from 0 to 1.

        Raises: BadInput.
        """
        return self.start(setup, *changes).finish(progress)

    def sweep(
        self,
        setup: Preset | PresetName,
        place: str,
        values: Sequence[float | str],
        progress: Progress | None = None,
    ) -> T:
        """Run a preset with a field such as `"problem.matrix.d"` set to each of the `values`.

        The x-axis of the first picture shows the `values`. If the preset's first picture shows the
        loss, the y-axis shows when the loss first falls below 0.1. For other measures, and for protocols that
        evaluate learners only once, the y-axis shows the measure's last value.

        Args:
            setup, place, values: as in `along`.
            progress: called repeatedly during the run, with the finished share from 0 to 1.

        Raises: BadInput.
        """
        return self.run(along(setup, place, values), progress=progress)


_runner = Runner(Trace)
start, run, sweep = _runner.start, _runner.run, _runner.sweep


def verify(setup: Preset | PresetName, progress: Progress | None = None) -> list[Outcome]:
    """Run a preset and return the outcomes of its claims.

    Args:
        setup: a loaded preset, or the name or path of one.
        progress: called repeatedly during the run, with the finished share from 0 to 1.

    Raises: BadInput.
    """
    return run(setup, progress=progress).claims


def judge(
    rule: RuleOrOptimizer,
    progress: Progress | None = None,
    options: Mapping[str, object] = NO_SETTINGS,
) -> Judgement:
    """Return the symmetries of an update rule, and a comparison of its losses with the Hadamard bound.

    Args:
        rule: a name that `hadamard-tui judge` accepts, a class of torch optimizers, a `functools.partial` of
            such a class, or an update rule of the engine.
        progress: callback that receives the finished share, from 0 to 1.
        options: constructor arguments of the rule.

    Raises: BadInput.
    """
    update = rule_of(rule, options)
    return judge_rule(update, title_of(rule, update), going=progress or (lambda share: None))
