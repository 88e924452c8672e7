"""Measures: what is measured of a learner as it trains, and where it can be."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.core import catalogue
from engine.core.lazy import torch
from engine.core.parts import Part

if TYPE_CHECKING:
    from engine.core.cost import Cost
    from engine.problems.data import Data
    from engine.runtime.hypothesis import Weighted
    from engine.spec.learner import Learner
    from engine.spec.problem import Problem


class Index(NamedTuple):
    """A dimension of a measure beside records and replicas, such as the number of a singular value."""

    name: str
    values: NDArray[np.float64]
    log: bool = False
    """Whether it is best drawn on a logarithmic axis."""


class Probe:
    """A learner at one record, with what several measures ask of it, each computed once."""

    def __init__(
        self, data: Data, loss: Cost, hypothesis: Weighted, counts: Callable[[], torch.Tensor]
    ) -> None:
        """`counts` says how often every row is among the examples seen, [B or 1, n]."""
        self.data, self.loss = data, loss
        self._hypothesis, self._counts = hypothesis, counts
        self._values: dict[Measure, torch.Tensor] = {}

    @cached_property
    def predictions(self) -> torch.Tensor:
        """The predictions of all rows [B, n]."""
        return self._hypothesis.predict(self.data.instances)

    @cached_property
    def weights(self) -> torch.Tensor | None:
        """The vectors w [B, d] with predictions xᵀw; None if predictions are not linear in x."""
        return self._hypothesis.weights()

    @cached_property
    def drawn_weights(self) -> torch.Tensor:
        """The weights [B, d] for the instances as they were drawn; for measures of weights."""
        assert self.weights is not None, "a measure of weights is asked where there are any"
        return self.data.instances.turn_back(self.weights)

    @cached_property
    def counts(self) -> torch.Tensor:
        """How often every row is among the examples seen, [B or 1, n]."""
        return self._counts()

    def value(self, measure: Measure) -> torch.Tensor:
        """What a measure says here, for other measures that are made of it."""
        if measure not in self._values:
            self._values[measure] = measure.value(self)
        return self._values[measure]


class Measure(Part, frozen=True):
    """A number, or an array over indices of its own, that says something of a learner at a record."""

    label: ClassVar[str]
    """What an axis says of it."""

    unit: ClassVar[str] = ""

    always: ClassVar[bool] = False
    """Whether every run records it that it does not refuse, or only one with a claim that speaks of it."""

    expensive: ClassVar[bool] = False
    """Whether it is measured at some of many records only."""

    of_weights: ClassVar[bool] = False
    """Whether it needs predictions that are linear in the instance, with their weights."""

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        """It with every choice that has a name of its own."""
        return (cls(),)

    @property
    def name(self) -> str:
        """What claims, files and traces call it: its kind, and what of it is set."""
        fields = zip(msgspec.structs.fields(type(self)), self.__struct_fields__, strict=True)
        set_here = ((name, getattr(self, name), field.default) for field, name in fields)
        choices = ", ".join(f"{name} = {value}" for name, value, default in set_here if value != default)
        return f"{self.kind} ({choices})" if choices else self.kind

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

    def value(self, probe: Probe) -> torch.Tensor:
        """[R, V, *index] for replicas and variants; of the first replica alone [1, V, *index]."""
        raise NotImplementedError


@cache
def named() -> dict[str, Measure]:
    """Every measure by its name."""
    members = catalogue.members("measures").values()
    return {measure.name: measure for member in members for measure in cast(type[Measure], member).every()}


def needs_teacher(problem: Problem) -> str | None:
    """Where labels are made of xᵀw* for the instances x that learners see, if that is not here."""
    if not problem.target.unit:
        return "labels are made of xᵀw*, as by the targets feature and sparse"
    return None if problem.matrix.features_are_seen else "learners see the features that targets name"
