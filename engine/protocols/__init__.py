"""Protocols: the order in which learners see examples, and when a training run is measured.

A record is one measurement of a training run: the clocks and all measures at this time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple
from typing import Protocol as Interface

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.catalogue import ChoiceOf, members
from engine.core.memory import Sizes
from engine.core.parts import LARGEST, BadField, Part, Values
from engine.hypotheses.hypothesis import Weighted
from engine.measures import named, names_of_numbers
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
    LossKind = partial(members, "losses")
    MeasureName = names_of_numbers

Floats = NDArray[np.float64]

CLOCKS = {
    "k": "examples k",
    "epoch": "epochs",
    "step": "steps",
    "time": "time",
    "evaluations": "evaluations of the gradient",
}
"""Names of the clocks that count the progress of training, with their labels on an x-axis.

`time` is the sum of the rates of all steps, for update rules that have a rate, or the time of a flow.
"""

Threshold = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]


class Until(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Condition for an early end: a clock or a measure must have passed a value in every replica.

    A learner without this clock or measure trains to the end.
    """

    clock: Annotated[
        Literal["step", "k", "time"] | None,
        Meta(title="clock", description="clock that ends the run when it passes the value"),
    ] = None
    measure: Annotated[
        ChoiceOf[MeasureName] | None,
        Meta(title="measure", description="measure that ends the run, in place of a clock"),
    ] = None
    above: Annotated[
        Threshold | None, Meta(title="above", description="the run ends once the value is above this number")
    ] = None
    below: Annotated[
        Threshold | None,
        Meta(title="below", description="the run ends once the measure is below this number"),
    ] = None

    def __post_init__(self) -> None:
        if (self.clock is None) == (self.measure is None):
            raise BadField("clock", "until needs exactly one of clock and measure")
        if (self.above is None) == (self.below is None):
            raise BadField("above", "until needs exactly one of above and below")
        if self.clock is not None and self.above is None:
            raise BadField("below", "a clock only increases, so below never ends the run; take above")

    def in_words(self, loss: str) -> str:
        """Return the condition as text for this loss, such as "0/1 error on seen rows < 0.01"."""
        sign, threshold = ("<", self.below) if self.below is not None else (">", self.above)
        quantity = self.clock if self.measure is None else named()[self.measure].label_with(loss)
        return f"{quantity} {sign} {threshold:g}"

    def passed(self, clocks: Mapping[str, Floats], measures: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """Return whether each replica is past the value at each record, [S, R].

        If a clock is the same for all replicas, the shape is [S, 1].

        Args:
            clocks: clocks by name, [S], or [S, R] if replicas differ.
            measures: measures by name, [S, R]. NaN does not count as passed.
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
    """Learner that takes examples one at a time, in the order of a pass."""

    @property
    def hypothesis(self) -> Weighted:
        """Current hypothesis."""

    @property
    def recorder(self) -> Recorder:
        """Recorder of the run."""

    def learn(self, k: int) -> Iterable[None]:
        """Learn example number k, counted from 1. Yield between pieces of work."""


BeginOnline = Callable[[TrainingInputs, "torch.Tensor | None", int], OnlineLearner]
"""Function that creates a learner at its start.

Its arguments are the training inputs, the row numbers in training order [R, n] (None for the stored order),
and the number of records, including the start.
"""


class ModelGroup(Interface):
    """Models for consecutive k, one per k, that are trained side by side."""

    @property
    def hypothesis(self) -> Descent:
        """All current models as one hypothesis."""

    @property
    def training(self) -> bool:
        """Whether a model is still training."""

    def steps(self, limit: int, tolerance: float, drawn: NDArray[np.int64] | None = None) -> int:
        """Make at most `limit` steps, and return their number.

        A step moves the models whose training loss was above the tolerance before their last step. Gradients
        are taken on the rows `drawn` [R, K, batch], or on all training rows if `drawn` is None.
        """

    def finish(self) -> Block:
        """Return the records of all models."""


BeginGroup = Callable[[Floats, TrainingInputs, "Params"], ModelGroup]
"""Function that creates the models for given k at their start.

Its last argument has the starting tensors of every replica.
"""


class Batches(NamedTuple):
    """Mini-batches, each drawn independently of all earlier ones."""

    size: int | None
    """Rows per mini-batch, or None for the number of training rows."""

    replacement: bool
    """Whether the rows of a mini-batch are drawn with replacement."""

    def variance(self, rows: int) -> float:
        """Return the variance of a step's gradient, relative to the variance of a single row's gradient."""
        size = self.size or rows
        return 1 / size if self.replacement else (rows - size) / (size * max(1, rows - 1))


class ProtocolSchedule(NamedTuple):
    """Properties of a protocol's steps and records, as declared by the protocol.

    With the defaults, no theorem applies.
    """

    single: bool = False
    """Whether every gradient belongs to a single example."""

    online: bool = False
    """Whether the protocol is a single pass with an update and a record for every example."""

    full_batch: bool = False
    """Whether rules without mini-batches take all gradients over the same rows."""

    flows: bool = False
    """Whether rules follow their gradient flow in the clock `time` instead of taking steps."""

    trains: bool = True
    """Whether learners must have an update rule or a solver."""

    drawn_independently: bool = False
    """Whether every example is drawn from all rows, independently of earlier ones."""

    in_data_order: bool = False
    """Whether the rows seen are the first k rows of the data, for the k from `examples_seen`."""

    shuffles: bool = False
    """Whether the rows seen are a uniformly random subset of at most k training rows."""

    batches: Batches | None = None
    """Drawing of mini-batches. None if there are no mini-batches, or if they depend on earlier ones."""

    averages_hypotheses: bool = False
    """Whether the loss after k examples is the mean over the hypotheses that predicted these examples."""

    clips_at: float | None = None
    """Upper limit Y if predictions are clipped to [0, Y], or None if they are not."""

    of_logarithm: bool = False
    """Whether steps follow gradients of the logarithm of the loss."""

    stops_blindly: bool = False
    """Whether the number of steps before every record does not depend on the labels."""

    ends_early: Until | None = None
    """Condition for an early end of a curve, or None if every curve runs to the last record."""

    fresh_steps: int | None = None
    """Maximum number of steps per model, if a new model is trained on the first k rows for every k.

    None for other protocols.
    """

    draws_by_name: bool = False
    """Whether the random numbers of a learner depend on its name, so that renaming changes its run."""

    takes_all_rows: bool = False
    """Whether training could continue from the last record to the last row, example by example."""

    logarithmic: bool = False
    """Whether charts should use a logarithmic x-axis."""

    in_double_precision: bool = False
    """Whether the protocol always computes in float64."""


class Extent(NamedTuple):
    """Length of a training run over n instances."""

    last: float
    """Position of the last record on the x-axis. The first record is at 0."""

    records: int
    """Number of records."""

    rows: int
    """Number of training rows, which are the first rows of the data."""

    most_examples: int
    """Largest number of different examples that are seen. It is the last k that bounds use."""

    examples_given: int
    """Largest number of examples that a solver is given."""

    solvers_look_ahead: bool = False
    """Whether solvers know examples that the clock k does not count yet."""

    models: int = 1
    """Number of models of an architecture that are trained side by side."""


class Protocol(Part, frozen=True):
    """Schedule of training and of records that all learners of an experiment share."""

    clock: ClassVar[str] = "k"
    """Clock of the x-axis: the first of `clocks`."""

    loss: Annotated[ChoiceOf[LossKind], Meta(title="loss", description="loss of a prediction")] = "square"

    declares: ClassVar[frozenset[str]] = frozenset(("schedule", "departure_from_k_rows"))

    def schedule(self) -> ProtocolSchedule:
        """Return the properties of the steps and records."""
        return ProtocolSchedule()

    def departure_from_k_rows(self, measure: str) -> str | None:
        """Return None if `measure` at k is that of a hypothesis that has learned from k different rows.

        Otherwise, return the reason why not. The predictions of the hypothesis must also be unchanged, and
        not clipped, for example. The k rows are those shown to a learner with an update rule, or given to a
        solver.
        """
        return f"protocol {self.kind} does not declare from which rows a hypothesis is learned"

    def refuses(self, learner: Learner) -> str | None:
        """Return the reason why the protocol cannot train this learner, or None if it can."""
        return None

    def check(self, n: int, labels: Values) -> None:
        """Check that the protocol fits n instances with these labels. Raises: BadInput."""

    def extent(self, n: int) -> Extent:
        """Return the length of a training run over n instances. By default, there is one record per row."""
        return Extent(last=n, records=n + 1, rows=n, most_examples=n, examples_given=n)

    def place(self, number: Any, n: int) -> NDArray[Any]:
        """Return the positions of records on the x-axis, given their numbers. Record 0 is the start."""
        return np.asarray(np.minimum(np.asarray(number), self.extent(n).last))

    def clocks(self, n: int) -> dict[str, Floats]:
        """Return the clocks at every record of a training run over n instances, by their names in CLOCKS.

        The first clock is that of the x-axis. `k`, the number of examples seen, is always present.
        """
        return {"k": places(self, n)}

    def measured_clocks(self, learner: Learner) -> tuple[str, ...]:
        """Return the names of further clocks that the training run of this learner measures."""
        return ()

    def examples_seen(self, n: int) -> Floats:
        """Return, for every record, the number k of examples that bounds use.

        It is an upper limit on the number of distinct examples seen.
        """
        return self.clocks(n)["k"]

    def order(self, n: int, streams: Streams) -> NDArray[np.int64] | None:
        """Return the row numbers [R, K] in the order in which each replica sees the rows.

        None stands for the stored order.
        """
        return None

    def rows_seen(self, n: int, k: int, streams: Streams, solver: bool = False) -> NDArray[np.bool_]:
        """Return a mask [n] of the rows that the first replica has seen after k examples.

        With `solver`, the mask marks the rows that a solver has been given.
        """
        order = self.order(n, streams)
        return np.arange(n) < k if order is None else np.isin(np.arange(n), order[0, :k])

    def bytes_held(self, sizes: Sizes) -> int:
        """Return the memory in bytes that the protocol needs in addition to a learner with parameters."""
        return 0

    def training_run(
        self, inputs: TrainingInputs, begin: BeginOnline | BeginGroup | None = None
    ) -> TrainingRun:
        """Return the training run of a learner from its start, with the measures along it.

        Args:
            begin: function of a faster backend that creates the learner, for schedules that are online or
                have `fresh_steps`. If it is None, the protocol creates the learner.
        """
        raise NotImplementedError


def places(protocol: Protocol, n: int) -> Floats:
    """Return the positions of all records on the x-axis, for a training run over n instances."""
    return protocol.place(np.arange(protocol.extent(n).records), n).astype(float)


def nearest(protocol: Protocol, x: float, n: int) -> float:
    """Return the x position of the record nearest to x. Of two equally near records, the first counts."""
    count = protocol.extent(n).records
    after = bisect_left(range(count), x, key=lambda number: float(protocol.place(number, n)))
    around = range(max(0, after - 1), min(after + 1, count))
    return min((float(protocol.place(number, n)) for number in around), key=lambda place: abs(place - x))


def bytes_of_rows(rows: int, sizes: Sizes) -> int:
    """Return the memory in bytes that a step needs to copy this number of rows."""
    drawn = sizes.replicas * (sizes.d * sizes.item + 2 * 8) + sizes.batch * (8 + sizes.item)
    return rows * drawn


class EarlyEnd:
    """Tracker of the replicas of a curve that have passed the value for an early end."""

    def __init__(self, until: Until, replicas: int) -> None:
        self._until = until
        self._passed = np.zeros(replicas, bool)
        self.reached = False

    def length(
        self, clocks: Mapping[str, Floats], measures: Mapping[str, Floats], sound: NDArray[np.intp]
    ) -> int:
        """Return how many of the next records belong to the curve.

        The curve ends at the first record by which all replicas have passed the value or diverged, and at
        least one replica has passed it.

        Args:
            clocks: clocks by name, [S], or [S, R] if replicas differ.
            measures: measures by name, [S, R].
            sound: number of these records that each replica has before it diverges, [R].
        """
        records = np.arange(len(next(iter(clocks.values()))))[:, None]
        now = self._until.passed(clocks, measures) & (records < sound)
        passed = np.logical_or.accumulate(now | self._passed, 0)
        self._passed = passed[-1]
        ends = (passed | (records >= sound)).all(1) & passed.any(1)
        self.reached = bool(ends.any())
        return int(ends.argmax()) + 1 if self.reached else len(records)
