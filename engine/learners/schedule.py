"""Schedules: by what the rate is multiplied, step by step."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from engine.core.parts import MOST

Steps = Annotated[float, Meta(gt=0, le=MOST, title="steps T", description="until the rate is 0")]
Factor = Annotated[float, Meta(gt=0, le=1, title="factor γ")]
WarmUp = Annotated[int, Meta(ge=0, le=MOST, title="warm-up", description="steps in which rates grow from 0")]


class Schedule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """A factor of the rate at step t = 0, 1, 2, …; with a warm-up of w steps times (t + 1)/w in the first w.

    Scalars change no verdict about symmetry. Source: theory-symmetry.md §21.
    """

    of_loss: ClassVar[bool] = False
    """Whether the factor is divided by the loss of the examples of the step, of every net by itself."""

    warm_up: WarmUp = 0

    def factor(self, step: int) -> float:
        """What multiplies the rate at a step, counted from 0."""
        return self.after_warm_up(step) * min(1.0, (step + 1) / self.warm_up if self.warm_up else 1.0)

    def after_warm_up(self, step: int) -> float:
        """The same without a warm-up."""
        raise NotImplementedError


class Constant(Schedule, frozen=True, tag="constant"):
    """1, for a warm-up alone."""

    def after_warm_up(self, step: int) -> float:
        return 1.0


class Linear(Schedule, frozen=True, tag="linear", kw_only=True):
    """1 − t/T, and 0 from T on; with `constant` c it is 1 up to cT, and falls to 0 from there."""

    steps: Steps
    constant: Annotated[
        float, Meta(ge=0, lt=1, title="constant", description="share of the steps before it falls")
    ] = 0.0

    def after_warm_up(self, step: int) -> float:
        return min(1.0, max(0.0, (1 - step / self.steps) / (1 - self.constant)))


class Cosine(Schedule, frozen=True, tag="cosine", kw_only=True):
    """½(1 + cos πt/T), and 0 from T on."""

    steps: Steps

    def after_warm_up(self, step: int) -> float:
        return (1 + math.cos(math.pi * min(1.0, step / self.steps))) / 2


class Exponential(Schedule, frozen=True, tag="exponential", kw_only=True):
    """γᵗ."""

    factor_per_step: Annotated[Factor, Meta(description="of every step")]

    def after_warm_up(self, step: int) -> float:
        return float(self.factor_per_step**step)


class Step(Schedule, frozen=True, tag="step", kw_only=True):
    """γ^⌊t/s⌋: once every s steps the rate falls by a factor."""

    factor_per_stage: Annotated[Factor, Meta(description="of every stage")]
    every: Annotated[Steps, Meta(title="every s", description="steps of a stage")]

    def after_warm_up(self, step: int) -> float:
        return float(self.factor_per_stage ** (step // self.every))


class PerLoss(Schedule, frozen=True, tag="per-loss", kw_only=True):
    """1/L for the mean loss L of the examples of the step, of every replica, rate and target by itself.

    Steps are −η ∇L/L = −η ∇ ln L, which do not fade as L falls to 0. The sum of the rates is the time in
    which gradient flow goes as far; it differs between replicas. Only for losses that are above 0 whatever is
    predicted. Source: theory-nets.md §35, theory-bias.md §47.
    """

    of_loss: ClassVar[bool] = True

    def after_warm_up(self, step: int) -> float:
        return 1.0


AnySchedule = Constant | Linear | Cosine | Exponential | Step | PerLoss
