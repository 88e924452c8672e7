"""Spread of a sweep over devices of one kind: a process per device computes points, or groups of replicas.

Replica r of a run with seed s equals the run with seed s + r. So a group of replicas is a run with fewer
replicas and a later seed. The main process collects the computed curves, and does everything else itself.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import ceil
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.core import journal
from engine.core.outside import outside
from engine.core.parts import BadInput
from engine.core.stopping import Stopped, go_on
from engine.planning.run_plan import LearnerPlan, RunPlan, plan_run
from engine.results.measure_series import MeasureSeries, replicas_kept
from engine.results.results import Results
from engine.results.trace import Curve, Trace
from engine.runtime import curve_keys
from engine.runtime.drawn_data import DrawnData
from engine.runtime.run import MOST, Keeper, run
from engine.spec.experiment import Experiment, RunSettings

if TYPE_CHECKING:
    from engine.runtime.run_writer import RunWriter
    from engine.spec.sweep import Sweep

Arrays = dict[str, NDArray[Any]]

PLACE = "local:cuda"
"""Name of all CUDA devices of this machine, for the option `--on`."""

LEAST_REPLICAS = 2
"""Minimum number of replicas in a group.

With one replica per group, an array of one column would be ambiguous: it may hold all replicas, or only the
first.
"""

POLL_SECONDS = 0.2
"""Seconds between two checks for cancellation while all devices are at work."""

Begin = Callable[[Connection], None]
"""Function that a new process calls to select its device and serve the connection."""


def serve(connection: Connection) -> None:
    """Receive experiments over a connection, compute them, and send back their curves.

    The work ends when the connection is closed.
    """
    # Ctrl-C and a hangup reach all processes of the terminal, and SIGTERM all processes of a batch job.
    # But only the sweep ends this process.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    drawn_data = DrawnData()
    while True:
        try:
            words = connection.recv_bytes()
        except EOFError:
            return
        try:
            collector = Collector()
            # During a run, nothing arrives on the connection except its end.
            run(
                msgspec.json.decode(words, type=Experiment),
                lambda: 0 if connection.poll() else MOST,
                writer=collector,
                data=drawn_data,
            )
            answer: dict[str, Any] = {"curves": collector.curves}
        except BadInput as error:
            answer = {"refused": (error.where, error.fault)}
        except Exception:
            answer = {"failed": traceback.format_exc()}
        connection.send_bytes(journal.pack(answer))


def without_output(begin: Begin, connection: Connection) -> None:
    """Call `begin` in a new process that prints nothing, because an app shows its screen on the terminal."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    begin(connection)


class Collector:
    """Keeper that collects the curves of each learner when its training ends."""

    def __init__(self) -> None:
        self.curves: list[tuple[bytes, list[Arrays]]] = []
        """Keys of learners, and the arrays of their curves, one per rate."""

    def restore(self, planned: LearnerPlan, curves: Sequence[Curve], is_side_run: bool = False) -> bool:
        return False

    def begun(self, trace: Trace) -> None:
        pass

    def grow(self, trace: Trace) -> None:
        pass

    def keep(self, planned: LearnerPlan, curves: Sequence[Curve], is_side_run: bool = False) -> str | None:
        key = curve_keys.key_of(planned.experiment, planned.learner)
        self.curves.append((key, [curve.as_arrays() for curve in curves]))
        return None


class Device:
    """Process that computes on one device."""

    def __init__(self, begin: Begin) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, remote_end = context.Pipe()
        self.process = context.Process(target=begin, args=(remote_end,), daemon=True)
        self.process.start()
        remote_end.close()
        self.task: int | None = None
        """Number of the sweep point that the process works on, or None if it is idle."""

    def submit(self, number: int, experiment: Experiment) -> None:
        self.task = number
        self.connection.send_bytes(msgspec.json.encode(experiment))

    def receive(self) -> list[tuple[bytes, list[Arrays]]]:
        """Receive the curves of the experiment that was submitted last, with the keys of the learners.

        Raises: BadInput; RuntimeError if the process failed.
        """
        self.task = None
        try:
            answer = journal.unpack(self.connection.recv_bytes())
        except EOFError:
            self.process.join()
            fault = (
                f"a worker process ended with exit code {self.process.exitcode}; run again, or leave --on out"
            )
            raise BadInput(f"--on {PLACE}", fault) from None
        if "refused" in answer:
            raise BadInput(*answer["refused"])
        if "failed" in answer:
            raise RuntimeError(f"the worker process of a device failed:\n{answer['failed']}")
        return [(key, curves) for key, curves in answer["curves"]]

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


class Spread:
    """Curves that several devices compute in advance, for sweep points that the run has not reached yet."""

    def __init__(self, sweep: Sweep, devices: Sequence[Begin]) -> None:
        self._sweep = sweep
        self._devices = [Device(begin) for begin in devices]
        self._groups = ceil(len(devices) / len(sweep.points))
        """Number of groups of replicas per point, so that every device has work."""

        self._next_point = 0
        self._tasks: deque[tuple[int, Experiment]] = deque()
        self._curves: dict[bytes, list[Arrays]] = {}
        """Computed curves, by the key of a learner in a group of replicas."""

        self._groups_of: dict[bytes, list[tuple[bytes, int]]] = {}
        """Key and number of replicas of each group of a learner, by the learner's key in the whole run."""

    @property
    def count(self) -> int:
        return len(self._devices)

    def end(self) -> None:
        for device in self._devices:
            device.end()

    def reach(
        self,
        number: int,
        grown: Results,
        writer: RunWriter | None,
        gate: Callable[[], int],
    ) -> Keeper:
        """Wait until a sweep point is computed, and return a keeper that provides its curves and stores them.

        Meanwhile, idle devices compute the next sweep points.

        Args:
            gate: called repeatedly while devices work; it waits while the run is paused, and returns 0 to
                stop the run.

        Raises: BadInput for an experiment that cannot be run; Stopped.
        """
        is_stored = (lambda planned: False) if writer is None else writer.has
        while True:
            self._start_tasks(grown, is_stored)
            at_work = [device for device in self._devices if device.task is not None]
            numbers = {device.task for device in at_work} | {task for task, _ in self._tasks}
            if number < self._next_point and number not in numbers:
                return SpreadKeeper(self, writer)
            if not gate():
                raise Stopped
            go_on()
            connections = [device.connection for device in at_work]
            for connection in wait(connections, POLL_SECONDS):
                device = next(device for device in at_work if device.connection is connection)
                self._curves.update(device.receive())

    def _start_tasks(self, grown: Results, is_stored: Callable[[LearnerPlan], bool]) -> None:
        for device in self._devices:
            if device.task is not None:
                continue
            while not self._tasks and self._next_point < len(self._sweep.points):
                experiment = grown.experiment(self._next_point)
                if experiment.learners:
                    self._queue_next_point(experiment, is_stored)
                self._next_point += 1
            if self._tasks:
                device.submit(*self._tasks.popleft())

    def _queue_next_point(self, experiment: Experiment, is_stored: Callable[[LearnerPlan], bool]) -> None:
        """Queue the work at the next sweep point.

        Do nothing if this work does not need torch, or if the store has the curves of all learners.
        """
        plan = plan_run(experiment)
        learners = *plan.learners, *plan.side_learners
        if not plan.needs_torch or all(map(is_stored, learners)):
            return
        shares = groups(plan, self._groups)
        self._tasks += [(self._next_point, replace(experiment, run=run)) for run in shares]
        for planned_learner in learners:
            run = planned_learner.experiment.run
            self._groups_of[_key_of_curves(planned_learner)] = [
                (
                    _key_of_curves(planned_learner, replace(run, seed=share.seed, replicas=share.replicas)),
                    share.replicas,
                )
                for share in shares
            ]

    def fill(self, planned: LearnerPlan, curves: Sequence[Curve]) -> bool:
        keys = self._groups_of.get(_key_of_curves(planned), [])
        if not keys or any(key not in self._curves for key, _ in keys):
            return False
        parts = [self._curves.pop(key) for key, _ in keys]
        for number, curve in enumerate(curves):
            curve.restore(joined([part[number] for part in parts], [replicas for _, replicas in keys]))
            curve.is_restored = False
        return True


class SpreadKeeper:
    """Keeper of a run (see `Keeper`) whose curves may come from devices.

    It stores them if it has a writer.
    """

    def __init__(self, spread: Spread, writer: RunWriter | None) -> None:
        self._spread, self._writer = spread, writer

    def restore(self, planned: LearnerPlan, curves: Sequence[Curve], is_side_run: bool = False) -> bool:
        if self._writer is not None and self._writer.restore(planned, curves, is_side_run):
            return True
        if not self._spread.fill(planned, curves):
            return False
        if self._writer is not None:
            self._writer.take_over(planned, curves, is_side_run)
        return True

    def begun(self, trace: Trace) -> None:
        trace.environment["devices"] = self._spread.count
        if self._writer is not None:
            self._writer.begun(trace)

    def grow(self, trace: Trace) -> None:
        if self._writer is not None:
            self._writer.grow(trace)

    def keep(self, planned: LearnerPlan, curves: Sequence[Curve], is_side_run: bool = False) -> str | None:
        return None if self._writer is None else self._writer.keep(planned, curves, is_side_run)


def _key_of_curves(planned: LearnerPlan, run: RunSettings | None = None) -> bytes:
    setup = planned.experiment
    return curve_keys.key_of(setup if run is None else replace(setup, run=run), planned.learner)


def groups(plan: RunPlan, count: int) -> list[RunSettings]:
    """Divide the replicas of a run into up to `count` groups, and return the run settings of each group.

    Replicas that depend on one another stay in one group. There are three such cases. A curve that ends early
    waits for its last replica. A measure that compares training runs on transformed instances uses one
    transformation for all replicas. For curves with many records, values are stored for the first replica
    only.
    """
    run, schedule = plan.experiment.run, plan.experiment.protocol.schedule()
    measures = [measure for planned_learner in plan.learners for measure in planned_learner.measures]
    records = max(planned_learner.records for planned_learner in plan.learners)
    is_together = (
        schedule.ends_early is not None
        or any(measure.needs().under is not None for measure in measures)
        or replicas_kept(records, run.replicas) < run.replicas
    )
    count = 1 if is_together else max(1, min(count, run.replicas // LEAST_REPLICAS))
    bounds = [run.replicas * number // count for number in range(count + 1)]
    return [replace(run, seed=run.seed + begin, replicas=end - begin) for begin, end in pairwise(bounds)]


def joined(parts: Sequence[Mapping[str, NDArray[Any]]], replicas: Sequence[int]) -> Arrays:
    """Join arrays of groups of replicas to arrays for all replicas of one curve.

    A group whose replicas have all diverged has fewer evaluation points. Its values at later evaluation
    points are NaN.
    """
    if len(parts) == 1:
        return dict(parts[0])
    lengths = [len(part[next(name for name in part if name.startswith("clock/"))]) for part in parts]
    longest = parts[int(np.argmax(lengths))]
    arrays: Arrays = {
        "divergences": np.concatenate([part["divergences"] for part in parts]),
        "backends": longest["backends"],
    }
    if any("complete" in part for part in parts):
        arrays["complete"] = np.array(True)
    if any("inaccurate" in part for part in parts):
        all_accurate = [np.zeros(count, bool) for count in replicas]
        pairs = zip(parts, all_accurate, strict=True)
        arrays["inaccurate"] = np.concatenate([part.get("inaccurate", empty) for part, empty in pairs])
    for name, array in longest.items():
        kind, _, measure = name.partition("/")
        if kind == "clock":
            arrays[name] = array if array.ndim == 1 else _joined_replicas(parts, name, max(lengths))
        elif kind == "values":
            padded_values = _joined_replicas(parts, name, max(lengths))
            series = MeasureSeries(len(padded_values), padded_values.shape[1])
            series.fill(0, padded_values)
            arrays[name], arrays[f"mean/{measure}"] = padded_values, series.mean
            if series.stderr is not None:
                arrays[f"stderr/{measure}"] = series.stderr
    for measure in sorted({name[2:] for part in parts for name in part if name.startswith("x/")}):
        arrays[f"x/{measure}"], arrays[f"array/{measure}"] = _joined_arrays(parts, replicas, measure)
    for name in ("weights", "weights_x"):
        if name in parts[0]:
            arrays[name] = parts[0][name]
    return arrays


def _joined_replicas(parts: Sequence[Mapping[str, NDArray[Any]]], name: str, length: int) -> NDArray[Any]:
    """Join the arrays [S, R] of all groups along R, after padding them with NaN to S = `length`."""
    columns = []
    for part in parts:
        padded = np.full((length, part[name].shape[1]), np.nan)
        padded[: len(part[name])] = part[name]
        columns.append(padded)
    return np.concatenate(columns, axis=1)


def _joined_arrays(
    parts: Sequence[Mapping[str, NDArray[Any]]], replicas: Sequence[int], measure: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the x values [S], and the values [S, R or 1, *index], of an array-valued measure."""
    measured = [part for part in parts if f"x/{measure}" in part]
    earliest = measured[0][f"array/{measure}"]
    if earliest.shape[1] == 1:  # values of the first replica alone
        return measured[0][f"x/{measure}"], earliest
    x = np.unique(np.concatenate([part[f"x/{measure}"] for part in measured]))
    columns = []
    for part, count in zip(parts, replicas, strict=True):
        padded = np.full((len(x), count, *earliest.shape[2:]), np.nan)
        if f"x/{measure}" in part:
            padded[np.searchsorted(x, part[f"x/{measure}"])] = part[f"array/{measure}"]
        columns.append(padded)
    return x, np.concatenate(columns, axis=1)


def cuda_devices() -> list[Begin]:
    """Return, for each CUDA device of this process, a function that serves a connection on the device.

    Raises: BadInput if there is no device.
    """
    from engine.core.lazy import torch

    count = torch.cuda.device_count()
    if not count:
        raise BadInput(f"--on {PLACE}", "this machine has no CUDA device that torch can use")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = visible.split(",")[:count] if visible else [str(number) for number in range(count)]
    return [partial(serve_on_cuda, name.strip(), outside.requested) for name in names]


def serve_on_cuda(name: str, parts: Sequence[Path], connection: Connection) -> None:
    """Serve a connection on the CUDA device called `name`. The process sees no other device."""
    os.environ["CUDA_VISIBLE_DEVICES"] = name
    outside.request(parts)
    serve(connection)
