"""Measures: what is measured of a learner as it trains, and where it can be."""

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
from engine.hypotheses.hypothesis import Normed, Parametrised
from engine.problems.instances import Dense

if TYPE_CHECKING:
    from engine.architectures import Architecture
    from engine.core.params import Params
    from engine.hypotheses.hypothesis import Weighted
    from engine.learners.learner import Learner
    from engine.learners.limit import Limit
    from engine.problems.data import Data
    from engine.problems.problem import Problem
    from engine.solvers import Solver


BY_ROW = 4
"""Numbers in float64 for every prediction while losses over rows seen and unseen, or classes, are found."""


class Index(NamedTuple):
    """A dimension of a measure beside records and replicas, such as the number of a singular value."""

    name: str
    values: NDArray[np.float64]


class Probe:
    """A learner at one record, with what several measures need of it, each computed once."""

    def __init__(
        self,
        data: Data,
        loss: Cost,
        hypothesis: Weighted,
        counts: Callable[[], torch.Tensor],
        start: Params | None = None,
        first: Mapping[Measure, torch.Tensor] | None = None,
        limit: Limit | None = None,
    ) -> None:
        """`counts` says how often every row is among the examples seen, [B or 1, n].

        `start` has the trained tensors at the first record, for measures that need them, and `first` what
        was measured there; None at the first record itself. `limit` is what the learner is said to
        tend to, if anything is.
        """
        self.data, self.loss = data, loss
        self._hypothesis, self._counts, self._start = hypothesis, counts, start
        self._first, self._limit = first, limit
        self.values: dict[Measure, torch.Tensor] = {}

    @cached_property
    def predictions(self) -> torch.Tensor:
        """The predictions of all rows [B, n]."""
        return self._hypothesis.predict(self.data.instances)

    @property
    def known_predictions(self) -> torch.Tensor | None:
        """These, if somebody has needed them."""
        predictions: torch.Tensor | None = self.__dict__.get("predictions")
        return predictions

    def predict(self, rows: torch.Tensor) -> torch.Tensor:
        """The predictions [B, k] of other instances [R, k, d], or [1, k, d] for all replicas."""
        same = rows.to(self.data.labels).expand(self.data.replicas, -1, -1).contiguous()
        return self._hypothesis.predict(Dense(same))

    @property
    def squared_norm(self) -> torch.Tensor:
        """‖f‖² [B] in the space of the kernel that f is fitted with."""
        assert isinstance(self._hypothesis, Normed), "only what is fitted by a kernel has it"
        return self._hypothesis.squared_norm()

    @cached_property
    def weights(self) -> torch.Tensor | None:
        """The vectors w [B, d] with predictions xᵀw; None if predictions are not linear in x.

        In the coordinates in which they are computed, which a fast backend may have turned.
        """
        return self._hypothesis.weights()

    @cached_property
    def drawn_weights(self) -> torch.Tensor:
        """The weights [B, d] in the coordinates that learners see, after `rotate`, for measures of them."""
        assert self.weights is not None, "a measure of weights needs weights"
        return self.data.instances.turn_back(self.weights)

    @property
    def start_weights(self) -> torch.Tensor:
        """The weights [B, d] at the first record, those of a solver before its first example."""
        if self.weights is not None and not isinstance(self._hypothesis, Parametrised):
            return torch.zeros_like(self.weights)
        start = self.architecture.weights({**self.tensors, **self.start})
        assert start is not None, "a measure of weights needs weights"
        return start

    @property
    def limit(self) -> torch.Tensor:
        """The weights [B, d] that theory says that the learner tends to on the rows seen."""
        assert self._limit is not None, "only learners of which this is said have it"
        return self._limit(self.counts, self.start_weights)

    @property
    def solver_of_limit(self) -> Solver:
        """What finds these weights."""
        assert self._limit is not None, "only learners of which this is said have it"
        return self._limit.solver

    @cached_property
    def counts(self) -> torch.Tensor:
        """How often every row is among the examples seen, [B or 1, n]."""
        return self._counts()

    @property
    def architecture(self) -> Architecture:
        """The function whose parameters are trained."""
        return self._parametrised.architecture

    @property
    def parameters(self) -> Params:
        """The trained tensors [N, …] by name, in the coordinates in which they are computed."""
        return self._parametrised.params

    @property
    def layers(self) -> Params:
        """The same, input layer first, as gradients have them."""
        return {name: self.parameters[name] for name in self.architecture.layers}

    @property
    def tensors(self) -> Params:
        """All tensors that the function takes: the trained ones and those that belong to it."""
        return self._parametrised.tensors

    @property
    def start(self) -> Params:
        """The trained tensors at the first record."""
        assert self._start is not None, "only measures of the start need it"
        return self._start

    @property
    def gradient(self) -> torch.Tensor:
        """The gradient [N, P] of the mean loss over the rows seen, one parameter tensor after the other.

        Of the N = B/outputs nets, each of which has the sum of the losses of its outputs.

        NaN where no row was seen.
        """
        return self.curvature.gradient

    @property
    def gradient_of_logarithm(self) -> torch.Tensor:
        """A positive multiple of the same gradient, where the loss itself may be too small for a number."""
        return self._curvature(Logarithm(self.loss)).gradient

    @property
    def weight_gradient(self) -> torch.Tensor:
        """A positive multiple of ∂L/∂w [B, d], L the mean loss over the rows seen, as `drawn_weights`."""
        seen = self._seen
        loss, labels = Logarithm(self.loss), self.data.labels[:, seen]
        slopes = loss.slope(self.predictions[:, seen], labels) * self.counts[:, seen].to(labels.dtype)
        return self.data.instances.turn_back(self.data.instances.at(seen).combine(slopes))

    @cached_property
    def curvature(self) -> Curvature:
        """The Hessian of the same loss, of every net."""
        return self._curvature(self.loss)

    def _curvature(self, loss: Cost) -> Curvature:
        seen = self._seen
        shares = self.counts[:, seen] / self.counts[:, seen].sum(1, keepdim=True)
        labels = self.data.labels[:, seen]
        instances = self.data.instances.at(seen)
        shares = shares.to(labels.dtype)
        return Curvature(self.architecture, self.tensors, instances, labels, shares, loss)

    @property
    def _seen(self) -> slice:
        """The rows up to the last that was seen; the first before any was."""
        return slice(0, int((self.counts > 0).any(0).nonzero().amax()) + 1 if self.counts.any() else 1)

    @property
    def _parametrised(self) -> Parametrised:
        assert isinstance(self._hypothesis, Parametrised), "a measure of parameters needs parameters"
        return self._hypothesis

    def value(self, measure: Measure) -> torch.Tensor:
        """What a measure says here, for other measures that are made of it."""
        if measure not in self.values:
            self.values[measure] = measure.value(self)
        return self.values[measure]

    def value_at_start(self, measure: Measure) -> torch.Tensor:
        """What it said at the first record, for measures that need it at every record."""
        return self.value(measure) if self._first is None else self._first[measure]


class MeasureStructure(NamedTuple):
    """What a measure declares of its values."""

    is_risk: bool = False
    """Whether it is what learning is to make small, and never below 0: learners are compared by it."""

    per_learner: bool = False
    """Whether each learner makes another number small, so that learners cannot be compared by it."""

    is_integer: bool = False
    """Whether it is a whole number, which rounding leaves as it is."""

    negligible: float = 0.0
    """Up to this its values count as 0, as what steps make of rounding."""

    of_labels: bool = False
    """Whether its values are predictions along instances, so that labels can be drawn beside them."""


class MeasureNeeds(NamedTuple):
    """What a measure needs of a learner, of the backend that trains it, and of the run."""

    weights: bool = False
    """Whether it needs predictions that are linear in the instance, with their weights."""

    parameters: bool = False
    """Whether it needs a function with parameters, as an architecture is and a solver is not."""

    coordinates: bool = False
    """Whether it is of parameters as they stand to single features, and no backend may turn these."""

    curvature: bool = False
    """Whether it needs the Hessian of the loss that a net is trained on."""

    start: bool = False
    """Whether it needs the parameters at the first record, of learners that have any."""

    rows_seen: bool = False
    """Whether it is of the rows that were seen alone, or of the rows never seen alone."""

    under: Group | None = None
    """The group of transformations of the instances under which it compares a learner with itself.

    The learner is trained once more beside itself; None if it needs no other run.
    """


class MeasureSchedule(NamedTuple):
    """In which runs and at which of their records a measure is measured."""

    always: bool = False
    """Whether every run records it that it does not refuse, or only one with a picture or a claim of it."""

    expensive: str = ""
    """What it costs, where that is much: it is then measured at some of many records only."""

    ends_only: bool = False
    """Whether it is measured at the first and at the last record only, as what costs too much between."""


class Measure(Part, frozen=True):
    """A number, or an array over indices of its own, that says something of a learner at a record."""

    declares: ClassVar[frozenset[str]] = frozenset(("structure",))

    label: ClassVar[str]
    """What an axis says of it."""

    def structure(self) -> MeasureStructure:
        """What it declares of its values."""
        return MeasureStructure()

    def needs(self) -> MeasureNeeds:
        """What must be there for it to be measured."""
        return MeasureNeeds()

    def schedule(self) -> MeasureSchedule:
        """When it is measured."""
        return MeasureSchedule()

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        """It with every choice that has a name of its own."""
        return (cls(),)

    @property
    def name(self) -> str:
        """What claims, files and traces call it: its kind, and what of it is set."""
        defaults = dict(zip(self.__struct_fields__[::-1], self.__struct_defaults__[::-1], strict=False))
        settings = {name: getattr(self, name) for name in self.__struct_fields__}
        set_here = (
            pair for pair in settings.items() if pair[0] not in defaults or pair[1] != defaults[pair[0]]
        )
        choices = ", ".join(f"{name} = {setting}" for name, setting in set_here)
        return f"{self.kind} ({choices})" if choices else self.kind

    def label_with(self, loss: str) -> str:
        """What an axis says of it where wrong predictions cost this loss."""
        return self.label

    @property
    def is_number(self) -> bool:
        """Whether it has no indices."""
        return type(self).index is Measure.index

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        """The dimensions beside records and replicas; none for a number."""
        return ()

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        """Where it is measured, if not of this learner on this problem: "it is measured only where …"."""
        return None

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        """How many numbers it holds at once, in float64, if it is a measure of parameters.

        Of a batch of learners with so many parameters each, and signals of units on all rows. By default as
        many as a gradient, what it is made of, and a copy.
        """
        return batch * (2 * parameters + 3 * signals)

    def bytes_held(self, sizes: Sizes) -> int:
        """Bytes that it takes while it is measured, beside predictions and weights."""
        if not self.needs().parameters:
            return 0
        return DERIVED * self.numbers(sizes.parameters, sizes.signals, sizes.nets)

    def value(self, probe: Probe) -> torch.Tensor:
        """[R, V, *index] for replicas and variants; of the first replica alone [1, V, *index]."""
        raise NotImplementedError


class OfLayers(Measure, frozen=True):
    """A measure of every trained tensor of a net, each a layer, from the input up."""

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        layers = 0 if learner.architecture is None else len(learner.architecture.layers)
        return (Index("layer", np.arange(1.0, layers + 1)),)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 3 * batch * parameters


OF_ROWS = {"all": "", "train": " on seen rows", "test": " on unseen rows"}
"""What labels say of the rows of a measure."""


class OfRows(Measure, frozen=True):
    """A measure of all rows, of those seen or of those never seen."""

    names: ClassVar[Mapping[str, str]]
    """What claims, files and traces call it, by its rows."""

    rows: Annotated[
        Literal["all", "train", "test"],
        Meta(title="rows", description="all, those seen so far, or those never seen"),
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
        """The mean [B] of values [B, n] over all rows, those seen, as often as they were, or never seen."""
        if self.rows == "all":
            return values.mean(1)
        shares = probe.counts if self.rows == "train" else (probe.counts == 0).double()
        return (values * shares).sum(1) / shares.sum(1)


@cache
def named() -> dict[str, Measure]:
    """Every measure by its name. Raises: ValueError if two have the same."""
    members = catalogue.members("measures").values()
    measures_by_name: dict[str, Measure] = {}
    for measure in chain.from_iterable(cast("type[Measure]", member).every() for member in members):
        if (other := measures_by_name.setdefault(measure.name, measure)) is not measure:
            raise ValueError(f"two measures are called {measure.name!r}: {type(other)} and {type(measure)}")
    return measures_by_name


@cache
def _as_names() -> dict[str, Measure]:
    """Every measure that is a number, as expressions name it: train-error as train_error."""
    return {name.replace("-", "_"): measure for name, measure in named().items() if measure.is_number}


def measures_in(names: Collection[str]) -> dict[str, Measure]:
    """Those of some names in expressions that are measures, as clocks, axes and sizes are not."""
    return {name: _as_names()[name] for name in names if name in _as_names()}


def needs_teacher(problem: Problem) -> str | None:
    """Where labels are made of xᵀw* for the instances x that learners see, if that is not here."""
    if not problem.target_structure.has_w_star:
        return "labels are made of xᵀw*, as by the targets feature, sparse and weights"
    if not problem.matrix.structure().features_are_seen:
        return "learners see the features that targets name"
    return None
