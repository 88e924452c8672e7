"""Protocol with a given number of steps on a fixed training set, by full gradients or mini-batches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.cost import Logarithm
from engine.core.lazy import torch
from engine.core.memory import Sizes
from engine.core.parts import MOST, SELDOM, BadInput, Count, Values
from engine.core.streams import Stream, Streams
from engine.protocols import Batches, Extent, Floats, Protocol, ProtocolSchedule, Until, bytes_of_rows, places
from engine.training.descent import Descent, TrainingInputs, begin, rates_of
from engine.training.recorder import Block, Recorder
from engine.training.training_run import InPieces, learning

if TYPE_CHECKING:
    from engine.learners.learner import Learner

ROUNDING = 1e-9
"""Relative rounding error by which the field `steps`, a float, may exceed the intended integer."""


AHEAD = 64
"""Number of mini-batches with replacement that are drawn in one call.

This number does not affect which rows are drawn.
"""


class Steps(Protocol, frozen=True, tag="steps"):
    """A given number of steps on the first `train` rows. At each record, losses are measured on all n rows.

    A step follows the mean gradient of all training rows, or of a mini-batch of `batch` rows. By default,
    each mini-batch takes the next rows of a pass through the training rows, and each pass has a new random
    order. If a pass ends within a mini-batch, the next pass provides the last rows of this mini-batch. With
    `drop_last`, the remaining rows of the pass are skipped instead. With `fresh`, each mini-batch is a random
    subset of the training rows, drawn independently of earlier mini-batches. With `replacement`, all rows of
    a mini-batch are independent draws. Replicas draw different mini-batches. All rates and targets of a
    replica share its mini-batches. All learners share the mini-batches too, unless `own_batches` is set. The
    mini-batch size of an update rule (sgd) is not used.

    After the start, up to `records` records are taken at equal distances or, with `grid = "log"`, at steps
    that grow by equal factors. Each record takes all measures, including expensive measures. Exceptions are
    measures that are limited to the first and the last record. `until` ends a run early, once a clock (step,
    k, time) or a measure has passed a threshold in every replica. The curve ends at the first record at which
    all replicas have passed the threshold. The clocks are `step` and `k` = batch · step, the number of
    examples seen. Rules with a rate η also have the clock `time`, the sum of the rates of all steps. Without
    a schedule, `time` is η · step. With the schedule per-loss, `time` differs between replicas. Solvers are
    fitted to all training rows in the first step. With `log_loss`, steps follow gradients of the logarithm of
    the mean loss. The gradients of the logarithm have the same directions as those of the loss, but do not
    shrink with the loss. Source: theory/wide-nets#conventions-of-the-lectures,
    theory/curvature#edge-of-stability, theory/curvature#catapult.
    """

    clock: ClassVar[str] = "step"

    steps: Annotated[
        float,
        Meta(
            gt=0, le=MOST, title="steps", description="number of training steps, rounded up to a whole number"
        ),
    ] = 100.0
    batch: Annotated[
        Count | None, Meta(title="mini-batch", description="number of rows per step; none: all training rows")
    ] = None
    replacement: Annotated[
        bool,
        Meta(
            title="replacement",
            description="draw the rows of a mini-batch independently, so that they may repeat",
        ),
    ] = False
    fresh: Annotated[
        bool,
        Meta(
            title="fresh",
            description="draw each mini-batch anew, instead of taking the next rows of a pass",
            extra=SELDOM,
        ),
    ] = False
    drop_last: Annotated[
        bool,
        Meta(
            title="drop the last",
            description="skip the last rows of a pass if they are too few for a mini-batch",
            extra=SELDOM,
        ),
    ] = False
    own_batches: Annotated[
        bool,
        Meta(
            title="own mini-batches",
            description="every learner has its own mini-batches, instead of sharing them",
            extra=SELDOM,
        ),
    ] = False
    train: Annotated[
        Count | None,
        Meta(
            title="training rows",
            description="number of training rows, which are the first rows; none: all rows",
        ),
    ] = None
    records: Annotated[
        Count, Meta(title="records", description="maximum number of measurements after the start")
    ] = 100
    grid: Annotated[
        Literal["linear", "log"],
        Meta(
            title="grid",
            description="steps of records: at equal distances (linear), or at equal factors (log)",
        ),
    ] = "linear"
    log_loss: Annotated[
        bool,
        Meta(
            title="logarithm",
            description="follow ∇ ln L = ∇L/L, which does not shrink with the loss, instead of ∇L",
            extra=SELDOM,
        ),
    ] = False
    until: Annotated[
        Until | None,
        Meta(title="until", description="end training early, once a clock or measure passes a value"),
    ] = None

    def schedule(self) -> ProtocolSchedule:
        independent = (self.fresh or self.replacement) and not (self.log_loss or self._is_full_batch)
        return ProtocolSchedule(
            single=self.batch == 1,
            full_batch=self._is_full_batch and not self.log_loss,
            in_data_order=self._is_full_batch,
            shuffles=not self._is_full_batch,
            batches=Batches(self.batch, self.replacement) if independent else None,
            of_logarithm=self.log_loss,
            stops_blindly=self.until is None or self.until.measure is None,
            ends_early=self.until,
            draws_by_name=self.own_batches,
        )

    def departure_from_k_rows(self, measure: str) -> str | None:
        return None if self._is_full_batch else "steps follow mini-batches in random order"

    def check(self, n: int, labels: Values) -> None:
        if self.train is not None and self.train > n:
            raise BadInput("protocol.train", f"there are only {n} rows; take at most {n}")
        if self.batch is not None and self.batch > (rows := self.rows(n)):
            message = (
                f"a step needs {self.batch} rows, and there are {rows} training rows; take at most {rows}"
            )
            raise BadInput("protocol.batch", message)

    def rows(self, n: int) -> int:
        """Return the number of training rows, if the data have n rows."""
        return self.train or n

    def drawn_rows(self, n: int) -> int:
        """Return the number of rows that each step copies to a mini-batch, or 0 for full-batch steps."""
        return 0 if self._is_full_batch else self.batch or self.rows(n)

    @property
    def _is_full_batch(self) -> bool:
        return self.batch is None and not self.replacement

    def extent(self, n: int) -> Extent:
        last, rows = max(1, math.ceil(self.steps * (1 - ROUNDING))), self.rows(n)
        return Extent(
            last,
            records=min(self.records, last) + 1,
            rows=rows,
            most_examples=min(last * (self.batch or rows), rows),
            examples_given=rows,
            solvers_look_ahead=0 < self.drawn_rows(n) < rows,
        )

    def bytes_held(self, sizes: Sizes) -> int:
        return bytes_of_rows(self.drawn_rows(sizes.n), sizes)

    def place(self, number: Any, n: int) -> NDArray[np.int64]:
        """Return the number of training steps before each record (evaluation), given the record indices.

        On a logarithmic grid, the first record after the start is at step 1. At first, records are one step
        apart. Later, the numbers of steps grow by a constant factor.
        """
        extent = self.extent(n)
        count, last = extent.records - 1, int(extent.last)
        if self.grid == "linear":
            return np.asarray(number) * last // count
        factors = np.power(float(last), (np.asarray(number) - 1) / max(1, count - 1))
        spread = np.maximum(number, np.rint(factors)).astype(np.int64)
        return np.where(np.asarray(number) == 0, 0, np.where(np.asarray(number) == count, last, spread))

    def clocks(self, n: int) -> dict[str, Floats]:
        steps = places(self, n)
        return {"step": steps, "k": steps * (self.batch or self.rows(n))}

    def measured_clocks(self, learner: Learner) -> tuple[str, ...]:
        timed = hasattr(learner.update, "lr") and learner.rate_unit == "one"
        return ("time",) if timed else ()

    def examples_seen(self, n: int) -> Floats:
        return np.minimum(self.clocks(n)["k"], float(self.rows(n)))

    def rows_seen(self, n: int, k: int, streams: Streams, solver: bool = False) -> NDArray[np.bool_]:
        rows = self.rows(n)
        if solver:
            return np.arange(n) < (rows if k else 0)
        seen = np.arange(n) < min(k, rows)
        if self._is_full_batch or (k >= rows and not self.replacement and not self.drop_last):
            return seen
        drawn = self.replacement, self.fresh, self.drop_last
        batches = MiniBatches(streams("batches"), rows, self.batch or rows, *drawn)
        seen[:] = False
        for _ in range(k // (self.batch or rows)):
            seen[batches.draw()[0].numpy()] = True
            if seen[:rows].all():
                break
        return seen

    def training_run(self, inputs: TrainingInputs, begin: Any = None) -> Stepping:
        return Stepping(self, inputs)


class Stepping(InPieces):
    """Training run of a learner that makes a given number of steps."""

    def __init__(self, protocol: Steps, inputs: TrainingInputs) -> None:
        super().__init__()
        followed = Logarithm(inputs.loss) if protocol.log_loss else inputs.loss
        self.hypothesis = begin(replace(inputs, loss=followed))
        learner, data = inputs.learner, inputs.data
        n = data.instances.n
        self._places, self._rows = places(protocol, n), protocol.rows(n)
        rows = slice(0, self._rows)
        self._instances, self._labels = data.instances.at(rows), data.labels[:, rows]
        self._solves, self._batch = learner.solver is not None, protocol.batch or self._rows
        full = self._solves or not protocol.drawn_rows(n)
        draws = inputs.streams(f"batches of {learner.name}" if protocol.own_batches else "batches")
        drawn = protocol.replacement, protocol.fresh, protocol.drop_last
        self._batches = None if full else MiniBatches(draws, self._rows, self._batch, *drawn)
        timed = "time" in protocol.measured_clocks(learner)
        self._rates = np.array(rates_of(learner)) if timed else None
        self._by_net = data.replicas, data.variants, -1
        by_loss = learner.schedule is not None and learner.schedule.of_loss
        self._rate_sum: float | Floats = np.zeros(self._by_net[:2]) if by_loss else 0.0
        self._recorder = Recorder(inputs, self.hypothesis, len(self._places), every_record=True)
        self._nothing = self._recorder.block()
        self._recorded = False

    def pieces(self) -> Iterator[None]:
        step = 0
        for place in self._places.astype(int).tolist():
            while step < place:
                step += 1
                yield from self._make_step(step)
                self._rate_sum = self._rate_sum + self._schedule_factor()
                yield
            self._recorder.take(self._clock_readings(step), self._rows)
            self._recorded = True
            yield

    def block(self) -> Block:
        if not self._recorded:
            return self._nothing
        self._recorded = False
        return self._recorder.block()

    def _clock_readings(self, step: int) -> dict[str, float | Floats]:
        clocks: dict[str, float | Floats] = {"step": step, "k": step * self._batch}
        if self._rates is not None:
            clocks["time"] = self._rate_sum * self._rates
        return clocks

    def _schedule_factor(self) -> float | Floats:
        """Return the schedule's factor of the rates in the latest step: one number, or [R, V]."""
        factor = self.hypothesis.factor if isinstance(self.hypothesis, Descent) else 1.0
        if isinstance(factor, float):
            return factor
        factors: Floats = factor.double().view(self._by_net).mean(2).cpu().numpy()
        return factors

    def _make_step(self, step: int) -> Iterator[None]:
        if self._batches is not None:
            numbers = self._batches.draw().to(self._labels.device)
            members = len(self._labels) // len(numbers)
            labels = self._labels.gather(1, numbers.repeat_interleave(members, 0))
            self.hypothesis.learn(self._instances.pick(numbers), labels)
        elif not self._solves or step == 1:
            yield from learning(self.hypothesis, self._instances, self._labels)


class MiniBatches:
    """Source of random mini-batches for every replica."""

    def __init__(
        self,
        draws: Stream,
        rows: int,
        batch: int,
        replacement: bool = False,
        fresh: bool = False,
        drop_last: bool = False,
    ) -> None:
        self._draws, self._rows, self._batch = draws, rows, batch
        self._replacement, self._fresh, self._drop_last = replacement, fresh, drop_last
        self._unused_rows = np.empty((self._draws.replicas, 0), np.int64)
        """Indices of rows that are drawn but not used yet, [R, m]."""

    def draw(self) -> torch.Tensor:
        """Draw the rows of the next mini-batch, [R, batch]."""
        while self._unused_rows.shape[1] < self._batch:
            more = self._draw_rows()
            self._unused_rows = more if self._drop_last else np.concatenate([self._unused_rows, more], 1)
        drawn, self._unused_rows = self._unused_rows[:, : self._batch], self._unused_rows[:, self._batch :]
        return torch.from_numpy(np.ascontiguousarray(drawn))

    def _draw_rows(self) -> NDArray[np.int64]:
        """Draw rows for the next mini-batches, [R, m].

        The rows suffice for AHEAD mini-batches with replacement, for one fresh mini-batch, or for one pass
        over the training rows.
        """
        if self._replacement:
            return self._draws.integers(self._rows, AHEAD * self._batch)
        order = self._draws.permutation(self._rows)
        return order[:, : self._batch] if self._fresh else order
