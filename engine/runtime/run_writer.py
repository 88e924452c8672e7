"""Writer of a run: writes the run's file in the store during the run, and reuses curves of earlier runs."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from engine import __version__
from engine.core import files, journal
from engine.core.journal import SUFFIX, Journal, pack
from engine.core.machine import MachineSample
from engine.core.outside import outside
from engine.core.parts import BadInput
from engine.results.results import Results
from engine.results.trace import Along, Curve, TheoryLine, Trace
from engine.runtime import curve_keys
from engine.runtime.store import MB, Store
from engine.runtime.stored_run import StoredRun, id_of
from engine.spec.document_expressions import as_document
from engine.spec.sweep import Sweep

if TYPE_CHECKING:
    from engine.planning.run_plan import LearnerPlan
    from engine.spec.reading import Raw

SECONDS = 0.3
"""Minimum seconds between two frames with new records, and maximum seconds that a record waits for one."""


class RunWriter:
    """Writes one run into a file of the store.

    The file begins with a description of the run. For each sweep point, it contains the start of the trace
    (the results), and new records of the curves. It also contains the complete curves of every learner that
    has ended. The last frame marks the end of the run. If writing fails, the run continues, and `keep`
    returns the reason once.
    """

    def __init__(
        self,
        of: Store,
        document: Raw | None = None,
        preset: str | None = None,
        reuse: bool = True,
        detached: bool = False,
        run: str | None = None,
        with_weights: bool = False,
    ) -> None:
        """Make a writer for one run.

        Args:
            document: the experiment as a preset document; by default, made from the experiment of the sweep.
            reuse: whether to reuse curves of earlier runs.
            detached: whether the run has no terminal.
            run: name of the run, by default a new one.
            with_weights: whether to reuse only curves whose weights are stored, because panels show weights.
        """
        self._store, self._document, self._preset = of, document, preset
        self._with_weights = with_weights
        self._reuse, self._detached, self.run = reuse, detached, run or os.urandom(4).hex()
        self.removed: list[StoredRun] = []
        """Runs that were removed to make room; the caller reports them."""

        self._journal: Journal | None = None
        self._sweep: Sweep | None = None
        self._point = 0
        self._bytes = 0
        self._made_room_at = 0
        self._computed = False
        """Whether a learner was trained, so that this file has curves that no other file has."""

        self._digest = ""
        self._fault: str | None = None
        self._restored: list[tuple[LearnerPlan, Sequence[Curve], bytes, bool]] = []
        """Curves from earlier runs or other processes, which are appended when their trace begins."""

        self._is_whole = True
        """Whether the file has everything that the run has computed so far."""

        self._has_trace = False
        """Whether the file has the current trace. Without it, frames about the trace cannot be read."""

        self._lengths: dict[int, int] = {}
        """Number of appended records of each curve in the current trace, by the curve's number."""

        self._grown_at = 0.0
        self._has_growth = False
        self._lock = threading.RLock()
        """Held while frames are appended, because a timer thread also appends growth."""

        self._timer: threading.Timer | None = None

    def begin(self, sweep: Sweep) -> None:
        self._sweep, self._grown_at = sweep, time.monotonic()
        document = as_document(sweep.experiment) if self._document is None else self._document
        words = msgspec.json.encode(
            [document, curve_keys.code(), outside.digest(), self._preset], order="sorted"
        )
        self._digest = hashlib.sha256(words).hexdigest()
        run = StoredRun(
            id=self.run,
            began=time.time(),
            title=sweep.experiment.title,
            version=__version__,
            document=document,
            preset=self._preset,
            resolved=self._digest,
            code=curve_keys.code(),
            host=socket.gethostname(),
            process=os.getpid(),
            detached=self._detached,
            points=len(sweep.points),
        )
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(run.began))
        path = self._store.folder / f"{stamp}-{self.run}{SUFFIX}"
        try:
            with files.faults(str(path), "cannot be written"):
                path.parent.mkdir(parents=True, exist_ok=True)
                self._journal = Journal(path)
            self._append_frame("head", msgspec.to_builtins(run))
            self._store.observe(path)
        except BadInput as error:
            self._fault = str(error)
            if self._journal is not None:
                self._journal.close()
                self._journal = None

    def at(self, number: int) -> None:
        """Begin the sweep point with the index `number`."""
        with self._lock:
            self._cancel_timer()
            self._point, self._restored, self._lengths, self._has_trace = number, [], {}, False

    def restore(self, planned: LearnerPlan, curves: Sequence[Curve], is_side_run: bool = False) -> bool:
        """Fill the empty curves of a learner, one for each rate, from earlier runs.

        Return whether earlier runs have these curves. Damaged curves count as missing. So do curves that lack
        a measure of the experiment, or that lack values of single replicas where the experiment reads such
        values.
        """
        if not self._reuse:
            return False
        key = curve_keys.key_of(planned.experiment, planned.learner)
        recorded, by_replica = curve_keys.names_of(planned), self._measures_by_replica(planned, curves)
        for place in self._store.find(key):
            with suppress(OSError, ValueError, KeyError, IndexError, msgspec.MsgspecError):
                frame = journal.frame_at(place.path, place.start)
                if frame is None or frame.kind != "curv":
                    continue
                content = frame.content
                if content["of"] != key or recorded - set(content["measures"]):
                    continue
                if by_replica - set(content["by_replica"]) or len(content["curves"]) != len(curves):
                    continue
                if self._with_weights and any("weight_bytes" in arrays for arrays in content["curves"]):
                    continue
                for curve, arrays in zip(curves, content["curves"], strict=True):
                    curve.restore(arrays)
                self._store.touch(place.path.name)
                self._restored.append((planned, curves, key, is_side_run))
                return True
        return False

    def has(self, planned: LearnerPlan) -> bool:
        """Return whether the store has curves of a learner. These curves may be damaged or incomplete."""
        key = curve_keys.key_of(planned.experiment, planned.learner)
        return self._reuse and next(self._store.find(key), None) is not None

    def take_over(self, planned: LearnerPlan, curves: Sequence[Curve], is_side_run: bool) -> None:
        """Accept finished curves that other processes have computed, to store them with the trace."""
        self._computed = True
        key = curve_keys.key_of(planned.experiment, planned.learner)
        self._restored.append((planned, curves, key, is_side_run))

    def begun(self, trace: Trace) -> None:
        """Append the start of a trace (the results at a sweep point) to the run's file.

        Also append the curves of the trace that come from earlier runs or other processes.
        """
        measures = [msgspec.to_builtins(measure) for measure in trace.measures]
        content = {
            "planned": trace.planned,
            "x_label": trace.x_label,
            "environment": trace.environment,
            "compared_by": trace.compared_by,
            "examples": trace.examples,
            "measures": measures,
            "curves": [_description_of_curve(curve) for curve in trace.curves],
            "lines": [_description_of_line(line, trace) for line in trace.lines],
        }
        # x values and theory lines are repetitive: compression reduces them to a tenth.
        place = self._try_append("trac", {"point": self._point, "deflated": zlib.compress(pack(content), 1)})
        self._has_trace = place is not None
        for planned, curves, key, is_side_run in self._restored:
            self._append_curves(planned, curves, key, is_side_run)
        self._restored = []

    def grow(self, trace: Trace) -> None:
        """Append new records (evaluations) of the unfinished curves to the run's file.

        This is done at most once in SECONDS. Records that come sooner are appended by a timer, because the
        next record may take minutes.
        """
        remaining = self._grown_at + SECONDS - time.monotonic()
        if self._journal is None or self._timer is not None:
            return
        if remaining <= 0:
            self._store_growth_now(trace)
            return
        with self._lock:
            self._timer = threading.Timer(remaining, self._store_growth_later, [trace])
            self._timer.daemon = True
            self._timer.start()

    def _store_growth_later(self, trace: Trace) -> None:
        with self._lock:
            if self._timer is threading.current_thread():
                self._timer = None
                self._store_growth_now(trace)

    def _store_growth_now(self, trace: Trace) -> None:
        with self._lock:
            self._grown_at = time.monotonic()
            grown: list[dict[str, Any]] = []
            for number, curve in enumerate(trace.curves):
                start, so_far = self._lengths.get(number, 0), curve.snapshot()
                if not so_far.ended and so_far.length > start:
                    arrays = {
                        name: array if name in ("divergences", "inaccurate", "backends") else array[start:]
                        for name, array in curve_keys.reduced(so_far, (), with_weights=False).items()
                        if name.partition("/")[0] in ("divergences", "inaccurate", "backends", *GROWING)
                    }
                    grown.append({"curve": number, "start": start, "arrays": arrays})
            self._has_growth = True
            if self._append_growth(grown) is not None:
                for growth in grown:
                    clock = growth["arrays"][_clock_names(growth["arrays"])[0]]
                    self._lengths[growth["curve"]] = growth["start"] + len(clock)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def append_sample(self, sample: MachineSample) -> None:
        """Append a sample of the machine's use. When the run has finished, its samples are removed."""
        self._has_growth = True
        self._try_append("mach", msgspec.to_builtins(sample))

    def keep(self, planned: LearnerPlan, curves: Sequence[Curve], is_side_run: bool = False) -> str | None:
        """Append the finished curves of a learner, one for each rate, to the run's file.

        Return why writing to this file first failed. Return None if it never failed, or if the reason was
        returned before.
        """
        self._computed = True
        self._append_curves(
            planned, curves, curve_keys.key_of(planned.experiment, planned.learner), is_side_run
        )
        return self.new_fault()

    def new_fault(self) -> str | None:
        """Return why writing to the run's file first failed.

        Return None if it never failed, or if the reason was returned before.
        """
        fault, self._fault = self._fault, None if self._fault is None else ""
        return fault or None

    def skip(self, skipped: Mapping[int, frozenset[str]]) -> None:
        number = self._point
        if number in skipped:
            self._try_append("skip", {"point": number, "learners": sorted(skipped[number])})

    def point_done(self, trace: Trace) -> None:
        """Mark the current sweep point as complete, and store theory lines computed from measured values."""
        lines = {
            number: {
                name: _description_of_values(along, trace)
                for name, along in line.by_curve(trace.curves).items()
            }
            for number, line in enumerate(trace.lines)
            if line.along_runs is not None
        }
        self._try_append("done", {"point": self._point, "lines": lines})

    def end(self, ended: Results, state: str) -> None:
        """Append a frame that marks the end of the run to the run's file, and close the file.

        The file of a finished run is deleted if all of its curves come from earlier runs, and the store has
        an equal finished run.
        """
        with self._lock:
            self._cancel_timer()
        if self._journal is None:
            return
        path = self._journal.path
        if state != "finished" and (trace := ended.traces.get(self._point)) and not trace.ended:
            for number, curve in enumerate(trace.curves):
                if curve.length and not curve.ended:
                    arrays = curve_keys.reduced(curve, curve.measures, with_weights=False)
                    self._append_growth([{"curve": number, "start": 0, "arrays": arrays}])
        if (
            state == "finished"
            and not self._computed
            and (earlier := self._store.finished_as(self._digest, path.name))
        ):
            self._journal.close()
            with suppress(OSError):
                path.unlink()
            self._store.observe(path)
            self._store.touch(earlier)
            self._journal, self.run = None, id_of(Path(earlier))
            return
        if not self._is_whole and state == "finished":
            state = "stopped"  # the file lacks a part of the run
        self._try_append("end ", {"state": state, "time": time.time()})
        with suppress(OSError):
            self._journal.sync()
        if self._has_growth and state == "finished":
            _remove_growth(path)
        self._journal.close()
        self._journal = None
        self._store.observe(path)
        self._make_room()

    def stop_at_once(self) -> None:
        """Mark the run as stopped. Another thread calls this just before the process ends."""
        if self._journal is not None:
            self._try_append("end ", {"state": "stopped", "time": time.time()})

    def _measures_by_replica(self, planned: LearnerPlan, curves: Sequence[Curve]) -> frozenset[str]:
        """Return the measures whose values are stored for every replica, not only for the first replica.

        Small runs store all values. Other runs store them for the measures that are read for single replicas.
        """
        assert self._sweep is not None, "a run begins before its learners"
        records = sum(curve.capacity for curve in curves)
        size = 8 * records * planned.experiment.run.replicas * len(planned.measures)
        if not self._sweep.axes and size <= curve_keys.MOST_BYTES_BY_REPLICA:
            return curve_keys.names_of(planned)
        return planned.by_replica

    def _append_growth(self, grown: Sequence[Mapping[str, Any]]) -> int | None:
        return self._try_append("grow", {"point": self._point, "time": time.time(), "curves": grown})

    def _append_curves(
        self, planned: LearnerPlan, curves: Sequence[Curve], key: bytes, is_side_run: bool
    ) -> None:
        by_replica = self._measures_by_replica(planned, curves)
        weight_bytes = sum(curve.weights.nbytes for curve in curves if curve.weights is not None)
        content = {
            "point": self._point,
            "learner": planned.learner.name,
            "is_side_run": is_side_run,
            "of": key,
            "measures": sorted(curve_keys.names_of(planned)),
            "by_replica": sorted(by_replica),
            "described": [_description_of_curve(curve) for curve in curves],
            "curves": [
                curve_keys.reduced(curve, by_replica, weight_bytes <= curve_keys.MOST_WEIGHT_BYTES)
                for curve in curves
            ],
        }
        start = self._try_append("curv", content)
        if start is not None and self._journal is not None:
            digest = hashlib.sha256(key).digest()
            self._try_append("key ", {"key": digest, "start": start})
            self._store.observe(self._journal.path, [(digest, start)])
            self._make_room()

    def _try_append(self, kind: str, content: Any) -> int | None:
        """Append a frame, and return its position in the file.

        If appending fails, return None, and store the reason of the first failure.
        """
        if kind in ON_TRACE and not self._has_trace:
            return None
        try:
            return self._append_frame(kind, content)
        except (BadInput, MemoryError) as error:
            self._is_whole = False
            if self._fault is None:
                self._fault = str(error) or "there is not enough memory"
        return None

    def _append_frame(self, kind: str, content: Any) -> int | None:
        if self._journal is None:
            return None
        packed, path = pack(content), self._journal.path
        with self._lock:
            if self._bytes + len(packed) > self._store.limit:
                size = (self._bytes + len(packed)) / MB
                limit = self._store.limit / MB
                fault = f"the run takes {size:.3g} MB, but all stored runs may take only {limit:.3g} MB"
                raise BadInput(str(path), fault)
            with files.faults(str(path), "cannot be written"):
                start = self._journal.append(kind, packed)
            self._bytes += len(packed)
        return start

    def _make_room(self) -> None:
        if self._journal is not None:
            if self._bytes - self._made_room_at < self._store.limit / 100:
                return
            self._store.observe(self._journal.path)
        self._made_room_at = self._bytes
        self.removed += self._store.make_room()


ON_TRACE = "grow", "curv", "done"
"""Kinds of frames about the current trace."""

GROWING = "clock", "values", "mean", "stderr"
"""Kinds of arrays of a curve that have one row per record."""


def _clock_names(arrays: Mapping[str, Any]) -> list[str]:
    return [name for name in arrays if name.startswith("clock/")]


def _remove_growth(path: Path) -> None:
    """Remove the frames from a run's file that matter only while the run continues.

    These frames have the records of growing curves, and samples of the machine's use. The complete curves are
    in other frames.
    """
    content, place = bytearray(journal.MAGIC), 0
    with suppress(OSError, BadInput):
        for frame in journal.frames(path):
            packed = frame.packed
            if frame.kind == "key ":
                packed = pack({**frame.content, "start": place})
            elif frame.kind == "curv":
                place = len(content)
            if frame.kind not in ("grow", "mach"):
                content += journal.header(frame.kind, packed) + packed
        files.write(path, content, "")


def _description_of_curve(curve: Curve) -> dict[str, Any]:
    return {
        "name": curve.name,
        "learner": curve.learner,
        "rate": curve.rate,
        "capacity": curve.capacity,
        "replicas": curve.replicas,
        "verdict": msgspec.to_builtins(curve.verdict),
        "backend": curve.backends[0],
        "oracle_tuned": curve.oracle_tuned,
        "indices": {measure: dict(indices) for measure, indices in curve.all_indices.items()},
    }


def _description_of_line(line: TheoryLine, trace: Trace) -> dict[str, Any]:
    return {
        "statement": msgspec.to_builtins(line.statement),
        "on_problem": msgspec.to_builtins(line.on_problem),
        "on_learners": msgspec.to_builtins(line.on_learners),
        "x": None if line.x is trace.x else line.x,
        "values": line.values,
        "per_learner": line.per_learner,
        "of_curves": {name: _description_of_values(along, trace) for name, along in line.of_curves.items()},
        "by_replica": line.by_replica,
        "indices": line.indices,
        "beyond": None if line.beyond is None else _description_of_values(line.beyond, trace),
    }


def _description_of_values(along: Along, trace: Trace) -> dict[str, Any]:
    """Describe the values of a theory line for the file.

    Clock values are omitted if all of them are as planned.
    """
    is_planned = along.clocks.keys() == trace.planned.keys() and all(
        np.array_equal(times, trace.planned[clock]) for clock, times in along.clocks.items()
    )
    return {"clocks": None if is_planned else along.clocks, "indices": along.indices, "values": along.values}
