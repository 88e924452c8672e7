"""The steps of an update rule with what its learner adds to them."""

from __future__ import annotations

from engine.core.lazy import torch
from engine.core.params import Params, per_member
from engine.core.streams import Streams
from engine.learners.learner import Learner
from engine.learners.noise import drawn
from engine.learners.schedule import AnySchedule
from engine.updates import Rates, State, descended


class OptionedSteps:
    """Steps in this order: the gradient is clipped and gets its noise, weights decay, the rule makes its step
    with the rate of the schedule, and the weights get their noise."""

    def __init__(self, learner: Learner, streams: Streams) -> None:
        assert learner.update is not None, "only learners with a rule have options"
        self._update, self._learner = learner.update, learner
        self._draws = streams("steps")
        self._turn: torch.Tensor | None = None
        self._made = 0
        self.factor: float | torch.Tensor = 1.0
        """What multiplied the rate in the last step, one number or one for every net [N]."""

    def rotate(self, rotation: torch.Tensor) -> None:
        """Draw the noise that corresponds to instances U x."""
        self._turn = rotation

    def step(
        self, params: Params, gradients: Params, rates: Rates, state: State, losses: torch.Tensor | None
    ) -> tuple[Params, State]:
        """Parameters and state after the next step along gradients [B, …].

        Args:
            losses: of every net [N] on the examples of the step, if the schedule is made of them.
        """
        learner = self._learner
        if learner.schedule is not None:
            self.factor = factor = self._factor(learner.schedule, losses)
            rates = {name: rate * _shaped(factor, params[name]) for name, rate in rates.items()}
        if learner.clip is not None:
            gradients = learner.clip.clipped(gradients)
        if learner.noise is not None and learner.noise.on == "gradient":
            gradients = self._with_noise(gradients, learner.noise.sigma)
        if learner.decay is not None:
            params = descended(params, learner.decay.direction(params), rates)
        params, state = self._update.step(params, gradients, rates, state)
        if learner.noise is not None and learner.noise.on == "weights":
            params = self._with_noise(params, learner.noise.sigma)
        self._made += 1
        return params, state

    def _factor(self, schedule: AnySchedule, losses: torch.Tensor | None) -> float | torch.Tensor:
        """What multiplies the rate of the next step, one number or one for every net [N]."""
        factor = schedule.factor(self._made)
        return factor if losses is None else factor / losses

    def _with_noise(self, tensors: Params, sigma: float) -> Params:
        noise = drawn(self._draws, tensors)
        if self._turn is not None:
            first = next(iter(noise))
            if noise[first].shape[-1] == len(self._turn):  # else it is that of a factor of an instance
                noise[first] = noise[first] @ self._turn.T
        return {name: tensor + sigma * noise[name] for name, tensor in tensors.items()}


def _shaped(factor: float | torch.Tensor, w: torch.Tensor) -> float | torch.Tensor:
    """A factor as it multiplies w [N, …]."""
    return factor if isinstance(factor, float) else per_member(factor.to(w.dtype), w)
