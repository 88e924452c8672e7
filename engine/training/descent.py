"""Gradient descent: a hypothesis that an update rule trains, and the inputs of its training."""

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

    `data()` draws them as tensors, and `examples()` as numpy arrays. `variants` is the number of settings of
    the learner's hyperparameters that train side by side, such as rates.
    """

    learner: Learner
    variants: int
    data: Callable[[], Data]
    examples: Callable[[], Examples]
    loss: Cost
    streams: Streams
    measures: tuple[Measure, ...] = ()

    def drawn(self) -> TrainingInputs:
        """Draw the data as tensors. Return the inputs of the training run, which include these data."""
        data = self.data().with_variants(self.variants)
        return TrainingInputs(self.learner, data, self.loss, self.streams, self.measures)


@dataclass(frozen=True)
class KeptRecords:
    """Indices of the records (evaluations) at which weights are stored.

    They are the multiples of `stride`, and the number of the last evaluation point.
    """

    stride: int
    last: int

    def __contains__(self, record: int) -> bool:
        return record % self.stride == 0 or record == self.last

    def __len__(self) -> int:
        return -(-self.last // self.stride) + 1


def kept_records(records: int, d: int, itemsize: int) -> KeptRecords:
    """Choose the records (evaluations) at which the weights [d] of a curve are stored.

    MOST_WEIGHT_RECORDS and MOST_WEIGHT_BYTES limit how many they are.
    """
    # At least 2, because the first and the last record of every curve are stored.
    limit = max(2, min(MOST_WEIGHT_RECORDS, MOST_WEIGHT_BYTES // (d * itemsize)))
    return KeptRecords(max(1, -(-(records - 1) // (limit - 1))), records - 1)


UNIT_TOLERANCE = 1e-6
"""Relative residual ‖Hv − λv‖ / λ at which the sharpness λ is accurate enough as the unit of a rate.

The relative error of λ is about the square of this residual, which is as small as rounding errors.
"""

MANY = 1 << 14
"""Number of weights from which on two exponentials per weight vector are faster than one per weight."""


class Descent:
    """Model that an update rule trains, by gradients of the mean loss on the examples that it is given."""

    def __init__(self, inputs: TrainingInputs, start: Params | None = None) -> None:
        """Begin with the tensors `start` [R, …] of every replica. By default, `start_of` returns them."""
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
        self._params, self._state = self._begun(params)
        speeds = speeds_of(learner, instances.d)
        self._multiples: Rates = {}
        for layer, speed in speeds.items():
            rates = [rate * speed for rate in rates_of(learner)]
            self._multiples[layer] = rates[0] if len(rates) == 1 else _by_member(rates, params[layer], nets)
        self._unit: Callable[[], torch.Tensor] | None = None
        if learner.rate_unit == "start-sharpness":
            self._unit = partial(self._sharpness, data)
        elif learner.rate_unit == "start-jacobian":
            self._unit = partial(self._squared_jacobian, instances, speeds)
        self._rates = self._in_units()

    def _sharpness(self, data: Data) -> torch.Tensor:
        """Return the sharpness of every net now: the largest eigenvalue of the Hessian of its loss.

        The loss is the mean over all rows.
        """
        shares = data.labels.new_full((1, data.instances.n), 1 / data.instances.n)
        parts = self._architecture, self.tensors, data.instances, data.labels, shares, self._loss
        with torch.enable_grad():
            return largest(Curvature(*parts), UNIT_TOLERANCE).to(data.labels)

    def _squared_jacobian(self, instances: Instances, speeds: dict[str, float]) -> torch.Tensor:
        """Return 2λ²/n of every net, with λ the largest singular value of ∂(all predictions)/∂θ.

        Squared derivatives with respect to a tensor are multiplied by the tensor's factor in `speeds`. If the
        net is linearised, 2λ²/n is the sharpness of its square loss, and limits stable rates as a sharpness
        does.
        """
        squares = squared_jacobians(self._architecture, self.tensors, instances, speeds)
        return (2 / instances.n * squares).to(instances.dtype)

    def _in_units(self) -> Rates:
        """Convert learning rates to plain numbers, for every net.

        If rates are multiples of a unit 1/S, divide them by the present value of S.
        """
        if self._unit is None:
            return self._multiples
        units = self._unit()
        return {layer: self._multiples[layer] / per_member(units, w) for layer, w in self._params.items()}

    def _begun(self, params: Params) -> tuple[Params, State]:
        """Return the parameters and the state with which the update rule begins.

        A learner without a rule keeps its parameters, and has an empty state.
        """
        return (params, {}) if self._update is None else self._update.start(params)

    def place(self, params: Params) -> None:
        """Replace the trained tensors by `params`."""
        self._params = params

    def rotate(self, rotation: torch.Tensor) -> None:
        """Replace the initial weights by those that correspond to them if instances x are rotated to U x.

        U is `rotation`. Call this method before the first example. If the learner sets a seed for its start,
        the start does not change, because it is not random.
        """
        if not self._start_given:
            turned = self._architecture.rotated(self.tensors, lambda weights: weights @ rotation.T)
            self._params, self._state = self._begun({layer: turned[layer] for layer in self._params})
            self._fixed = {layer: turned[layer] for layer in self._fixed}
            self._rates = self._in_units()
        if self._options is not None and not self._architecture.structure().by_inner_products:
            self._options.rotate(rotation)

    def narrow(self, count: int) -> None:
        """Remove the weights of all inputs from index `count` on, until `widen` is called.

        Until then, the instances must be 0 at these inputs.
        """
        first = self._architecture.layers[0]
        self._left_out = self._params[first][..., count:]
        self._params, self._state = self._begun(
            {**self._params, first: self._params[first][..., :count].contiguous()}
        )

    def widen(self) -> None:
        """Restore the weights that `narrow` removed."""
        first = self._architecture.layers[0]
        self._params = {**self._params, first: torch.cat((self._params[first], self._left_out), -1)}

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        """Make one training step along the mean gradient of the examples."""
        self.descend(instances, labels)

    def descend(
        self,
        instances: Instances,
        labels: torch.Tensor,
        shares: torch.Tensor | None = None,
        active: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Make one gradient step on examples with the weights `shares` [B, n], by default 1/n each.

        `active` [N] says which nets move, by default all. Return the predictions [B, n] before the step.
        """
        had: list[torch.Tensor] = []

        def slope(predictions: torch.Tensor) -> torch.Tensor:
            had.append(predictions)
            return self._slope(predictions, labels, shares)

        assert self._update is not None, "a protocol that trains admits only learners with a rule"
        # For one example with entries ±1, the entries of −η g have two values only. So two exponentials
        # suffice, instead of one per weight.
        if self._multiplies and instances.signs and instances.n == 1:
            params, state = self._multiplied(instances, slope)
        else:
            gradients = self._architecture.gradient(self.tensors, instances, slope)
            gradients = with_penalty(self._l2_penalties, self._params, gradients)
            state = self._observed(instances, labels, shares)
            if active is not None:
                state = self._update.pause(active, state)
            if self._evaluates:
                evaluate = partial(self._evaluated, instances, labels, shares)
                state = self._update.evaluating(evaluate, state)
            if self._options is None:
                params, state = self._update.step(self._params, gradients, self._rates, state)
            else:
                losses = self._losses(had[0], labels, shares) if self._of_loss else None
                params, state = self._options.step(self._params, gradients, self._rates, state, losses)
        if active is not None and not active.all():
            params = chosen(active, params, self._params)
            state = self._update.choose(active, state, self._state)
        self._params, self._state = params, state
        return had[0]

    def _slope(
        self, predictions: torch.Tensor, labels: torch.Tensor, shares: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the derivatives of the mean loss with respect to the predictions.

        `shares` are the weights of the examples in the mean loss.
        """
        slopes = self._loss.slope(predictions, labels)
        if shares is not None:
            return slopes * shares
        # A division by 1 changes nothing, but takes a pass over [B, n] at every example of a stream.
        count = predictions.shape[1]
        return slopes if count == 1 else slopes / count

    def _evaluated(
        self,
        instances: Instances,
        labels: torch.Tensor,
        shares: torch.Tensor | None,
        params: Params,
        net: int,
    ) -> tuple[torch.Tensor, Params]:
        """Return the loss and the gradients [1, …] of one net with parameters `params`.

        Penalties are included.
        """
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
            return self._slope(predictions, labels, shares)

        gradients = self._architecture.gradient({**params, **fixed}, instances, slope)
        (loss,) = self._losses(had[0], labels, shares)
        for layer, penalty in self._l2_penalties.items():
            loss = loss + penalty / 2 * params[layer].square().sum()
        return loss, with_penalty(self._l2_penalties, params, gradients)

    def _losses(
        self, predictions: torch.Tensor, labels: torch.Tensor, shares: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the loss of every net [N], in float64. `shares` [B, n] are the weights of the examples."""
        if shares is None:
            return self.of_nets(self._loss.average(predictions, labels))
        return self.of_nets((self._loss.value(predictions, labels) * shares).sum(1, dtype=torch.float64))

    @property
    def factor(self) -> float | torch.Tensor:
        """Factor by which the schedule multiplied the learning rates in the last step.

        It is one number for all nets, or one number for every net [N].
        """
        return 1.0 if self._options is None else self._options.factor

    def _observed(self, instances: Instances, labels: torch.Tensor, shares: torch.Tensor | None) -> State:
        """Let the rule observe the signals of the layers on these examples, and return its new state.

        If the rule observes no signals, return the unchanged state.
        """
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

    def _multiplied(
        self, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> tuple[Params, State]:
        """Make a multiplicative step on one example x with entries ±1. Return the new parameters and state.

        The factors e^(−η g) of such a step have only two values.
        """
        assert self._update is not None, "_multiplies says so"
        factor = torch.exp(slope(self.predict(instances)) * -self._rates["w"])  # [B, 1]
        factors = {"w": instances.chosen(factor, 1 / factor)}
        return self._update.multiply(self._params, factors, self._state)

    def of_nets(self, by_member: torch.Tensor) -> torch.Tensor:
        """Average numbers [B] of batch members to numbers [N] of nets.

        The number of a net is the mean of the numbers of its outputs, each of which is a batch member.
        """
        outputs = self._architecture.outputs
        return by_member if outputs == 1 else by_member.view(-1, outputs).mean(1)

    def predict(self, instances: Instances) -> torch.Tensor:
        return self._architecture.predict(self.tensors, instances)

    def weights(self) -> torch.Tensor | None:
        return self._architecture.weights(self.tensors)

    @property
    def architecture(self) -> Architecture:
        """Architecture that is trained."""
        return self._architecture

    @property
    def tensors(self) -> Params:
        """Trained and fixed tensors, by name."""
        return {**self._params, **self._fixed} if self._fixed else self._params

    @property
    def params(self) -> Params:
        """Trained tensors, by name."""
        return self._params

    @property
    def state(self) -> State:
        """State of the update rule."""
        return self._state

    @property
    def rates(self) -> Rates:
        """Rate of every trained tensor."""
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
    """Return the learning rates that a learner tries. Each of them gives a separate curve.

    Return (1,) if the learner has no rate.
    """
    rates = learner.rate_choice
    if rates == BEST:
        return GRID
    if rates is None:
        return (1.0,)
    return rates if isinstance(rates, tuple) else (rates,)


def speeds_of(learner: Learner, d: int) -> dict[str, float]:
    """Return the factor by which the rate of every trained tensor is multiplied, for d features.

    It is the product of the learner's factor and the architecture's factor for this layer.
    """
    factors = learner.net.layout(d).rate_factors
    return {
        layer: factors.get(layer, 1.0) * learner.layer_rates.get(layer, 1.0) for layer in learner.net.layers
    }


def curve_names(learner: Learner, rates: Sequence[float]) -> list[str]:
    """Return the names of a learner's curves, one for each learning rate.

    With several rates, the names contain the rates.
    """
    return [learner.name if len(rates) == 1 else f"{learner.name} η={rate:.4g}" for rate in rates]


def _by_member(rates: list[float], w: torch.Tensor, nets: int) -> torch.Tensor:
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

    In each step, the schedule first sets the rate. Then the gradient is clipped, noise is added to it, and
    the weights decay. After that, the rule makes its step, and noise is added to the weights.
    """

    def __init__(self, learner: Learner, streams: Streams) -> None:
        self._update, self._learner = learner.trained.update, learner
        self._draws = streams("steps")
        self._turn: torch.Tensor | None = None
        self._steps_made = 0
        self.factor: float | torch.Tensor = 1.0
        """Factor of the rates in the last step: one number for all nets, or one for every net [N]."""

    def rotate(self, rotation: torch.Tensor) -> None:
        """Rotate the noise of all later steps. It then corresponds to instances rotated to U x.

        U is `rotation`.
        """
        self._turn = rotation

    def step(
        self, params: Params, gradients: Params, rates: Rates, state: State, losses: torch.Tensor | None
    ) -> tuple[Params, State]:
        """Make the next step with gradients [N, …], and return the new parameters and state.

        Args:
            losses: loss of every net [N] on the examples of this step; None if the schedule does not use it.
        """
        learner = self._learner
        if learner.schedule is not None:
            self.factor = factor = self._factor(learner.schedule, losses)
            rates = {layer: rate * _shaped(factor, params[layer]) for layer, rate in rates.items()}
        if learner.clip is not None:
            gradients = learner.clip.clipped(gradients)
        if learner.noise is not None and learner.noise.on == "gradient":
            gradients = self._with_noise(gradients, learner.noise.sigma)
        # Decay changes the weights, not the gradient, because an adaptive rule would rescale the gradient.
        if learner.decay is not None:
            params = descended(params, learner.decay.direction(params), rates)
        params, state = self._update.step(params, gradients, rates, state)
        if learner.noise is not None and learner.noise.on == "weights":
            params = self._with_noise(params, learner.noise.sigma)
        # Counted after the step, because the schedule counts steps from 0.
        self._steps_made += 1
        return params, state

    def _factor(self, schedule: AnySchedule, losses: torch.Tensor | None) -> float | torch.Tensor:
        """Return the factor by which the schedule multiplies the rates in the next step.

        It is one number, or one number for every net [N].
        """
        factor = schedule.factor(self._steps_made)
        return factor if losses is None else factor / losses

    def _with_noise(self, tensors: Params, sigma: float) -> Params:
        noise = drawn(self._draws, tensors)
        if self._turn is not None:
            first = next(iter(noise))
            # The last dimension may have another size, if the layer acts on one factor of an instance.
            if noise[first].shape[-1] == len(self._turn):
                noise[first] = noise[first] @ self._turn.T
        return {layer: tensor + sigma * noise[layer] for layer, tensor in tensors.items()}


def _shaped(factor: float | torch.Tensor, w: torch.Tensor) -> float | torch.Tensor:
    """Return the factor of every net, in a shape that broadcasts with the tensor w [N, …]."""
    return factor if isinstance(factor, float) else per_member(factor.to(w.dtype), w)
