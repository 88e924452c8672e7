"""Protocol of gradient flow: gradient descent in continuous time, the limit of small steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.catalogue import make
from engine.core.memory import DERIVED, Sizes
from engine.core.parts import LARGEST, BadField, BadInput, Count, Values
from engine.losses import Loss
from engine.protocols import Extent, Floats, Protocol, ProtocolSchedule, Until, places
from engine.training.descent import Descent, TrainingInputs, begin, rates_of, speeds_of
from engine.training.recorder import Block, Recorder
from engine.training.training_run import InPieces, learning
from engine.training.trajectory import (
    EXPLICIT,
    Accuracy,
    GradientField,
    OutOfEvaluations,
    VerifiedTrajectory,
    verified_numbers_held,
)

if TYPE_CHECKING:
    from engine.learners.learner import Learner

Time = Annotated[float, Meta(ge=1e-30, le=1e30)]

DECADES = 4
"""Default number of powers of ten between the first and the last time on a logarithmic grid."""


class Flow(Protocol, frozen=True, tag="flow"):
    """Gradient flow dθ/dt = −∂L/∂w for weights w and the mean loss L of the first `train` rows.

    Losses are measured on all n rows. The flow is the limit of steps with a rate η → 0, in the time t = η ·
    step. The rate itself has no effect; only the ratios of the rates of different layers matter. For gd and
    sgd, θ = w. For mirror descent, θ are the dual weights. For egu and private-rates, θ = ln w, so dw/dt = −w
    ⊙ ∂L/∂w. For hypentropy, w = β sinh θ with the rule's `beta`. For eg, w = U softmax θ with the rule's
    `total` U. The rules eg-pm, egu-pm and p-norm also have a flow. All other rules have none.

    An adaptive method solves the differential equation in float64, separately for every replica and target,
    with local errors below rtol · |θ| + atol. Targets are solved together if they share a net, or if a loss
    such as cross-entropy couples them. A flow is stiff if some directions have converged while other
    directions still move very slowly. The methods dop853 and rk45 are explicit, and too slow for stiff flows.
    Stiff flows require bdf or radau. The method lsoda changes between explicit and stiff steps by itself. A
    flow may amplify errors. To detect this, the flow is solved a second time with other tolerances. The curve
    ends where this comparison shows that the weights have an error of more than 0.2 %.

    `records` is the number of records after the start. The times of records grow by equal factors, beginning
    with `first`, or they are at equal distances. Each record takes all measures, except those that are
    limited to the first and the last record. `until` ends a run early, as in the protocol `steps`. The clocks
    are `time`, `k` (the number of training rows) and `evaluations`. The clock `evaluations` counts
    evaluations of the gradient, without those for the second solution. Replicas and targets have separate
    counts, and the clock shows the largest. The field of the same name limits every count. Solvers are fitted
    to all training rows directly after the record at time 0. Source: theory/implicit-bias#kernel-and-rich;
    Hairer, Wanner 1996.
    """

    clock: ClassVar[str] = "time"

    time: Annotated[Time, Meta(title="time", description="time at which the flow ends")] = 100.0
    first: Annotated[
        Annotated[float, Meta(ge=1e-38, le=LARGEST)] | None,
        Meta(
            title="first time", description="time of the first record on a logarithmic grid; none: time/10⁴"
        ),
    ] = None
    records: Annotated[Count, Meta(title="records", description="number of measurements after the start")] = (
        81
    )
    grid: Annotated[
        Literal["log", "linear"],
        Meta(
            title="grid",
            description="times of records: at equal factors (log), or at equal distances (linear)",
        ),
    ] = "log"
    train: Annotated[
        Count | None,
        Meta(
            title="training rows",
            description="number of training rows, which are the first rows; none: all rows",
        ),
    ] = None
    method: Annotated[
        Literal["dop853", "rk45", "bdf", "radau", "lsoda"],
        Meta(
            title="method",
            description="explicit: dop853, rk45; for stiff flows: bdf, radau; lsoda: both kinds in turn",
        ),
    ] = "dop853"
    rtol: Annotated[
        Annotated[float, Meta(ge=1e-13, le=0.1)],
        Meta(title="rtol", description="relative tolerance for local errors"),
    ] = 1e-8
    atol: Annotated[
        Annotated[float, Meta(ge=1e-38, le=LARGEST)],
        Meta(title="atol", description="absolute tolerance for local errors"),
    ] = 1e-10
    evaluations: Annotated[
        Count,
        Meta(
            title="evaluations",
            description="maximum number of gradient evaluations for each replica and target",
        ),
    ] = 100_000
    until: Annotated[
        Until | None,
        Meta(title="until", description="end training early, once a clock or measure passes a value"),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first is not None and self.grid == "linear":
            raise BadField(
                "first", "`first` only applies to a logarithmic grid; leave it out, or set grid = log"
            )
        if self.first is not None and self.first > self.time / 2:
            raise BadField(
                "first",
                f"the flow ends at time {self.time:g}; take at most half of this time, {self.time / 2:g}",
            )

    def schedule(self) -> ProtocolSchedule:
        return ProtocolSchedule(
            flows=True,
            in_data_order=True,
            stops_blindly=self.until is None or self.until.measure is None,
            ends_early=self.until,
            logarithmic=self.grid == "log",
            in_double_precision=True,
        )

    def departure_from_k_rows(self, measure: str) -> None:
        return None

    def refuses(self, learner: Learner) -> str | None:
        if learner.update is None:
            return None
        if learner.update.mirror is None:
            reason = f"{learner.update.kind} does not follow a gradient flow, however small its rate is"
            return f"{reason}; use `gd`, `sgd` or a mirror descent such as `egu`, or use the protocol `steps`"
        if not learner.plain_steps:
            return "a flow has no steps; leave out `schedule`, `noise`, `clip` and `decay`"
        if len(rates_of(learner)) > 1:
            return "a flow is the same for all rates; set one rate instead of several"
        if learner.rate_unit != "one":
            return "a flow is the same for all rates; leave out `rate_unit`"
        return None

    def check(self, n: int, labels: Values) -> None:
        loss: Loss = make("losses", self.loss)
        if not loss.continuous_slope:
            reason = f"the slope of {loss.kind} loss jumps, and a flow cannot be solved past a jump"
            raise BadInput(
                "protocol.loss", f"{reason}; use square or logistic loss, or use the protocol `steps`"
            )
        if self.train is not None and self.train > n:
            raise BadInput("protocol.train", f"there are only {n} rows; take at most {n}")

    @property
    def accuracy(self) -> Accuracy:
        return Accuracy(self.method, self.rtol, self.atol, self.evaluations)

    def rows(self, n: int) -> int:
        """Return the number of training rows, if the data have n rows."""
        return self.train or n

    def bytes_held(self, sizes: Sizes) -> int:
        together = self.together(sizes.batch // sizes.replicas, sizes.outputs)
        numbers = verified_numbers_held(self.accuracy, together * sizes.trained)
        return DERIVED * sizes.nets // together * numbers

    def together(self, targets: int, outputs: int) -> int:
        """Return the number of nets that are solved as one differential equation.

        If the loss couples the nets of a replica, these nets are solved together. Otherwise, each net is
        solved alone.
        """
        loss: Loss = make("losses", self.loss)
        return max(1, targets // outputs) if loss.joint else 1

    def extent(self, n: int) -> Extent:
        rows = self.rows(n)
        return Extent(self.time, self.records + 1, rows, most_examples=rows, examples_given=rows)

    def place(self, number: Any, n: int) -> NDArray[np.float64]:
        """Return the times at which records (evaluations) with the given indices are taken.

        For readability, times are rounded to 12 digits, except for the first and the last time.
        """
        number = np.asarray(number, float)
        if self.grid == "linear":
            times = self.time * (number / self.records)
        else:
            decades = DECADES if self.first is None else np.log10(self.time / self.first)
            times = self.time * 10.0 ** (-decades * (self.records - number) / max(1, self.records - 1))
        return np.where(
            number == 0, 0.0, np.where(number == self.records, self.time, _rounded_to_digits(times))
        )

    def clocks(self, n: int) -> dict[str, Floats]:
        times = places(self, n)
        return {"time": times, "k": np.where(times > 0, float(self.rows(n)), 0.0)}

    def measured_clocks(self, learner: Learner) -> tuple[str, ...]:
        return ("evaluations",)

    def training_run(self, inputs: TrainingInputs, begin: Any = None) -> Flowing:
        return Flowing(self, inputs)


def _rounded_to_digits(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    scale = 10.0 ** (11 - np.floor(np.log10(np.where(numbers > 0, numbers, 1.0))))
    return np.asarray(np.rint(numbers * scale) / scale)


class Flowing(InPieces):
    """Training run of a learner along its gradient flow."""

    def __init__(self, protocol: Flow, inputs: TrainingInputs) -> None:
        super().__init__()
        self.hypothesis, data = begin(inputs), inputs.data
        self._protocol, self._learner, self._data, self._loss = protocol, inputs.learner, data, inputs.loss
        n = data.instances.n
        self._times, self._rows = places(protocol, n).tolist(), protocol.rows(n)
        rows = slice(0, self._rows)
        self._instances, self._labels = data.instances.at(rows), data.labels[:, rows]
        architecture = inputs.learner.architecture
        outputs = 1 if architecture is None else architecture.outputs
        self._together = protocol.together(data.targets, outputs)
        self._recorder = Recorder(inputs, self.hypothesis, len(self._times), every_record=True)
        self._nothing = self._recorder.block()
        self._recorded = False
        self._inaccurate: NDArray[np.bool_] = np.zeros(data.replicas, bool)
        self._lost: list[NDArray[np.bool_]] = []

    def pieces(self) -> Iterator[None]:
        self._take_record(0.0, 0)
        yield
        if isinstance(self.hypothesis, Descent):
            yield from self._follow_flow(self.hypothesis)
        else:
            yield from learning(self.hypothesis, self._instances, self._labels)
            for time in self._times[1:]:
                self._take_record(time, 0)
                yield

    def _follow_flow(self, descent: Descent) -> Iterator[None]:
        """Follow the flow to its end. Raises: BadInput after too many gradient evaluations."""
        protocol = self._protocol
        fields = list(self._gradient_fields(descent))
        trajectories = [VerifiedTrajectory(field, protocol.time, protocol.accuracy) for field in fields]
        for time in self._times[1:]:
            try:
                for trajectory in trajectories:
                    yield from trajectory.advance(time)
            except OutOfEvaluations as out:
                raise self._evaluations_used_up(out.time) from None
            descent.place(fields[0].weights(np.stack([trajectory.place for trajectory in trajectories])))
            lost = np.array([not trajectory.is_accurate for trajectory in trajectories])
            self._inaccurate = np.asarray(lost.reshape(self._data.replicas, -1).any(1))
            self._take_record(time, max(trajectory.evaluations for trajectory in trajectories))
            yield

    def _gradient_fields(self, descent: Descent) -> Iterator[GradientField]:
        update = self._learner.trained.update
        assert update.mirror is not None, "refuses() admits no other rule"
        dual, tensors = update.mirror.dual(descent.params, descent.state), descent.tensors
        fixed = {layer: tensor for layer, tensor in tensors.items() if layer not in dual}
        speeds = speeds_of(self._learner, self._data.instances.d)
        count, size = len(next(iter(dual.values()))), self._together
        for first in range(0, count, size):
            nets = slice(first, first + size)
            outputs = len(self._labels) // count
            yield GradientField(
                descent.architecture,
                update.mirror,
                speeds,
                {layer: tensor[nets] for layer, tensor in dual.items()},
                {layer: tensor[nets] for layer, tensor in fixed.items()},
                self._instances.of_replica(first * self._data.replicas // count),
                self._labels[first * outputs : (first + size) * outputs],
                self._loss,
            )

    def _evaluations_used_up(self, time: float) -> BadInput:
        protocol, learner = self._protocol, self._learner.name
        progress = (
            f"{learner} has reached only time {time:.3g} of {protocol.time:g} with this number of evaluations"
        )
        stiff = "; if the flow is stiff, set method = bdf" if protocol.method in EXPLICIT else ""
        return BadInput(
            "protocol.evaluations",
            f"{progress}; allow more evaluations, end earlier, or increase `rtol`{stiff}",
        )

    def _take_record(self, time: float, evaluations: int) -> None:
        rows = self._rows if time > 0 else 0
        self._recorder.take({"time": time, "k": rows, "evaluations": evaluations}, self._rows)
        self._lost.append(self._inaccurate)
        self._recorded = True

    def block(self) -> Block:
        if not self._recorded:
            return self._nothing
        self._recorded = False
        lost, self._lost = np.stack(self._lost), []
        return self._recorder.block()._replace(inaccurate=lost)
