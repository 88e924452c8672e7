"""Protocols: in which order examples are shown, and when the loss is measured."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple
from typing import Protocol as Interface

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.catalogue import members
from engine.core.memory import Sizes
from engine.core.parts import LARGEST, BadField, Part, Values
from engine.hypotheses.hypothesis import Weighted
from engine.measures import named
from engine.training.descent import Descent, TrainingInputs
from engine.training.recorder import Block, Recorder
from engine.training.training_run import TrainingRun

if TYPE_CHECKING:
    from engine.core.lazy import torch
    from engine.core.params import Params
    from engine.core.streams import Streams
    from engine.learners.learner import Learner

    LossKind = str
    MeasureName = str
else:
    LossKind = Literal[tuple(members("losses"))]
    MeasureName = Literal[tuple(name for name, measure in named().items() if measure.is_number)]

Floats = NDArray[np.float64]

CLOCKS = {
    "k": "examples k",
    "epoch": "epochs",
    "step": "steps",
    "time": "time",
    "evaluations": "evaluations of the gradient",
}
"""How far training has come: the names of the clocks, and how an x-axis says them.

`time` is the sum of the rates of all steps, for update rules that have a rate, or that of a flow.
"""

Threshold = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]


class Until(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a training run may end early: once a clock or a measure has passed a value in every replica.

    A learner that has no such clock, or of which that is not measured, goes on to the end.
    """

    clock: Annotated[
        Literal["step", "k", "time"] | None, Meta(title="clock", description="which passes the value")
    ] = None
    measure: Annotated[
        MeasureName | None, Meta(title="measure", description="which passes it, in place of a clock")
    ] = None
    above: Annotated[Threshold | None, Meta(title="above", description="a value; it ends once past it")] = (
        None
    )
    below: Annotated[
        Threshold | None, Meta(title="below", description="a value; it ends once a measure is below it")
    ] = None

    def __post_init__(self) -> None:
        if (self.clock is None) == (self.measure is None):
            raise BadField("clock", "it needs one of clock and measure")
        if (self.above is None) == (self.below is None):
            raise BadField("above", "it needs one of above and below")
        if self.clock is not None and self.above is None:
            raise BadField("below", "a clock passes a value from below; take above")

    def in_words(self, loss: str) -> str:
        """When it is passed where wrong predictions cost this loss, as in "0/1 error on seen rows < 0.01"."""
        sign, threshold = ("<", self.below) if self.below is not None else (">", self.above)
        quantity = self.clock if self.measure is None else named()[self.measure].label_with(loss)
        return f"{quantity} {sign} {threshold:g}"

    def passed(self, clocks: Mapping[str, Floats], measures: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """At which records a value was passed, in every replica [S, R] or in all at once [S, 1].

        Args:
            clocks: by name, [S], or [S, R] where replicas differ.
            measures: by name, [S, R]; NaN passes nothing.
        """
        if self.clock is not None:
            series = clocks.get(self.clock)
            series = series[:, None] if series is not None and series.ndim == 1 else series
        else:
            series = measures.get(self.measure or "")
        if series is None:
            return np.zeros((len(next(iter(clocks.values()))), 1), bool)
        if self.below is not None:
            return np.asarray(series < self.below)
        assert self.above is not None, "__post_init__ sees to it"
        return np.asarray(series > self.above)


class OnlineLearner(Interface):
    """A learner that takes examples one at a time, in the order of a pass."""

    @property
    def hypothesis(self) -> Weighted:
        """What the learner predicts now."""

    @property
    def recorder(self) -> Recorder:
        """What takes its records."""

    def learn(self, k: int) -> Iterable[None]:
        """Take in example number k, counted from one; what is returned yields between pieces of work."""


BeginOnline = Callable[[TrainingInputs, "torch.Tensor | None", int], OnlineLearner]
"""Puts a learner at its start.

Of it are given which row is seen first, second, … [R, n], None for their own order, and how many records
there will be, the one at the start too.
"""


class ModelGroup(Interface):
    """Models for some consecutive k, trained side by side."""

    @property
    def hypothesis(self) -> Descent:
        """What the models predict now."""

    @property
    def training(self) -> bool:
        """Whether one of them is not trained to the end."""

    def steps(self, limit: int, tolerance: float, drawn: NDArray[np.int64] | None = None) -> int:
        """Updates of every model whose training loss was above the tolerance before its last one; how many.

        Along the gradients of these rows [R, K, batch], or of all that the models train on.
        """

    def finish(self) -> Block:
        """The records of all models."""


BeginGroup = Callable[[Floats, TrainingInputs, "Params"], ModelGroup]
"""Puts the models for these k at their start, the tensors of every replica."""


class Batches(NamedTuple):
    """Mini-batches that are drawn independently of all that came before."""

    size: int | None
    """Rows of each; None for as many as there are training rows."""

    replacement: bool
    """Whether the rows of one mini-batch are drawn independently of one another."""

    def variance(self, rows: int) -> float:
        """The variance of a step's gradient over mini-batches, over that of the gradient of a single row."""
        size = self.size or rows
        return 1 / size if self.replacement else (rows - size) / (size * max(1, rows - 1))


class ProtocolSchedule(NamedTuple):
    """What a protocol declares about its steps and records. The defaults are what binds nobody."""

    single: bool = False
    """Whether every gradient is that of a single example."""

    online: bool = False
    """Whether it is one pass of updates along single examples, with a record after each."""

    full_batch: bool = False
    """Whether every gradient of a rule without mini-batches is that of the loss over the same rows."""

    flows: bool = False
    """Whether rules follow their flow, in the time that the clock `time` says, and make no steps."""

    trains: bool = True
    """Whether learners need an update rule, or a solver."""

    drawn_independently: bool = False
    """Whether every example is drawn from all rows, whichever came before."""

    in_data_order: bool = False
    """Whether only the first k rows of the data have been seen when the clock of bounds says k."""

    shuffles: bool = False
    """Whether at most k examples have been seen, a uniformly random subset of the training rows."""

    batches: Batches | None = None
    """How mini-batches are drawn; None where there are none, or where they depend on one another."""

    averages_hypotheses: bool = False
    """Whether the loss after k examples is the mean over the k hypotheses that predicted them."""

    clips_at: float | None = None
    """Y if predictions are cut to [0, Y]."""

    of_logarithm: bool = False
    """Whether steps go along gradients of the logarithm of the loss, and not of the loss itself."""

    stops_blindly: bool = False
    """Whether the number of steps before every record depends on no label."""

    ends_early: Until | None = None
    """When a curve is complete before its last record; None for never."""

    fresh_steps: int | None = None
    """The most steps of a fresh model for every k, on the first k rows; None where there is no such model."""

    draws_by_name: bool = False
    """Whether what a learner draws depends on its name, so that a renamed one is another."""

    takes_all_rows: bool = False
    """Whether training could go on from the last record to the last row, an example after the other."""

    logarithmic: bool = False
    """Whether its x-axis is best drawn logarithmically."""

    in_double_precision: bool = False
    """Whether it computes in float64, whatever the run requests."""


class Extent(NamedTuple):
    """How long a training run over n instances is."""

    last: float
    """Where on the x-axis the last record is; the first is at 0."""

    records: int
    """How many records there are."""

    rows: int
    """Rows that training may use: the first so many."""

    most_examples: int
    """The most different examples that have been seen: the last k of bounds."""

    examples_given: int
    """The most examples that a solver is given."""

    solvers_look_ahead: bool = False
    """Whether solvers know examples by a record that the clock k does not count there."""

    models: int = 1
    """Models that an architecture is trained as, side by side."""


class Protocol(Part, frozen=True):
    """A way of training and of measuring, common to all learners of an experiment."""

    clock: ClassVar[str] = "k"
    """The clock of the x-axis, which is the first of `clocks`."""

    loss: Annotated[LossKind, Meta(title="loss", description="what a wrong prediction costs")] = "square"

    declares: ClassVar[frozenset[str]] = frozenset(("schedule", "departure_from_k_rows"))

    def schedule(self) -> ProtocolSchedule:
        """What it declares about its steps and records."""
        return ProtocolSchedule()

    def departure_from_k_rows(self, measure: str) -> str | None:
        """Return why `measure` at k is not that of one hypothesis that has learned from k different rows.

        None if it is, with predictions as they are. For a learner with an update rule these are rows that it
        has been shown, for a solver rows that it was given.
        """
        return f"protocol {self.kind} does not say which rows those are"

    def refuses(self, learner: Learner) -> str | None:
        """Why it cannot train this learner, in one sentence; None if it can."""
        return None

    def check(self, n: int, labels: Values) -> None:
        """See that it makes sense for n instances with such labels. Raises: BadInput."""

    def extent(self, n: int) -> Extent:
        """How long a training run over n instances is: by default as long as there are rows."""
        return Extent(last=n, records=n + 1, rows=n, most_examples=n, examples_given=n)

    def place(self, number: Any, n: int) -> NDArray[Any]:
        """Where on the x-axis the records of these numbers are, counted from the start."""
        return np.asarray(np.minimum(np.asarray(number), self.extent(n).last))

    def clocks(self, n: int) -> dict[str, Floats]:
        """What the clocks say at every record of a training run over n instances, by their names in CLOCKS.

        The first is the clock of the x-axis; `k`, the number of examples seen, is always among them.
        """
        return {"k": places(self, n)}

    def measured_clocks(self, learner: Learner) -> tuple[str, ...]:
        """The names of the clocks that a learner has beside the planned ones, as its training run reports."""
        return ()

    def examples_seen(self, n: int) -> Floats:
        """How many different examples have been seen at every record, at most: the k of bounds."""
        return self.clocks(n)["k"]

    def order(self, n: int, streams: Streams) -> NDArray[np.int64] | None:
        """The number of the row that is seen first, second, … in every replica [R, K], as learners see them.

        None where the rows are seen in their order.
        """
        return None

    def rows_seen(self, n: int, k: int, streams: Streams, solver: bool = False) -> NDArray[np.bool_]:
        """Which of n rows [n] the first replica was shown, or a solver given, when the clock says k."""
        order = self.order(n, streams)
        return np.arange(n) < k if order is None else np.isin(np.arange(n), order[0, :k])

    def bytes_held(self, sizes: Sizes) -> int:
        """Bytes that it takes beside a learner with parameters."""
        return 0

    def training_run(
        self, inputs: TrainingInputs, begin: BeginOnline | BeginGroup | None = None
    ) -> TrainingRun:
        """The training run of one learner from its start, with what is measured along it.

        Args:
            begin: what takes single examples in its own way where the schedule is online, or trains fresh
                models in its own way where it has `fresh_steps`; None for the ways of the protocol.
        """
        raise NotImplementedError


def places(protocol: Protocol, n: int) -> Floats:
    """Where on the x-axis a training run over n instances yields its records."""
    return protocol.place(np.arange(protocol.extent(n).records), n).astype(float)


def nearest(protocol: Protocol, x: float, n: int) -> float:
    """Where on the x-axis the record is that is nearest to x, of equally near ones the first."""
    count = protocol.extent(n).records
    after = bisect_left(range(count), x, key=lambda number: float(protocol.place(number, n)))
    around = range(max(0, after - 1), min(after + 1, count))
    return min((float(protocol.place(number, n)) for number in around), key=lambda place: abs(place - x))


def bytes_of_rows(rows: int, sizes: Sizes) -> int:
    """Bytes of a step's own copy of so many rows."""
    drawn = sizes.replicas * (sizes.d * sizes.item + 2 * 8) + sizes.batch * (8 + sizes.item)
    return rows * drawn


class EarlyEnd:
    """Which replicas of a curve have passed the value with which its run may end."""

    def __init__(self, until: Until, replicas: int) -> None:
        self._until = until
        self._passed = np.zeros(replicas, bool)
        self.reached = False

    def length(
        self, clocks: Mapping[str, Floats], measures: Mapping[str, Floats], sound: NDArray[np.intp]
    ) -> int:
        """How many of the next records belong to the curve.

        The last one is that by which each of its replicas has passed the value or diverged, and one passed.

        Args:
            clocks: [S] by name, or [S, R] where replicas differ.
            measures: [S, R] by name.
            sound: how many of the records every replica has before it diverges, [R].
        """
        records = np.arange(len(next(iter(clocks.values()))))[:, None]
        now = self._until.passed(clocks, measures) & (records < sound)
        passed = np.logical_or.accumulate(now | self._passed, 0)
        self._passed = passed[-1]
        ends = (passed | (records >= sound)).all(1) & passed.any(1)
        self.reached = bool(ends.any())
        return int(ends.argmax()) + 1 if self.reached else len(records)
