"""Measures: quantities that are computed while a learner trains, and the conditions for computing them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple, cast

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core import catalogue
from engine.core.cost import Cost, Logarithm
from engine.core.groups import Group
from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.core.parts import Part
from engine.hypotheses.curvature import Curvature
from engine.hypotheses.hypothesis import Normed, Parametrised, WithPosterior
from engine.problems.instances import DenseInstances

if TYPE_CHECKING:
    from engine.architectures import Architecture
    from engine.core.params import Params
    from engine.formulas.deep_linear_posterior import Posterior
    from engine.hypotheses.hypothesis import Weighted
    from engine.learners.learner import Learner
    from engine.problems.data import Data
    from engine.problems.problem import Problem
    from engine.solvers import Limit, Solver


BY_ROW = 4
"""Number of temporary float64 numbers per prediction, for losses on seen or unseen rows and for
classification errors.
"""


class Index(NamedTuple):
    """A dimension of a measure's values, such as the layers of a net.

    Records and replicas are dimensions of all measures, and have no `Index`.
    """

    name: str
    values: NDArray[np.float64]


class Probe:
    """State of a learner at a record (an evaluation point of training), from which measures are computed.

    Quantities that several measures use are computed only once.
    """

    def __init__(
        self,
        data: Data,
        loss: Cost,
        hypothesis: Weighted,
        counts: Callable[[], torch.Tensor],
        start: Params | None = None,
        first: Mapping[Measure, torch.Tensor] | None = None,
        limit: Limit | None = None,
        last: dict[Measure, torch.Tensor | None] | None = None,
    ) -> None:
        """Store the state of a learner at a record (an evaluation point of training).

        Args:
            data: the instances and labels of the run.
            loss: the loss of the experiment.
            hypothesis: the learner's current hypothesis, which predicts and may have weights or parameters.
            counts: returns how often each row has been seen, [B or 1, n].
            start: the trained tensors at the first record, or None if no measure needs them.
            first: the values of the measures at the first record, or None if this is the first record.
            limit: computes the weights to which the learner converges according to theory, or None if the
                learner does not name such a limit.
            last: tensors that measures stored at the previous record, or None if this is the first record.
        """
        self.data, self.loss = data, loss
        self._hypothesis, self._counts, self._start = hypothesis, counts, start
        self._first, self._limit = first, limit
        self.last: dict[Measure, torch.Tensor | None] = {} if last is None else last
        self.values: dict[Measure, torch.Tensor] = {}

    @cached_property
    def predictions(self) -> torch.Tensor:
        """Predictions for all rows, [B, n]."""
        return self._hypothesis.predict(self.data.instances)

    @property
    def known_predictions(self) -> torch.Tensor | None:
        """`predictions` if they have been computed; otherwise, None."""
        predictions: torch.Tensor | None = self.__dict__.get("predictions")
        return predictions

    def predict(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the predictions [B, k] for k new instances, [R, k, d] or [1, k, d].

        If the first dimension is 1, all replicas have the same new instances.
        """
        same = rows.to(self.data.labels).expand(self.data.replicas, -1, -1).contiguous()
        return self._hypothesis.predict(DenseInstances(same))

    @property
    def squared_norm(self) -> torch.Tensor:
        """Squared norm ‖f‖² [B] of the learned function f, in the Hilbert space of the learner's kernel.

        Only hypotheses that are fitted with a kernel have this norm.
        """
        assert isinstance(self._hypothesis, Normed), "only what is fitted by a kernel has it"
        return self._hypothesis.squared_norm()

    @cached_property
    def posteriors(self) -> list[Posterior]:
        """Posterior distributions of the weights, one for each replica and target."""
        assert isinstance(self._hypothesis, WithPosterior), "only solvers with a posterior have it"
        return self._hypothesis.posteriors()

    @cached_property
    def weights(self) -> torch.Tensor | None:
        """Weights w [B, d] with predictions xᵀw, or None if predictions are not linear in x.

        The backend may train on rotated instances. In this case, w are the weights for the rotated instances.
        """
        return self._hypothesis.weights()

    @cached_property
    def drawn_weights(self) -> torch.Tensor:
        """Weights w [B, d] with predictions xᵀw for the original instances x.

        If the backend has rotated the instances, the rotation of `weights` is undone.
        """
        assert self.weights is not None, "a measure of weights needs weights"
        return self.data.instances.turn_back(self.weights)

    @property
    def start_weights(self) -> torch.Tensor:
        """Weights [B, d] before training. For a solver, they are 0."""
        if self.weights is not None and not isinstance(self._hypothesis, Parametrised):
            return torch.zeros_like(self.weights)
        start = self.architecture.weights({**self.tensors, **self.start})
        assert start is not None, "a measure of weights needs weights"
        return start

    @property
    def limit(self) -> torch.Tensor:
        """Weights [B, d] to which training on the rows seen so far converges, according to theory."""
        assert self._limit is not None, "only learners of which this is said have it"
        return self._limit(self.counts, self.start_weights)

    @property
    def solver_of_limit(self) -> Solver:
        assert self._limit is not None, "only learners of which this is said have it"
        return self._limit.solver

    @cached_property
    def counts(self) -> torch.Tensor:
        """Number of times that the learner has been trained on each row, [B or 1, n]."""
        return self._counts()

    @property
    def architecture(self) -> Architecture:
        return self._parametrised_hypothesis.architecture

    @property
    def parameters(self) -> Params:
        """Trained tensors [N, …] by name.

        If the backend has rotated the instances, these are the tensors for the rotated instances.
        """
        return self._parametrised_hypothesis.params

    @property
    def layers(self) -> Params:
        """Trained tensors by name, input layer first. Gradients have the same order."""
        return {layer: self.parameters[layer] for layer in self.architecture.layers}

    @property
    def tensors(self) -> Params:
        """All tensors of the net, trained or fixed, by name."""
        return self._parametrised_hypothesis.tensors

    @property
    def start(self) -> Params:
        """Trained tensors at the first record."""
        assert self._start is not None, "only measures of the start need it"
        return self._start

    @property
    def gradient(self) -> torch.Tensor:
        """Gradient [N, P] of the training loss, with respect to all P parameters of each net.

        There are N = B/outputs nets. The training loss is the mean over the rows seen, summed over the
        outputs of a net, plus the L2 penalty. If no row was seen, the gradient is NaN.
        """
        return self._gradient_by_net(self.curvature)

    @property
    def gradient_of_logarithm(self) -> torch.Tensor:
        """Gradient [N, P] of the training loss, with ln L in place of the mean loss L over the rows seen.

        Without an L2 penalty, it is a positive multiple of `gradient`. It does not underflow if the loss is
        tiny.
        """
        return self._gradient_by_net(self._curvature_of_loss(Logarithm(self.loss)))

    def _gradient_by_net(self, curvature: Curvature) -> torch.Tensor:
        """Return the gradient of the loss in `curvature`, with one row for each net, [N, P].

        `Curvature` treats nets that a loss couples as one net, so the gradient of this net is split.
        """
        return curvature.gradient.view(len(self.data.labels) // self.architecture.outputs, -1)

    @property
    def weight_gradient(self) -> torch.Tensor:
        """Positive multiple of the gradient ∂L/∂w [B, d] of the mean loss L over the rows seen.

        The weights w are `drawn_weights`. The multiple does not underflow if the loss is tiny.
        """
        seen = self._rows_seen
        loss, labels = Logarithm(self.loss), self.data.labels[:, seen]
        slopes = loss.slope(self.predictions[:, seen], labels) * self.counts[:, seen].to(labels.dtype)
        return self.data.instances.turn_back(self.data.instances.at(seen).combine(slopes))

    @cached_property
    def curvature(self) -> Curvature:
        """Hessian of the training loss, for every net.

        The training loss is that of `gradient`. Several nets count as one net if a joint loss couples them.
        """
        return self._curvature_of_loss(self.loss)

    def _curvature_of_loss(self, loss: Cost) -> Curvature:
        seen = self._rows_seen
        shares = self.counts[:, seen] / self.counts[:, seen].sum(1, keepdim=True)
        labels = self.data.labels[:, seen]
        instances = self.data.instances.at(seen)
        shares = shares.to(labels.dtype)
        return Curvature(self.architecture, self.tensors, instances, labels, shares, loss)

    @property
    def _rows_seen(self) -> slice:
        """Slice of the rows from row 0 to the last row seen. If no row was seen, it contains only row 0."""
        return slice(0, int((self.counts > 0).any(0).nonzero().amax()) + 1 if self.counts.any() else 1)

    @cached_property
    def _parametrised_hypothesis(self) -> Parametrised:
        assert isinstance(self._hypothesis, Parametrised), "a measure of parameters needs parameters"
        return self._hypothesis

    def value(self, measure: Measure) -> torch.Tensor:
        """Return the value of another measure at this record. Measures may depend on each other."""
        if measure not in self.values:
            self.values[measure] = measure.value(self)
        return self.values[measure]

    def value_at_start(self, measure: Measure) -> torch.Tensor:
        """Return the value of another measure at the first record, before training."""
        return self.value(measure) if self._first is None else self._first[measure]


class MeasureStructure(NamedTuple):
    """Properties of a measure's values, such as whether smaller values mean a better learner."""

    is_risk: bool = False
    """Whether the measure compares learners: smaller values are better, and no value is below 0."""

    per_learner: bool = False
    """Whether the definition depends on the learner, so that values of different learners are not
    comparable.
    """

    is_integer: bool = False
    """Whether the value is an integer, so that rounding errors do not change it."""

    negligible: float = 0.0
    """Values up to this number count as 0, because rounding errors of training steps produce such values."""

    of_labels: bool = False
    """Whether the values are predictions for instances, so that charts can also show the labels."""


class MeasureNeeds(NamedTuple):
    """Inputs that a measure needs, such as the parameters of a net or the Hessian of its loss."""

    weights: bool = False
    """Whether the measure needs weights w with predictions xᵀw."""

    parameters: bool = False
    """Whether the measure needs parameters. Architectures have parameters, and solvers have none."""

    coordinates: bool = False
    """Whether the measure depends on the coordinates of the features, so no backend may rotate them."""

    curvature: bool = False
    """Whether the measure needs the Hessian of the training loss of a net."""

    start: bool = False
    """Whether the measure needs the parameters at the first record, for learners that have parameters."""

    rows_seen: bool = False
    """Whether the measure uses only the rows seen, or only the rows never seen."""

    under: Group | None = None
    """Group of transformations of the instances. The measure compares the run with a second run, in which the
    instances are transformed.

    The field is None if the measure needs no second run.
    """


class MeasureSchedule(NamedTuple):
    """Conditions that say in which runs, and at which evaluation points, a measure is computed."""

    always: bool = False
    """Whether every run computes the measure. Otherwise, a run computes it only for a picture or a claim."""

    expensive: str = ""
    """Reason why the measure is expensive, or an empty string if it is cheap. Expensive measures are computed
    at only some of the records.
    """

    ends_only: bool = False
    """Whether the measure is computed at the first and the last record only."""


class Measure(Part, frozen=True):
    """A quantity of a learner at an evaluation point: a number, or an array such as one number per layer."""

    declares: ClassVar[frozenset[str]] = frozenset(("structure",))

    label: ClassVar[str]
    """Label of the chart axis that shows the measure."""

    def structure(self) -> MeasureStructure:
        """Return properties of the values, such as whether smaller values mean a better learner."""
        return MeasureStructure()

    def needs(self) -> MeasureNeeds:
        """Return the inputs that the measure needs, such as the parameters of a net."""
        return MeasureNeeds()

    def schedule(self) -> MeasureSchedule:
        """Return when the measure is computed: in which runs, and at which evaluation points."""
        return MeasureSchedule()

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        """Return all variants of this measure that have separate names.

        By default, there is one variant: the measure with the default values of its fields. Other classes
        have several variants, for example for all rows, for the rows seen, and for the rows never seen.
        """
        return (cls(),)

    @property
    def name(self) -> str:
        """Name of the measure in claims and files: its kind, and the fields that differ from defaults."""
        defaults = dict(zip(self.__struct_fields__[::-1], self.__struct_defaults__[::-1], strict=False))
        settings = {field: getattr(self, field) for field in self.__struct_fields__}
        set_here = (
            pair for pair in settings.items() if pair[0] not in defaults or pair[1] != defaults[pair[0]]
        )
        choices = ", ".join(f"{name} = {setting}" for name, setting in set_here)
        return f"{self.kind} ({choices})" if choices else self.kind

    def label_with(self, loss: str) -> str:
        """Return the label of the chart axis of this measure, given the name of the experiment's loss."""
        return self.label

    @property
    def is_number(self) -> bool:
        """Whether the measure is a single number (per learner and replica), and not an array."""
        return type(self).index is Measure.index

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        """Return the dimensions of the measure's values for a learner, such as the layers of its net.

        Records and replicas are not included, so a measure that is a single number has no dimensions.
        """
        return ()

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        """Return None if the measure can be computed for a learner; otherwise, a condition that is violated.

        The condition is text that completes the sentence "it is measured only where …".
        """
        return None

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        """Return how many float64 numbers the measure keeps in memory while it is computed.

        The number is used only if the measure needs parameters. The default counts a gradient, the signals
        from which it is computed, and a copy.

        Args:
            parameters: number of parameters of each learner in the batch.
            signals: number of signals in the net of each learner, over all units and rows.
            batch: number of learners.
        """
        return batch * (2 * parameters + 3 * signals)

    def bytes_held(self, sizes: Sizes) -> int:
        """Return the number of bytes of temporary arrays that are needed to compute the measure.

        Predictions and weights are not counted.
        """
        if not self.needs().parameters:
            return 0
        return DERIVED * self.numbers(sizes.parameters, sizes.signals, sizes.nets)

    def value(self, probe: Probe) -> torch.Tensor:
        """Return the values of the measure, [R, V, *index], for R replicas and V variants of the learner.

        If the measure is an array, `index` stands for its dimensions. If the first dimension of the result is
        1, only the first replica was measured.
        """
        raise NotImplementedError


class OfLayers(Measure, frozen=True):
    """Base class of measures that have one value for each trained tensor of a net, input layer first."""

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        layers = 0 if learner.architecture is None else len(learner.architecture.layers)
        return (Index("layer", np.arange(1.0, layers + 1)),)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 3 * batch * parameters


class OfHiddenLayers(Measure, frozen=True):
    """Base class of measures that have one value for each hidden layer of a dense net, input layer first."""

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        hidden = None if learner.architecture is None else learner.architecture.structure().hidden_layers
        layers = 0 if hidden is None else len(hidden.next_variances)
        return (Index("layer", np.arange(1.0, layers + 1)),)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        hidden = None if net is None else net.structure().hidden_layers
        return "the learner is a dense net" if hidden is None else None


OF_ROWS = {"all": "", "train": " on seen rows", "test": " on unseen rows"}
"""Text that is appended to the label of an axis, for each choice of rows."""


class OfRows(Measure, frozen=True):
    """Base class of measures over rows: all rows, only the rows seen, or only the rows never seen."""

    names: ClassVar[Mapping[str, str]]
    """Name in claims, files and traces, for each choice of the rows."""

    rows: Annotated[
        Literal["all", "train", "test"],
        Meta(title="rows", description="all rows, rows seen so far, or rows never seen"),
    ] = "all"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(rows_seen=self.rows != "all")

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        return cls(), cls(rows="train"), cls(rows="test")

    @property
    def name(self) -> str:
        return self.names[self.rows]

    def label_with(self, loss: str) -> str:
        return f"{self.label}{OF_ROWS[self.rows]}"

    def bytes_held(self, sizes: Sizes) -> int:
        by_row = self.needs().rows_seen or sizes.one_hot
        return DERIVED * BY_ROW * sizes.predicted if by_row else 0

    def mean_over_rows(self, values: torch.Tensor, probe: Probe) -> torch.Tensor:
        """Average `values` [B, n] over rows: all rows, the rows seen, or the rows never seen.

        The field `rows` selects the rows. Rows seen are weighted by the number of times that they were seen.
        """
        if self.rows == "all":
            return values.mean(1)
        shares = probe.counts if self.rows == "train" else (probe.counts == 0).double()
        return (values * shares).sum(1) / shares.sum(1)


@cache
def named() -> dict[str, Measure]:
    """Return all measures in a dictionary, by name. Raises: ValueError if two measures have the same name."""
    members = catalogue.members("measures").values()
    measures_by_name: dict[str, Measure] = {}
    for measure in chain.from_iterable(cast("type[Measure]", member).every() for member in members):
        if (other := measures_by_name.setdefault(measure.name, measure)) is not measure:
            raise ValueError(f"two measures are called {measure.name!r}: {type(other)} and {type(measure)}")
    return measures_by_name


def names_of_numbers() -> list[str]:
    """Return the names of all measures that are single numbers, not arrays."""
    return [name for name, measure in named().items() if measure.is_number]


@cache
def _measures_by_name() -> dict[str, Measure]:
    """Return all measures that are single numbers, by their names with underscores, such as `train_error`."""
    return {name.replace("-", "_"): measure for name, measure in named().items() if measure.is_number}


def measures_in(names: Collection[str]) -> dict[str, Measure]:
    """Return the measures that an expression contains, by name.

    `names` are all names in the expression. Names of clocks, sweep axes and sizes are left out.
    """
    return {name: _measures_by_name()[name] for name in names if name in _measures_by_name()}


def needs_teacher(problem: Problem) -> str | None:
    """Return None if labels depend on xᵀw* and learners see x; otherwise, return the violated condition.

    The text completes the sentence "it is measured only where …".
    """
    if not problem.target_structure.has_w_star:
        return "labels depend on xᵀw*, as with the targets `feature`, `sparse` and `weights`"
    if not problem.matrix.structure().features_are_seen:
        return "learners see x unchanged, and labels depend on xᵀw*"
    return None
