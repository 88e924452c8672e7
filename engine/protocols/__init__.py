"""Protocols. A protocol defines the order in which learners see examples, and when they are measured.

A record is one measurement of a training run: the values of its clocks and of all measures at one time.
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
"""Clocks, which count the progress of training: their names, and their labels on an x-axis.

For update rules with a rate, `time` is the sum of the rates of all steps. For a gradient flow, `time` is the
time of the flow.
"""

Threshold = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]


class Until(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Condition that ends training early, once a clock or measure has passed a value in every replica.

    If a learner does not have this clock or measure, it trains to the end.
    """

    clock: Annotated[
        Literal["step", "k", "time"] | None,
        Meta(title="clock", description="training ends once this clock is above the number in `above`"),
    ] = None
    measure: Annotated[
        ChoiceOf[MeasureName] | None,
        Meta(
            title="measure",
            description="training ends once this measure is above `above`, or below `below`",
        ),
    ] = None
    above: Annotated[
        Threshold | None,
        Meta(title="above", description="training ends once the clock or measure is above this number"),
    ] = None
    below: Annotated[
        Threshold | None,
        Meta(title="below", description="training ends once the measure is below this number"),
    ] = None

    def __post_init__(self) -> None:
        if (self.clock is None) == (self.measure is None):
            raise BadField("clock", "`until` needs either a clock or a measure, and not both")
        if (self.above is None) == (self.below is None):
            raise BadField("above", "`until` needs either `above` or `below`, and not both")
        if self.clock is not None and self.above is None:
            raise BadField("below", "a clock only increases, so it cannot fall below a value; use `above`")

    def in_words(self, loss: str) -> str:
        """Return the condition as text, such as "0/1 error on seen rows < 0.01".

        `loss` is the name of the loss, which appears in the names of measures.
        """
        sign, threshold = ("<", self.below) if self.below is not None else (">", self.above)
        quantity = self.clock if self.measure is None else named()[self.measure].label_with(loss)
        return f"{quantity} {sign} {threshold:g}"

    def passed(self, clocks: Mapping[str, Floats], measures: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """Return whether each of R replicas meets the condition at each of S records (evaluation points).

        The result has the shape [S, R], or [S, 1] if the condition is on a clock that is the same for all
        replicas.

        Args:
            clocks: values of the clocks by name, [S], or [S, R] if replicas differ.
            measures: values of the measures by name, [S, R]. NaN does not meet the condition.
        """
        if self.clock is not None:
            series = clocks.get(self.clock)
            series = series[:, None] if series is not None and series.ndim == 1 else series
        else:
            series = measures.get(self.measure or "")
        if series is None:
            # A curve without records has no clocks yet.
            return np.zeros((len(next(iter(clocks.values()), ())), 1), bool)
        if self.below is not None:
            return np.asarray(series < self.below)
        assert self.above is not None, "__post_init__ sees to it"
        return np.asarray(series > self.above)


class OnlineLearner(Interface):
    """Interface of learners that train on one example at a time, in the order of the training rows."""

    @property
    def hypothesis(self) -> Weighted: ...

    @property
    def recorder(self) -> Recorder: ...

    def learn(self, k: int) -> Iterable[None]:
        """Train on example number k, counted from 1.

        Yield between parts of the computation, so that callers can stop it.
        """


BeginOnline = Callable[[TrainingInputs, "torch.Tensor | None", int], OnlineLearner]
"""Function that creates an `OnlineLearner` before its first example.

Its arguments are the training inputs, the indices [R, n] of the rows in training order, and the number of
records, including the start. If the indices are None, the rows are in stored order.
"""


class ModelGroup(Interface):
    """Interface of a group of models with different k. Each model trains on its first k rows.

    The protocol has a list of values of k, and trains one model for each value. A group has the models for
    successive values of this list.
    """

    @property
    def hypothesis(self) -> Descent:
        """One hypothesis whose predictions are those of all models of the group."""

    @property
    def training(self) -> bool:
        """Whether at least one model is still training."""

    def steps(self, limit: int, tolerance: float, drawn: NDArray[np.int64] | None = None) -> int:
        """Make up to `limit` steps with all models that still train. Return the largest number of steps made.

        If a model's training loss before a step is at most `tolerance`, this step is the model's last. The
        gradients of the K models are taken on the rows `drawn` [R, K, batch], or on all training rows if
        `drawn` is None.
        """

    def finish(self) -> Block:
        """Return the evaluations of all models of the group after training."""


BeginGroup = Callable[[Floats, TrainingInputs, "Params"], ModelGroup]
"""Function that creates a `ModelGroup` before its first step.

Its arguments are the numbers k of the models, the training inputs, and the starting tensors of every replica.
"""


class Batches(NamedTuple):
    """Size of independent mini-batches, and whether their rows are drawn with replacement."""

    size: int | None
    """Number of rows in a mini-batch. None means the number of training rows."""

    replacement: bool
    """Whether the rows of a mini-batch are drawn with replacement."""

    def variance(self, rows: int) -> float:
        """Return the variance of a mini-batch's gradient, divided by that of a single row's gradient."""
        size = self.size or rows
        return 1 / size if self.replacement else (rows - size) / (size * max(1, rows - 1))


class ProtocolSchedule(NamedTuple):
    """Properties of a protocol's steps and evaluations, for theorems, backends and charts.

    By default, a protocol declares only that it trains learners.
    """

    single: bool = False
    """Whether every gradient is that of a single example."""

    online: bool = False
    """Whether the protocol is a single pass with an update and a record for every example."""

    full_batch: bool = False
    """Whether update rules without mini-batches use the same rows for every gradient."""

    flows: bool = False
    """Whether update rules follow their gradient flow in continuous time instead of making steps."""

    trains: bool = True
    """Whether learners are trained, and so need an update rule or a solver."""

    drawn_independently: bool = False
    """Whether every example is drawn from all rows, independently of earlier examples."""

    in_data_order: bool = False
    """Whether the rows seen are the first k rows of the data, where k is given by `examples_seen`."""

    shuffles: bool = False
    """Whether the rows seen are a uniformly random subset of at most k training rows."""

    batches: Batches | None = None
    """Size and drawing of independent mini-batches. None if there are no such mini-batches."""

    averages_hypotheses: bool = False
    """Whether the loss after k examples is the mean loss of the k hypotheses that predicted them."""

    clips_at: float | None = None
    """Upper limit Y if predictions are clipped to [0, Y], or None if predictions are not clipped."""

    of_logarithm: bool = False
    """Whether steps follow the gradient of the logarithm of the loss."""

    stops_blindly: bool = False
    """Whether the number of steps before each record is independent of the labels."""

    ends_early: Until | None = None
    """Condition for an early end of a curve, or None if every curve runs to the last record."""

    fresh_steps: int | None = None
    """Maximum number of steps of a model, if the protocol trains a new model on k rows for every k.

    None for other protocols.
    """

    draws_by_name: bool = False
    """Whether a learner's random numbers depend on its name, so that renaming it changes its training run."""

    takes_all_rows: bool = False
    """Whether training could continue after the last record, example by example, until the last row."""

    logarithmic: bool = False
    """Whether charts should use a logarithmic x-axis."""

    in_double_precision: bool = False
    """Whether the protocol always computes in float64."""


class Extent(NamedTuple):
    """Size of a training run on n instances: its numbers of evaluations, rows and examples."""

    last: float
    """Position of the last record on the x-axis. The first record is at 0."""

    records: int

    rows: int
    """Number of training rows, which are the first rows of the data."""

    most_examples: int
    """Largest number of different examples that are seen. Bounds use this number as k at the last record."""

    examples_given: int
    """Largest number of examples that are given to a solver."""

    solvers_look_ahead: bool = False
    """Whether solvers already know examples that the clock k does not count yet."""

    models: int = 1
    """Number of models that are trained side by side, if the learner has an architecture."""


class Protocol(Part, frozen=True):
    """Protocol by which all learners of an experiment are trained and measured, such as one pass."""

    clock: ClassVar[str] = "k"
    """Name of the clock on the x-axis, which is the first clock that `clocks` returns."""

    loss: Annotated[
        ChoiceOf[LossKind], Meta(title="loss", description="loss of a prediction, given the label")
    ] = "square"

    declares: ClassVar[frozenset[str]] = frozenset(("schedule", "departure_from_k_rows"))

    def schedule(self) -> ProtocolSchedule:
        """Return the properties of the protocol's steps and evaluations."""
        return ProtocolSchedule()

    def departure_from_k_rows(self, measure: str) -> str | None:
        """Return why `measure` at k might not describe a hypothesis learned from exactly k different rows.

        The k rows are the rows that an update rule has seen, or that a solver was given. A reason is, for
        example, that rows repeat, or that predictions are clipped. If there is no reason, return None.
        """
        return f"the class of protocol {self.kind} does not define the method `departure_from_k_rows`"

    def refuses(self, learner: Learner) -> str | None:
        """Return the reason why the protocol cannot train this learner, or None if it can."""
        return None

    def check(self, n: int, labels: Values) -> None:
        """Check that the protocol fits n instances with these labels. Raises: BadInput."""

    def extent(self, n: int) -> Extent:
        """Return the size of a training run on n instances, by default with an evaluation after each row."""
        return Extent(last=n, records=n + 1, rows=n, most_examples=n, examples_given=n)

    def place(self, number: Any, n: int) -> NDArray[Any]:
        """Return the x positions of records (evaluation points), given their indices `number`.

        Record 0 is the state before training.
        """
        return np.asarray(np.minimum(np.asarray(number), self.extent(n).last))

    def clocks(self, n: int) -> dict[str, Floats]:
        """Return the values of all clocks at every evaluation point, by clock name, for n instances.

        A clock is a quantity that grows during training. The first clock is that of the x-axis. The clock
        `k`, the number of examples seen, is always present.
        """
        return {"k": places(self, n)}

    def measured_clocks(self, learner: Learner) -> tuple[str, ...]:
        """Return the names of clocks that only the training run of this learner can measure.

        These clocks are not among those of the method `clocks`.
        """
        return ()

    def examples_seen(self, n: int) -> Floats:
        """Return, for every evaluation point, the number of examples that bounds use as k.

        The learner has seen at most this number of different examples.
        """
        return self.clocks(n)["k"]

    def order(self, n: int, streams: Streams) -> NDArray[np.int64] | None:
        """Return the indices [R, K] of the K rows on which each of R replicas trains, in order of training.

        Return None if all replicas train on the rows in stored order.
        """
        return None

    def rows_seen(self, n: int, k: int, streams: Streams, solver: bool = False) -> NDArray[np.bool_]:
        """Return a mask [n] of the rows on which the first replica has trained after k examples.

        If `solver` is set, the mask marks the rows that a solver was given.
        """
        order = self.order(n, streams)
        return np.arange(n) < k if order is None else np.isin(np.arange(n), order[0, :k])

    def bytes_held(self, sizes: Sizes) -> int:
        """Return the bytes of memory that the protocol needs in addition to those of the learner."""
        return 0

    def training_run(
        self, inputs: TrainingInputs, begin: BeginOnline | BeginGroup | None = None
    ) -> TrainingRun:
        """Return the training run of a learner, before its start. The run also computes the measures.

        Args:
            begin: function by which a faster backend creates the learner. With None, the protocol creates the
                learner. Only protocols whose `schedule()` sets `online` or `fresh_steps` use the function.
        """
        raise NotImplementedError


def places(protocol: Protocol, n: int) -> Floats:
    """Return the x positions of all records (evaluation points) of a training run on n instances."""
    return protocol.place(np.arange(protocol.extent(n).records), n).astype(float)


def nearest(protocol: Protocol, x: float, n: int) -> float:
    """Return the x position of the evaluation point nearest to x, or the first of two nearest ones."""
    count = protocol.extent(n).records
    after = bisect_left(range(count), x, key=lambda number: float(protocol.place(number, n)))
    around = range(max(0, after - 1), min(after + 1, count))
    return min((float(protocol.place(number, n)) for number in around), key=lambda place: abs(place - x))


def bytes_of_rows(rows: int, sizes: Sizes) -> int:
    """Return the bytes of memory that a copy of `rows` rows needs in a step."""
    drawn = sizes.replicas * (sizes.d * sizes.item + 2 * 8) + sizes.batch * (8 + sizes.item)
    return rows * drawn


class EarlyEnd:
    """Object that finds where a curve ends early, by the condition `until` of its protocol.

    The object stores which replicas have already met the condition.
    """

    def __init__(self, until: Until, replicas: int) -> None:
        self._until = until
        self._passed = np.zeros(replicas, bool)
        self.reached = False

    def length(
        self, clocks: Mapping[str, Floats], measures: Mapping[str, Floats], sound: NDArray[np.intp]
    ) -> int:
        """Return the number of the next S records (evaluation points) that belong to the learner's curve.

        The curve ends at the first evaluation point by which every replica has met the condition `until` or
        diverged. But it does not end early if all replicas have diverged before they met the condition.

        Args:
            clocks: values of the clocks by name, [S], or [S, R] if replicas differ.
            measures: values of the measures by name, [S, R].
            sound: for each replica, the number of these S evaluation points before it diverges, [R].
        """
        records = np.arange(len(next(iter(clocks.values()))))[:, None]
        now = self._until.passed(clocks, measures) & (records < sound)
        passed = np.logical_or.accumulate(now | self._passed, 0)
        self._passed = passed[-1]
        ends = (passed | (records >= sound)).all(1) & passed.any(1)
        self.reached = bool(ends.any())
        return int(ends.argmax()) + 1 if self.reached else len(records)
