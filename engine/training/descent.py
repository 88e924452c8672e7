"""Gradient descent: a hypothesis that an update rule trains, and the inputs of training runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from engine.architectures import Architecture, with_penalty
from engine.core.cost import root_of_curvature
from engine.core.lazy import torch
from engine.core.params import Params, chosen, per_member
from engine.core.streams import Streams
from engine.hypotheses.curvature import Curvature, largest, squared_jacobians
from engine.hypotheses.hypothesis import Hypothesis
from engine.learners.learner import AnySchedule, Fitted, Learner, drawn
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.updates import BEST, GRID, Rates, State, descended

if TYPE_CHECKING:
    from engine.core.cost import Cost
    from engine.measures import Measure
    from engine.problems.examples import Examples


MOST_WEIGHT_RECORDS = 1024
MOST_WEIGHT_BYTES = 32 << 20


@dataclass(frozen=True)
class TrainingInputs:
    """Inputs of a training run: the learner, its data and loss, random streams, and what to measure."""

    learner: Learner
    data: Data
    loss: Cost
    streams: Streams
    measures: tuple[Measure, ...] = ()


@dataclass(frozen=True)
class Undrawn:
    """Inputs of a training run for which no data are drawn yet.

    `data()` draws the data as tensors, and `examples()` draws them as numpy arrays. `variants` is the number
    of settings of the learner's hyperparameters, such as rates, that train side by side.
    """

    learner: Learner
    variants: int
    data: Callable[[], Data]
    examples: Callable[[], Examples]
    loss: Cost
    streams: Streams
    measures: tuple[Measure, ...] = ()

    def drawn(self) -> TrainingInputs:
        data = self.data().with_variants(self.variants)
        return TrainingInputs(self.learner, data, self.loss, self.streams, self.measures)


@dataclass(frozen=True)
class KeptRecords:
    """Records (evaluations) at which weights are stored: the multiples of `stride`, and `last`."""

    stride: int
    last: int

    def __contains__(self, record: int) -> bool:
        return record % self.stride == 0 or record == self.last

    def __len__(self) -> int:
        return -(-self.last // self.stride) + 1


def kept_records(records: int, d: int, itemsize: int) -> KeptRecords:
    """Return the records at which weights [d] are stored.

    There are at most MOST_WEIGHT_RECORDS such records. Their weights take at most MOST_WEIGHT_BYTES, unless
    those of the first and the last record alone need more.
    """
    # At least 2, because the first and the last record of every curve are stored.
    limit = max(2, min(MOST_WEIGHT_RECORDS, MOST_WEIGHT_BYTES // (d * itemsize)))
    return KeptRecords(max(1, -(-(records - 1) // (limit - 1))), records - 1)


UNIT_TOLERANCE = 1e-6
"""Relative residual ‖Hv − λv‖ / λ up to which the sharpness λ is accurate enough as the unit of a rate.

The relative error of λ is about the square of this residual, 1e-12.
"""

MANY = 1 << 14
"""Number of weights from which on two exponentials per vector are faster than one per weight."""


class Descent:
    """Model that an update rule trains by gradients of the mean loss."""

    def __init__(self, inputs: TrainingInputs, start: Params | None = None) -> None:
        """Create a model with the tensors `start` [R, …] of R replicas, by default those of `start_of`."""
        learner, data = inputs.learner, inputs.data
        architecture, update = learner.net, learner.update
        self._architecture, self._update, self._loss = architecture, update, inputs.loss
        instances = data.instances
        nets = data.targets // architecture.outputs
        tensors = {
            # All variants and targets of a replica have the same start, so that the curves of a learner
            # differ only by their rates.
            layer: tensor.repeat_interleave(data.variants * nets, 0)
            for layer, tensor in (start_of(inputs) if start is None else start).items()
        }
        tensors = architecture.fitted(tensors, instances)
        params = {layer: tensors.pop(layer) for layer in architecture.layers}
        structure = None if update is None else update.structure()
        self._observes = None if structure is None else structure.observes
        self._evaluates = structure is not None and structure.evaluates
        self._options = None if learner.plain_steps else OptionedSteps(learner, inputs.streams)
        self._start_given = bool(learner.start_seed)
        self._of_loss = learner.schedule is not None and learner.schedule.of_loss
        self._multiplies = (
            structure is not None
            and structure.by_factors
            and self._options is None
            and architecture.structure().trains_weights
            and params["w"].numel() >= MANY
        )
        self._l2_penalties = architecture.layout(instances.d).l2_penalties
        self._fixed = tensors
        self._params, self._state = self._initial_state(params)
        speeds = speeds_of(learner, instances.d)
        self._multiples: Rates = {}
        for layer, speed in speeds.items():
            rates = [rate * speed for rate in rates_of(learner)]
            self._multiples[layer] = (
                rates[0] if len(rates) == 1 else _rates_by_member(rates, params[layer], nets)
            )
        self._unit: Callable[[], torch.Tensor] | None = None
        if learner.rate_unit == "start-sharpness":
            self._unit = partial(self._largest_eigenvalues, data)
        elif learner.rate_unit == "start-jacobian":
            self._unit = partial(self._squared_jacobian, instances, speeds)
        self._rates = self._plain_rates()

    def _largest_eigenvalues(self, data: Data) -> torch.Tensor:
        """Return the largest eigenvalue of the Hessian of every net's mean loss over all rows, [N]."""
        shares = data.labels.new_full((1, data.instances.n), 1 / data.instances.n)
        parts = self._architecture, self.tensors, data.instances, data.labels, shares, self._loss
        with torch.enable_grad():
            return largest(Curvature(*parts), UNIT_TOLERANCE).to(data.labels)

    def _squared_jacobian(self, instances: Instances, speeds: dict[str, float]) -> torch.Tensor:
        """Return 2λ²/n of every net, where λ is the largest singular value of the Jacobian ∂ŷ/∂θ.

        ŷ are the predictions of all n instances. `speeds` has one factor for each tensor, which multiplies
        the squared derivatives with respect to the tensor. For a linearised net, 2λ²/n is the sharpness of
        the square loss.
        """
        squares = squared_jacobians(self._architecture, self.tensors, instances, speeds)
        return (2 / instances.n * squares).to(instances.dtype)

    def _plain_rates(self) -> Rates:
        """Return learning rates as plain numbers. Rates in units of 1/sharpness are divided by the sharpness.

        The sharpness is computed for each net.
        """
        if self._unit is None:
            return self._multiples
        units = self._unit()
        return {layer: self._multiples[layer] / per_member(units, w) for layer, w in self._params.items()}

    def _initial_state(self, params: Params) -> tuple[Params, State]:
        return (params, {}) if self._update is None else self._update.start(params)

    def place(self, params: Params) -> None:
        self._params = params

    def rotate(self, rotation: torch.Tensor) -> None:
        """Rotate the initial weights and the noise to match rotated instances U x, with U = `rotation`.

        Call this method before the first example. If the learner has a `start_seed`, the weights are not
        rotated, because such a learner has the same initial weights for rotated instances. The noise is that
        of the learner's steps. It is not rotated if the predictions of the net depend only on inner products.
        """
        if not self._start_given:
            turned = self._architecture.rotated(self.tensors, lambda weights: weights @ rotation.T)
            self._params, self._state = self._initial_state({layer: turned[layer] for layer in self._params})
            self._fixed = {layer: turned[layer] for layer in self._fixed}
            self._rates = self._plain_rates()
        if self._options is not None and not self._architecture.structure().by_inner_products:
            self._options.rotate(rotation)

    def narrow(self, count: int) -> None:
        """Remove the weights of all inputs from index `count` on, until `widen` is called.

        Until then, the instances must be 0 at these inputs.
        """
        first = self._architecture.layers[0]
        self._left_out = self._params[first][..., count:]
        self._params, self._state = self._initial_state(
            {**self._params, first: self._params[first][..., :count].contiguous()}
        )

    def widen(self) -> None:
        first = self._architecture.layers[0]
        self._params = {**self._params, first: torch.cat((self._params[first], self._left_out), -1)}

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        self.descend(instances, labels)

    def descend(
        self,
        instances: Instances,
        labels: torch.Tensor,
        shares: torch.Tensor | None = None,
        active: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Make one gradient step on a weighted mean of the losses; return the predictions [B, n] before it.

        `shares` [B, n] are the weights of the losses in the mean, by default 1/n each. `active` [N] says
        which of the N nets make the step, by default all.
        """
        had: list[torch.Tensor] = []

        def slope(predictions: torch.Tensor) -> torch.Tensor:
            had.append(predictions)
            return self._slope_of_mean(predictions, labels, shares)

        assert self._update is not None, "a protocol that trains admits only learners with a rule"
        # For one example with entries ±1, the entries of −η g have two values only. So two exponentials
        # suffice, instead of one per weight.
        if self._multiplies and instances.signs and instances.n == 1:
            params, state = self._multiplied_weights(instances, slope)
        else:
            gradients = self._architecture.gradient(self.tensors, instances, slope)
            gradients = with_penalty(self._l2_penalties, self._params, gradients)
            state = self._state_after_observation(instances, labels, shares)
            if active is not None:
                state = self._update.pause(active, state)
            if self._evaluates:
                evaluate = partial(self._loss_and_gradients, instances, labels, shares)
                state = self._update.evaluating(evaluate, state)
            if self._options is None:
                params, state = self._update.step(self._params, gradients, self._rates, state)
            else:
                losses = self._mean_losses(had[0], labels, shares) if self._of_loss else None
                params, state = self._options.step(self._params, gradients, self._rates, state, losses)
        if active is not None and not active.all():
            params = chosen(active, params, self._params)
            state = self._update.choose(active, state, self._state)
        self._params, self._state = params, state
        return had[0]

    def _slope_of_mean(
        self, predictions: torch.Tensor, labels: torch.Tensor, shares: torch.Tensor | None
    ) -> torch.Tensor:
        slopes = self._loss.slope(predictions, labels)
        if shares is not None:
            return slopes * shares
        # A division by 1 changes nothing, but takes a pass over [B, n] at every example of a stream.
        count = predictions.shape[1]
        return slopes if count == 1 else slopes / count

    def _loss_and_gradients(
        self,
        instances: Instances,
        labels: torch.Tensor,
        shares: torch.Tensor | None,
        params: Params,
        net: int,
    ) -> tuple[torch.Tensor, Params]:
        """Return the loss, with penalties, and the gradients [1, …] of one net with parameters `params`."""
        outputs = self._architecture.outputs
        nets = len(labels) // outputs
        members = slice(net * outputs, (net + 1) * outputs)
        instances = instances.of_replica(net * instances.replicas // nets)
        labels = labels[members]
        shares = shares if shares is None or len(shares) == 1 else shares[members]
        fixed = {
            layer: tensor[net : net + 1] if len(tensor) == nets else tensor
            for layer, tensor in self._fixed.items()
        }
        had: list[torch.Tensor] = []

        def slope(predictions: torch.Tensor) -> torch.Tensor:
            had.append(predictions)
            return self._slope_of_mean(predictions, labels, shares)

        gradients = self._architecture.gradient({**params, **fixed}, instances, slope)
        (loss,) = self._mean_losses(had[0], labels, shares)
        for layer, penalty in self._l2_penalties.items():
            loss = loss + penalty / 2 * params[layer].square().sum()
        return loss, with_penalty(self._l2_penalties, params, gradients)

    def _mean_losses(
        self, predictions: torch.Tensor, labels: torch.Tensor, shares: torch.Tensor | None
    ) -> torch.Tensor:
        if shares is None:
            return self.of_nets(self._loss.average(predictions, labels))
        return self.of_nets((self._loss.value(predictions, labels) * shares).sum(1, dtype=torch.float64))

    @property
    def factor(self) -> float | torch.Tensor:
        """Factor by which the schedule multiplied the rates in the last step: one number, or [N]."""
        return 1.0 if self._options is None else self._options.factor

    def _state_after_observation(
        self, instances: Instances, labels: torch.Tensor, shares: torch.Tensor | None
    ) -> State:
        assert self._update is not None, "`descend` says so"
        if (wanted := self._observes) is None:
            return self._state

        def sent(predictions: torch.Tensor) -> torch.Tensor:
            if wanted == "slopes":
                return self._loss.slope(predictions, labels)
            return root_of_curvature(self._loss, predictions, labels)

        signals = self._architecture.through(self.tensors, instances, sent)
        if shares is None:
            shares = labels.new_full((1, 1), 1 / instances.n)
        else:
            shares = shares[:: self._architecture.outputs]  # the outputs of a net have the same examples
        return self._update.observe(signals, shares, self._state)

    def _multiplied_weights(
        self, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> tuple[Params, State]:
        """Make a multiplicative step on one example with entries ±1.

        The factors e^(−η g) of the weights have only two different values, so only two exponentials are
        computed.
        """
        assert self._update is not None, "_multiplies says so"
        factor = torch.exp(slope(self.predict(instances)) * -self._rates["w"])  # [B, 1]
        factors = {"w": instances.chosen(factor, 1 / factor)}
        return self._update.multiply(self._params, factors, self._state)

    def of_nets(self, by_member: torch.Tensor) -> torch.Tensor:
        """Return means of `by_member` [B] over the outputs of each net, [N]."""
        outputs = self._architecture.outputs
        return by_member if outputs == 1 else by_member.view(-1, outputs).mean(1)

    def predict(self, instances: Instances) -> torch.Tensor:
        return self._architecture.predict(self.tensors, instances)

    def weights(self) -> torch.Tensor | None:
        return self._architecture.weights(self.tensors)

    @property
    def architecture(self) -> Architecture:
        return self._architecture

    @property
    def tensors(self) -> Params:
        return {**self._params, **self._fixed} if self._fixed else self._params

    @property
    def params(self) -> Params:
        return self._params

    @property
    def state(self) -> State:
        return self._state

    @property
    def rates(self) -> Rates:
        return self._rates


def start_of(inputs: TrainingInputs) -> Params:
    """Return a learner's initial tensors for every replica, [R, …], in the coordinates of the instances."""
    architecture, instances = inputs.learner.net, inputs.data.instances
    drawn = architecture.start(inputs.learner.stream_of_start(inputs.streams), instances.d)
    start = {
        layer: torch.as_tensor(array, dtype=instances.dtype, device=instances.device)
        for layer, array in drawn.items()
    }
    return architecture.rotated(start, instances.turn)


def rates_of(learner: Learner) -> tuple[float, ...]:
    """Return the learning rates that a learner tries, one for each curve; (1,) if it has no rate."""
    rates = learner.rate_choice
    if rates == BEST:
        return GRID
    if rates is None:
        return (1.0,)
    return rates if isinstance(rates, tuple) else (rates,)


def speeds_of(learner: Learner, d: int) -> dict[str, float]:
    """Return the rate factor of each trained tensor: the learner's factor times that of the architecture."""
    factors = learner.net.layout(d).rate_factors
    return {
        layer: factors.get(layer, 1.0) * learner.layer_rates.get(layer, 1.0) for layer in learner.net.layers
    }


def curve_names(learner: Learner, rates: Sequence[float]) -> list[str]:
    """Return the name of each curve of a learner. With several rates, each name contains its rate."""
    return [learner.name if len(rates) == 1 else f"{learner.name} η={rate:.4g}" for rate in rates]


def _rates_by_member(rates: list[float], w: torch.Tensor, nets: int) -> torch.Tensor:
    """Return the learning rate of each batch member, in a shape that broadcasts with w [B, …].

    In a replica, `nets` successive batch members have the same rate.
    """
    by_net = torch.tensor(rates, dtype=w.dtype).to(w.device).repeat_interleave(nets)
    return per_member(by_net.repeat(len(w) // len(by_net)), w)


def begin(inputs: TrainingInputs) -> Hypothesis:
    """Return the untrained hypothesis (model) of a learner, before the first example."""
    if isinstance(form := inputs.learner.form, Fitted):
        return form.solver.begin(inputs.data, inputs.streams)
    return Descent(inputs)


class OptionedSteps:
    """Training steps by an update rule, with options of the learner such as weight decay or noise.

    In each step, the schedule first sets the rate. Then the gradient is clipped, and the weights decay. After
    that, the rule makes its step. Noise is added either to the clipped gradient, or to the weights after the
    step.
    """

    def __init__(self, learner: Learner, streams: Streams) -> None:
        self._update, self._learner = learner.trained.update, learner
        self._draws = streams("steps")
        self._turn: torch.Tensor | None = None
        self._steps_made = 0
        self.factor: float | torch.Tensor = 1.0
        """Factor of the rates in the last step: one number for all nets, or one for every net [N]."""

    def rotate(self, rotation: torch.Tensor) -> None:
        """Rotate the noise of all later steps to match instances rotated to U x, with U = `rotation`."""
        self._turn = rotation

    def step(
        self, params: Params, gradients: Params, rates: Rates, state: State, losses: torch.Tensor | None
    ) -> tuple[Params, State]:
        """Make the next step, with gradients [N, …].

        `losses` [N] are the losses of the nets on the examples of this step, or None if the schedule needs
        none.
        """
        learner = self._learner
        if learner.schedule is not None:
            self.factor = factor = self._factor_of_rate(learner.schedule, losses)
            rates = {layer: rate * _broadcast_factor(factor, params[layer]) for layer, rate in rates.items()}
        if learner.clip is not None:
            gradients = learner.clip.clipped(gradients)
        if learner.noise is not None and learner.noise.on == "gradient":
            gradients = self._noisy_tensors(gradients, learner.noise.sigma)
        # Decay changes the weights, not the gradient, because an adaptive rule would rescale the gradient.
        if learner.decay is not None:
            params = descended(params, learner.decay.direction(params), rates)
        params, state = self._update.step(params, gradients, rates, state)
        if learner.noise is not None and learner.noise.on == "weights":
            params = self._noisy_tensors(params, learner.noise.sigma)
        # Counted after the step, because the schedule counts steps from 0.
        self._steps_made += 1
        return params, state

    def _factor_of_rate(self, schedule: AnySchedule, losses: torch.Tensor | None) -> float | torch.Tensor:
        factor = schedule.factor(self._steps_made)
        return factor if losses is None else factor / losses

    def _noisy_tensors(self, tensors: Params, sigma: float) -> Params:
        noise = drawn(self._draws, tensors)
        if self._turn is not None:
            first = next(iter(noise))
            # The last dimension may have another size, if the layer acts on one factor of an instance.
            if noise[first].shape[-1] == len(self._turn):
                noise[first] = noise[first] @ self._turn.T
        return {layer: tensor + sigma * noise[layer] for layer, tensor in tensors.items()}


def _broadcast_factor(factor: float | torch.Tensor, w: torch.Tensor) -> float | torch.Tensor:
    return factor if isinstance(factor, float) else per_member(factor.to(w.dtype), w)
