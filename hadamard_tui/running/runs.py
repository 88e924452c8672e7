"""List of runs: those of this session, and stored ones. Runs with curves in memory can be compared."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING

from rich.cells import cell_len

from engine.core.parts import BadInput
from engine.spec.differences import SetupDifference, differences
from hadamard_tui.charts.plots.look import Pinned
from hadamard_tui.editing.history import title_of_place
from hadamard_tui.running.viewed import Viewed

if TYPE_CHECKING:
    from engine.pictures.picture import Picture
    from engine.pictures.view import View
    from engine.results.results import Results
    from engine.results.trace import Trace
    from engine.runtime.stored_run import StoredRun
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from hadamard_tui.running.session import Session

MOST_DIFFERENCES = 2
"""Maximum number of differences between two set-ups from which `compare` makes a label of a run."""

MOST_BYTES, MOST_RUNS = 128 << 20, 32
"""Maximum total bytes and maximum number of the runs in memory that are neither pinned nor on the screen.

Beyond these limits, the oldest of these runs are dropped.
"""

MOST_BYTES_OF_NEWEST = 1 << 30
"""Maximum size at which the newest of these runs stays, even beyond MOST_BYTES: undo shows it again."""


@dataclass(eq=False)
class Kept:
    """Finished run whose curves are still in memory.

    While the run is pinned, its curves are drawn beside the run on the screen.
    """

    name: str
    session: Session
    trace: Trace
    """Trace of the last sweep point, or of the only point."""

    results: Results
    pinned: bool = False
    renamed: bool = False
    views: Viewed = field(default_factory=Viewed)
    missing: str = ""
    """Message about replicas that a picture needs but the run lacks; empty if no picture needed them."""

    began: float = field(default_factory=time.time)
    """Time at which the run began, in seconds since 1970; the list is sorted by it."""

    @property
    def document(self) -> Raw:
        return self.session.document

    @property
    def preset(self) -> str | None:
        return self.session.preset

    @property
    def experiment(self) -> Experiment:
        return self.session.experiment

    @property
    def bytes(self) -> int:
        curves = (curve for trace in self.results.traces.values() for curve in trace.curves)
        return sum(array.nbytes for curve in curves for array in curve.as_arrays().values())

    def compared(self, document: Raw) -> tuple[str, str]:
        """Return a label for this run, and the changes that lead from this run to another set-up.

        For example, "d = 128" and "d 128 → 256". The label consists of the values that differ in the other
        set-up. If the user has renamed the run, or if `compare` returns no values, the label is its name.

        Args:
            document: the other set-up.
        """
        changed_values, change = compare(self.document, document, self.experiment)
        if not change and differences(self.document, document):
            change = f"{self.name} → this run"
        return self.name if self.renamed or not changed_values else changed_values, change

    def view(self, picture: Picture, all_points: bool) -> View | None:
        """Return the view of a picture for this run, or None if the run does not have this picture.

        Args:
            all_points: whether the view shows all sweep points, or only the last one.
        """
        from engine.results.picture_steps import ReplicasMissing
        from engine.results.results import of_one

        try:
            return self.views.view(
                picture, self.results if all_points else of_one(self.experiment, self.trace)
            )
        except ReplicasMissing as error:
            self.missing = error.fault
        except BadInput:
            pass
        return None


@dataclass(eq=False)
class ListedRun:
    """Entry of the list of runs. At least one of its fields is not None.

    Args:
        kept: the run with its curves; None if they are not in memory.
        stored: the run's entry in the store; None if the run is not stored.
    """

    kept: Kept | None
    stored: StoredRun | None

    @property
    def key(self) -> object:
        return self.kept or (self.stored.id if self.stored is not None else None)

    @property
    def name(self) -> str:
        if self.kept is not None:
            return self.kept.name
        return "" if self.stored is None else self.stored.name or self.stored.id

    @property
    def is_pinned(self) -> bool:
        return self.kept is not None and self.kept.pinned

    @property
    def preset(self) -> str:
        full = self.kept.preset if self.kept is not None else self.stored.preset if self.stored else None
        return "" if full is None else PurePath(full).stem

    @property
    def began(self) -> float:
        return self.kept.began if self.kept is not None else self.stored.began if self.stored else 0.0

    def fits(self, words: Sequence[str]) -> bool:
        """Return whether all of the lower-case `words` occur in the texts about the run.

        The texts are its name, preset and title, and for a stored run its id, time, state, tags and headline.
        """
        texts = [self.name, self.preset]
        if self.stored is not None:
            from hadamard_tui.running.run_words import began

            texts += self.stored.id, began(self.stored), self.stored.state, *self.stored.tags
            texts += self.stored.title, self.stored.headline
        elif self.kept is not None:
            texts.append(self.kept.experiment.title)
        text = "\n".join(texts).lower()
        return all(word in text for word in words)


class Runs:
    """Runs in memory, and stored runs after the store has been read.

    Args:
        finished: runs with curves in memory.
    """

    def __init__(self) -> None:
        self.finished: list[Kept] = []
        self.stored: dict[str, StoredRun] = {}
        """Runs of the store by id; empty until the list is opened."""

        self.deleted: list[ListedRun] = []
        """Runs that were deleted from the list, in order of deletion; `bring_back` restores them."""

        self._count = 0

    def listed(self, words: str = "", but: str | None = None) -> list[ListedRun]:
        """Return the runs whose texts contain all `words`, the oldest first.

        Args:
            but: id of a stored run to leave out.
        """
        names = {run.session.stored_as for run in self.finished} | {but}
        runs = [ListedRun(None, run) for name, run in self.stored.items() if name not in names]
        runs += [ListedRun(run, self.stored.get(run.session.stored_as or "")) for run in self.finished]
        runs.sort(key=lambda run: run.began)
        sought = words.lower().split()
        return [run for run in runs if run.fits(sought)] if sought else runs

    @property
    def pinned(self) -> list[Kept]:
        return [run for run in self.finished if run.pinned]

    def keep(self, session: Session) -> Kept:
        """Add a finished run under a new name, unless it is already listed, and return its entry.

        If the user increases or decreases a number by a key, each press starts a run. Such a run replaces the
        previous run, because only the last number matters.
        """
        assert session.trace is not None, "a run that has ended has a trace"
        assert session.point.results is not None, "a sweep begins before it ends"
        if (run := self.of(session.trace)) is not None:
            return run
        last = self.finished[-1] if self.finished else None
        if (
            last is not None
            and session.at_once
            and not session.is_followed
            and last.session.at_once
            and not (last.pinned or last.renamed)
        ):
            self.finished.pop()
            self._count -= 1
        views = Viewed(session.letters)
        run = Kept("", session, session.trace, session.point.results, views=views)
        if session.is_followed and session.stored_as is not None:
            run.name = session.stored_as
            if (stored := self.stored.get(run.name)) is not None:
                run.name, run.renamed, run.began = stored.name or stored.id, bool(stored.name), stored.began
        else:
            self._count += 1
            run.name = f"run {self._count}"
        self.finished.append(run)
        self.finished.sort(key=lambda run: run.began)
        return run

    def make_room(self, shown: Trace | None) -> list[Kept]:
        """Drop the oldest runs until the others are within the limits, and return the dropped runs.

        Runs that are pinned or on the screen stay, and do not count towards the limits.
        """
        dropped = []
        droppable = [run for run in self.finished if not run.pinned and run.trace is not shown]
        total_bytes = sum(run.bytes for run in droppable)
        if droppable and droppable[-1].bytes <= MOST_BYTES_OF_NEWEST:
            total_bytes -= droppable.pop().bytes
        while droppable and (len(droppable) >= MOST_RUNS or total_bytes > MOST_BYTES):
            oldest = droppable.pop(0)
            total_bytes -= oldest.bytes
            self.finished.remove(oldest)
            dropped.append(oldest)
        return dropped

    def of(self, trace: Trace | None) -> Kept | None:
        return next((run for run in self.finished if run.trace is trace), None)

    def holds(self, trace: Trace) -> bool:
        return self.of(trace) is not None

    def remove(self, run: ListedRun) -> None:
        """Remove a run from the list; `bring_back` undoes this."""
        if run.kept is not None:
            self.finished.remove(run.kept)
        if run.stored is not None:
            self.stored = {name: stored for name, stored in self.stored.items() if name != run.stored.id}
        self.deleted.append(run)

    def bring_back(self) -> None:
        run = self.deleted.pop()
        if run.kept is not None:
            self.finished.append(run.kept)
            self.finished.sort(key=lambda run: run.began)
        if run.stored is not None:
            self.stored = {**self.stored, run.stored.id: run.stored}

    def others(self, trace: Trace | None) -> list[Kept]:
        return [run for run in self.pinned if run.trace is not trace]

    def last_but(self, trace: Trace | None) -> Kept | None:
        return next((run for run in reversed(self.finished) if run.trace is not trace), None)

    def views(self, session: Session, picture: Picture, all_points: bool) -> list[Pinned]:
        """Return the views of a picture for the pinned runs that have it, without the run of `session`.

        Each view has a unique name.
        """
        pinned: dict[str, Pinned] = {}
        for run in self.others(session.trace):
            if (view := run.view(picture, all_points)) is not None:
                run_name, change = run.compared(session.document)
                run_name = f"{run_name} ({run.name})" if run_name in pinned else run_name
                pinned[run_name] = Pinned(run_name, view, change)
        return list(pinned.values())

    def difference_of(self, run: Kept, width: int | None = None) -> str:
        """Return the changes from the previous run in memory to `run`, as many as fit into `width` cells.

        For the first run in memory, return the title of its experiment.
        """
        number = self.finished.index(run)
        if number == 0:
            return run.experiment.title or "your own experiment"
        return changes(self.finished[number - 1].document, run.document, width)


def changes(before: Raw, after: Raw, width: int | None = None) -> str:
    """Return the changes between two set-ups, in at most `width` cells if the first of them fits.

    Changes that do not fit are counted. A cut change, such as "update p-norm → …", would name the old value.
    """
    words = [str(difference) for difference in differences(before, after)] or ["the same set-up"]
    text = ", ".join(words)
    if width is None or cell_len(text) <= width:
        return text
    shorter = (
        f"{', '.join(words[:count])} and {len(words) - count} more" for count in range(len(words) - 1, 0, -1)
    )
    return next((few for few in shorter if cell_len(few) <= width), text)


def compare(before: Raw, after: Raw, experiment: Experiment) -> tuple[str, str]:
    """Return a text with the values in `before` that `after` changes, and a text with the changes.

    For example, "d = 128" and "d 128 → 256". Both texts are empty if there are no changes, or more than
    MOST_DIFFERENCES. They are also empty if an axis differs, or if a learner is added, removed or renamed.

    Args:
        experiment: experiment of `before`, which provides the titles of fields.
    """
    changes = differences(before, after)
    if len(changes) > MOST_DIFFERENCES or not all(change.part for change in changes):
        return "", ""
    titled = [(_title_of_change(change, experiment), change) for change in changes]
    changed_values = ", ".join(f"{title} = {change.before}" for title, change in titled)
    return changed_values, ", ".join(f"{title} {change.before} → {change.after}" for title, change in titled)


def _title_of_change(change: SetupDifference, experiment: Experiment) -> str:
    """Return the title of the changed field, with its learner, as in "rate η of EGU"."""
    first, *learner_name = change.part
    if learner_name:
        names = [learner.name for learner in experiment.learners]
        first = f"{first}[{names.index(learner_name[0]) if learner_name[0] in names else len(names)}]"
    *owners, leaf = change.place.split(".")
    title = title_of_place(experiment, [first, *owners], leaf)
    return f"{title} of {change.owner}" if change.owner else title
