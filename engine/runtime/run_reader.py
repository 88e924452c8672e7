"""Reader of a run. It gets results from the run's file alone, during the run or afterwards.

It computes nothing, and needs neither torch nor a backend.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from engine.core import journal
from engine.core.catalogue import MemberOf
from engine.core.machine import MachineSample
from engine.core.parts import BadInput, Finding, Verdict
from engine.measures import Measure
from engine.results.results import Results
from engine.results.trace import Along, Curve, Statement, TheoryLine, Trace, settle
from engine.runtime.run_writer import GROWING
from engine.runtime.stored_run import StoredRun
from engine.spec import documents, presets
from engine.spec.sweep import Sweep

KNOWN = "head", "trac", "grow", "curv", "key ", "skip", "done", "end ", "mark", "mach"
"""Kinds of frames that this version reads."""


class RunReader:
    """Results of a run, read from the run's file. They grow when `read` finds new frames in the file.

    The file stays open, so that the writer may replace it by a shorter file meanwhile.
    """

    def __init__(self, path: Path) -> None:
        """Open the file of a run, and read its first frame. Raises: BadInput."""
        self.path = path
        self.unknown: set[str] = set()
        """Kinds of frames that a newer version wrote and that this version skips."""

        self.machine: MachineSample | None = None
        """Last sample of the machine that computes the run."""

        self._journal = journal.Tail(path)
        try:
            first = next(self._journal.frames(), None)
            if first is None or first.kind != "head":
                raise BadInput(
                    str(path), "the file is damaged: it does not begin with the experiment of a run"
                )
            self.run = msgspec.convert(first.content, StoredRun)
            self.run.path = str(path)
            self.sweep = _sweep_of(self.run)
            self.results = Results(self.sweep)
        except (msgspec.MsgspecError, ValueError, KeyError) as error:
            self.close()
            if isinstance(error, BadInput):
                raise
            raise BadInput(str(path), f"the beginning of the run cannot be read: {error}") from error

    def close(self) -> None:
        self._journal.close()

    @property
    def ended(self) -> bool:
        return self.run.ended is not None

    def read(self) -> Iterator[tuple[str, int]]:
        """Read the appended frames, and yield each frame's kind and the number of its sweep point.

        Raises: BadInput for a frame that this version cannot read.
        """
        for frame in self._journal.frames():
            try:
                yield frame.kind, self._receive_frame(frame)
            except (msgspec.MsgspecError, KeyError, ValueError, IndexError, TypeError, zlib.error) as error:
                if isinstance(error, BadInput):
                    raise
                fault = f"version {self.run.version} of the program wrote this run"
                raise BadInput(
                    str(self.path), f"{fault}, and this version cannot read a part of the run: {error}"
                ) from error

    def all(self) -> Results:
        """Read the whole file of the run, close it, and return the results. Raises: BadInput."""
        for _ in self.read():
            pass
        self.close()
        return self.results

    def _receive_frame(self, frame: journal.JournalFrame) -> int:
        if frame.kind not in KNOWN:
            self.unknown.add(frame.kind)
            return 0
        self.run.receive(frame)
        if frame.kind in ("mark", "end ", "key ", "head"):
            return 0
        content = frame.content
        if frame.kind == "mach":
            self.machine = msgspec.convert(content, MachineSample)
            return 0
        number = int(content["point"])
        if frame.kind == "skip":
            self.results.skipped[number] = frozenset(content["learners"])
        elif frame.kind == "trac":
            self.results.traces[number] = _empty_trace(journal.unpack(zlib.decompress(content["deflated"])))
        elif frame.kind == "grow":
            for grown in content["curves"]:
                _append_growth(
                    self.results.traces[number].curves[grown["curve"]], grown["start"], grown["arrays"]
                )
        elif frame.kind == "curv" and not content["is_side_run"]:
            _end_learner(self.results.traces[number], content)
        elif frame.kind == "done":
            for place, of_curves in content["lines"].items():
                trace = self.results.traces[number]
                along = {name: _line_values(numbers, trace.planned) for name, numbers in of_curves.items()}
                trace.lines[place].of_curves.update(along)
            self.results.finished.add(number)
        return number


def opened(path: Path) -> tuple[StoredRun, Results]:
    """Return a run and its results from its file. Raises: BadInput."""
    reader = RunReader(path)
    traces = reader.all()
    return reader.run, traces


def _sweep_of(run: StoredRun) -> Sweep:
    if run.preset is not None:
        try:
            return presets.sweep_of(run.preset, run.document)
        except BadInput:
            pass  # the preset's file is gone, but the run has its document
    try:
        return documents.sweep_of(run.document)
    except BadInput as error:
        where = f"run {run.id}: {error.where}" if error.where else f"run {run.id}"
        fault = f"{error.fault} (version {run.version} of the program wrote it)"
        raise BadInput(where, fault) from error


def _empty_trace(content: Mapping[str, Any]) -> Trace:
    planned = content["planned"]
    examples = content["examples"]
    return Trace(
        [_empty_curve(described) for described in content["curves"]],
        [_theory_line(described, planned) for described in content["lines"]],
        planned,
        content["x_label"],
        content["environment"],
        content["compared_by"],
        examples=None if examples is None else tuple(examples),
        measures=tuple(msgspec.convert(measure, MemberOf[Measure]) for measure in content["measures"]),
    )


def _empty_curve(described: Mapping[str, Any]) -> Curve:
    curve = Curve(
        described["name"],
        described["capacity"],
        described["replicas"],
        msgspec.convert(described["verdict"], Verdict),
        described["learner"],
        described["rate"],
        described["backend"],
        described["indices"],
    )
    curve.oracle_tuned = described["oracle_tuned"]
    # the best rate is already known for a curve from an earlier run
    curve.best = curve.best or curve.oracle_tuned
    return curve


def _end_learner(trace: Trace, content: Mapping[str, Any]) -> None:
    shown = [curve for curve in trace.curves if curve.learner == content["learner"]]
    curves = [_empty_curve(described) for described in content["described"]]
    if shown and not shown[0].oracle_tuned:
        curves = shown
    for curve, arrays in zip(curves, content["curves"], strict=True):
        curve.restore(arrays)
    settle(curves, shown[0] if shown and shown[0].oracle_tuned else None, trace.compared_by)


def _append_growth(curve: Curve, start: int, arrays: Mapping[str, Any]) -> None:
    earlier = curve.as_arrays() if start else {}
    grows = {name for name in earlier if name.partition("/")[0] in GROWING}
    appended = {
        name: np.concatenate([earlier[name][:start], array]) if name in grows else array
        for name, array in arrays.items()
    }
    curve.restore(appended, ended=False)


def _theory_line(described: Mapping[str, Any], planned: Mapping[str, Any]) -> TheoryLine:
    x = next(iter(planned.values())) if described["x"] is None else described["x"]
    beyond = described["beyond"]
    return TheoryLine(
        msgspec.convert(described["statement"], Statement),
        msgspec.convert(described["on_problem"], Finding),
        msgspec.convert(described["on_learners"], dict[str, Finding]),
        x,
        described["values"],
        described["per_learner"],
        {name: _line_values(numbers, planned) for name, numbers in described["of_curves"].items()},
        by_replica=described["by_replica"],
        indices=described["indices"],
        beyond=None if beyond is None else _line_values(beyond, planned),
    )


def _line_values(numbers: Mapping[str, Any], planned: Mapping[str, Any]) -> Along:
    clocks = dict(planned) if numbers["clocks"] is None else numbers["clocks"]
    return Along(clocks, numbers["indices"], numbers["values"])
