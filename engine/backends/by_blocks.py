"""Single examples in blocks: the steps along some of them at once, as one triangular system of equations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from engine.backends import Backend, weight_vectors, why_no_single_pass
from engine.backends.by_rows import after_each, block_steps
from engine.core.lazy import torch
from engine.core.sizes import CELLS, Sizes
from engine.measures import Measure
from engine.problems.instances import Dense, Instances
from engine.training.descent import Descent
from engine.training.recorder import Recorder
from engine.training.training_inputs import TrainingInputs
from engine.training.training_run import TrainingRun

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.spec.experiment import Experiment

AHEAD = 64
"""Examples along which the steps are made together."""


class ByBlocks(Backend):
    """A linear neuron that follows the gradient of square loss, in one pass over single examples.

    The prediction of an example after the steps along those before it is linear in these steps, so that the
    steps along a block of examples solve a triangular system with their Gram matrix.
    """

    place: ClassVar[int] = 45
    words: ClassVar[str] = "in blocks of steps"
    knows: ClassVar[frozenset[str]] = Backend.knows | {"layer_rates"}
    takes_matrix: ClassVar[bool] = True

    def refuses(self, learner: Learner, experiment: Experiment) -> str | None:
        rule, net, protocol = learner.update, learner.architecture, experiment.protocol
        if rule is None or net is None:
            return "it trains an architecture by an update rule"
        if not rule.plain or not net.trains_weights:
            return "its steps are not known to be a rate times the gradient, of a linear neuron"
        if not experiment.loss.is_square or protocol.clips_at is not None:
            return "it takes only square loss, of predictions that are not clipped"
        return why_no_single_pass(experiment) or super().refuses(learner, experiment)

    def serves(self, measure: Measure) -> bool:
        return not (measure.of_parameters or measure.under)

    def bytes_held(self, sizes: Sizes) -> int:
        """The weights after every step of a block, what evaluators hold of these, and the steps."""
        each = AHEAD * (2 * sizes.d + AHEAD) + 2 * sizes.n
        return (sizes.batch * each + sizes.replicas * AHEAD * (sizes.d + AHEAD)) * sizes.item

    def pays(self, learner: Learner, experiment: Experiment) -> bool:
        """Where the weights after all steps of a block stay in the cache."""
        d = experiment.d
        return AHEAD * weight_vectors(learner, experiment) * d <= CELLS

    def training_run(self, inputs: TrainingInputs, experiment: Experiment) -> TrainingRun:
        if not isinstance(inputs.data.instances, Dense):
            inputs = replace(inputs, data=inputs.data.dense())
        return experiment.protocol.online_run(inputs, BlocksLearner)


class SolvedSteps:
    """A linear neuron with the weights after every step along a block of examples."""

    def __init__(self, inputs: TrainingInputs, order: torch.Tensor | None) -> None:
        """For examples in this order of the rows [R, n], or in their own."""
        data = inputs.data
        start = Descent(inputs)
        weights = start.weights()
        assert weights is not None, "a linear neuron has weights"
        self._data, self._order = data, order
        self._made = weights[None]  # of the block, [b, B, d]
        rate = next(iter(start.rates.values()))
        by_variant = data.replicas, data.variants, -1
        self._rates = rate.view(by_variant)[:, :, :1, None] if isinstance(rate, torch.Tensor) else rate
        self._learnt, self._place, self._count = 0, 0, 1

    def learn_next(self) -> None:
        """Go on to the next example."""
        self._place += 1
        if self._place == self._count:
            self._learn_block()
            self._place = 0

    def _learn_block(self) -> None:
        """Make the steps along the next examples."""
        some = slice(self._learnt, self._learnt + AHEAD)
        if self._order is None:
            instances, labels = self._data.instances.at(some), self._data.labels[:, some]
        else:
            instances, labels = self._data.examples(self._order[:, some])
        rows = instances.rows  # [R, b, d]
        before = self._made[-1].view(self._data.replicas, self._data.variants, -1, instances.d)
        errors = before @ rows[:, None].mT - labels.view(*before.shape[:3], -1)
        steps = block_steps(rows @ rows.mT, errors, self._rates)
        made = after_each(before, steps, rows[:, None, None])  # [R, V, T, b, d]
        self._made = made.flatten(0, 2).transpose(0, 1).contiguous()
        self._learnt, self._count = self._learnt + instances.n, instances.n

    def predict(self, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]."""
        return instances.products(self.weights())

    def weights(self) -> torch.Tensor:
        """The weights [B, d]."""
        return self._made[self._place]

    def stored(self) -> tuple[torch.Tensor, int]:
        """The weights after every step of the block [b, B, d], and the place of those now."""
        return self._made, self._place

    def kept(self) -> torch.Tensor:
        """Those of the first replica and target [V, d]."""
        some = self._data.variants * self._data.targets
        return self._made[self._place, : some : self._data.targets].clone()


class BlocksLearner:
    """A learner that takes single examples in their order."""

    def __init__(self, inputs: TrainingInputs, order: torch.Tensor | None, records: int) -> None:
        self.hypothesis = SolvedSteps(inputs, order)
        self.recorder = Recorder(inputs, self.hypothesis, records, order)

    def learn(self, k: int) -> Iterable[None]:
        """Learn example number k."""
        self.hypothesis.learn_next()
        return ()


BACKEND = ByBlocks()
