"""Optimizers of torch, by name."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from engine.core import optimizers
from engine.core.groups import SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.outside import located
from engine.core.params import Params
from engine.core.parts import SELDOM, BadInput, Verdict
from engine.core.texts import reason_of
from engine.problems.matrices import Matrix
from engine.updates import Evaluate, Rate, Rates, State, Update, UpdateStructure

if TYPE_CHECKING:
    from torch.optim import Optimizer

USUAL = "AdamW"
"""Name without a setting. Torch has it, so that nothing must be loaded to check it."""

ELEMENT_WISE = frozenset(
    (
        *("torch.ASGD", "torch.Adadelta", "torch.Adagrad", "torch.Adam", "torch.AdamW", "torch.Adamax"),
        *("torch.NAdam", "torch.RAdam", "torch.RMSprop", "torch.Rprop", "torch.SGD"),
        *("pytorch_optimizer.Lion", "pytorch_optimizer.SignSGD", "pytorch_optimizer.Tiger"),
    )
)
"""Optimizers that move every entry by its own gradients alone. One object moves all nets of equal rates."""

BY_COORDINATE = frozenset(
    f"torch.{name}" for name in ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RMSprop")
)
"""Optimizers that divide each entry of a step by a size of its gradients, whatever their options."""

NetRates = Mapping[str, float]
"""Rate of every layer of a net."""

Option = bool | int | float | str | tuple[float, ...]


class Torch(Update, frozen=True, tag="torch"):
    """Optimizer of torch by its name, such as SGD, AdamW or Muon, with its own keyword arguments.

    `options` are arguments of its constructor, except for the rate. A net of h outputs and d inputs has
    parameters of shape h × d, as a layer of torch has, and biases of shape h. Element-wise optimizers move
    all nets together. Every other one moves each net by an object of its own; its random numbers are the
    same for all nets. Optimizers that move only matrices, such as Muon, leave biases as they are. Source:
    the documentation of torch.optim, and of pytorch-optimizer.
    """

    name: Annotated[str, Meta(min_length=1, max_length=100, title="name", description="of its class")] = USUAL
    lr: Rate = 0.0078125
    options: Annotated[
        dict[str, Option],
        Meta(
            max_length=64,
            title="options",
            description="arguments of the class, as in betas = [0.9, 0.99]",
            extra=SELDOM,
        ),
    ] = msgspec.field(default_factory=dict)
    library: Annotated[
        Literal["torch", "pytorch-optimizer"],
        Meta(title="library", description="package that has the class", extra=SELDOM),
    ] = "torch"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name != USUAL or self.options or self.library != "torch":
            optimizers.check_options(self._optimizer, self.options)

    @property
    def _optimizer(self) -> type[Optimizer]:
        return optimizers.optimizer_class(self.name, self.library)

    @property
    def _entry(self) -> str:
        """Name in the tables."""
        return optimizers.entry(self.name, self.library)

    @property
    def _is_element_wise(self) -> bool:
        return self._entry in ELEMENT_WISE

    def structure(self) -> UpdateStructure:
        evaluates = not self._is_element_wise and optimizers.needs_closure(self._optimizer)
        # Signs and ranks occur in many of them, and none says so.
        return (
            super()
            .structure()
            ._replace(continuous=False, evaluates=evaluates, net_by_net=not self._is_element_wise)
        )

    def evaluating(self, evaluate: Evaluate, state: State) -> State:
        return Optimizers(_of(state).groups, evaluate, _of(state).active)

    def pause(self, active: torch.Tensor, state: State) -> State:
        optimizers_so_far = _of(state)
        nets = frozenset(active.nonzero().flatten().tolist())
        return Optimizers(optimizers_so_far.groups, optimizers_so_far.evaluate, nets)

    def choose(self, active: torch.Tensor, new: State, old: State) -> State:
        return new

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        by_net = _rates_by_net(rates, len(next(iter(params.values()))))
        before = _of(state)
        active = frozenset(range(len(by_net))) if before.active is None else before.active
        moved = {layer: w.clone() for layer, w in params.items()}
        groups = self._groups(params, by_net, before.groups, active)
        with optimizers.random_numbers(next(iter(params.values())).device) as seed:
            for group in groups:
                if group.nets[0] in active:
                    seed(group.steps)
                    self._step(group, params, gradients, by_net[group.nets[0]], before.evaluate)
                    group.write(moved)
        return moved, Optimizers(groups)

    def _step(
        self,
        group: Group,
        params: Params,
        gradients: Params,
        rates: NetRates,
        evaluate: Evaluate | None,
    ) -> None:
        """Make a step with one of the optimizers. Raises: BadInput if it fails."""
        try:
            group.step(params, gradients, rates, evaluate)
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # optimizers raise errors of any kind
            is_of_user = self.name in optimizers.registered
            reason = located(error, self._optimizer.step) if is_of_user else reason_of(error)
            raise BadInput(f"{self.library}: {self.name}", f"its step fails: {reason}") from error

    def _groups(
        self, params: Params, by_net: Sequence[NetRates], groups: Sequence[Group], active: frozenset[int]
    ) -> list[Group]:
        """Return optimizers of nets that move alike: parts of `groups`, and new ones of other active nets."""
        divided = []
        for group in groups:
            parts = _nets_alike(group.nets, by_net, active)
            divided += [group] if len(parts) == 1 else [group.of(part) for part in parts]
        moved = {net for group in groups for net in group.nets}
        new = [net for net in range(len(by_net)) if net in active and net not in moved]
        together = _nets_alike(new, by_net, active) if self._is_element_wise else [[net] for net in new]
        return divided + [self._begun(params, nets, by_net[nets[0]]) for nets in together]

    def _begun(self, params: Params, nets: list[int], rates: NetRates) -> Group:
        """Return a new optimizer of nets with these rates."""
        nn: Any = torch.nn  # mypy reads no stubs of modules
        model = nn.Module()
        for layer, w in params.items():
            start = w[nets] if self._is_element_wise else _as_torch_has_it(w[nets[0]])
            model.register_parameter(layer, torch.nn.Parameter(start.clone()))
        layers_by_rate: dict[float, list[str]] = {}
        for layer, rate in rates.items():
            layers_by_rate.setdefault(rate, []).append(layer)
        parameters = dict(model.named_parameters())
        by_rate = [
            {"params": [parameters[layer] for layer in layers], "lr": rate}
            for rate, layers in layers_by_rate.items()
        ]
        optimizer = optimizers.make_optimizer(
            self._optimizer,
            by_rate if len(by_rate) > 1 else list(parameters.values()),
            model,
            next(iter(layers_by_rate)),
            self.options,
        )
        return Group(nets, parameters, optimizer, rates)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        if self._entry == "torch.SGD":
            return Verdict(True, "steps are sums of gradients and of weights, with one rate for all entries")
        if self._entry in BY_COORDINATE and not (single and matrix.structure().entries_are_signs):
            reason = "every weight has a separate rate, which distinguishes features"
            return Verdict(False, reason, SIGNED_PERMUTATIONS)
        reason = f"nothing is declared of {self.name}, an optimizer of {self.library}"
        return Verdict(False, reason, undecided=True)


class Optimizers(dict[str, Params]):
    """State without named tensors: the optimizers of the nets, which steps change in place.

    Args:
        groups: an optimizer for each net that has moved, or for several of equal rates.
        evaluate: function for optimizers that evaluate losses.
        active: numbers of the nets that the next step moves; None for all.
    """

    def __init__(
        self,
        groups: Sequence[Group] = (),
        evaluate: Evaluate | None = None,
        active: frozenset[int] | None = None,
    ) -> None:
        super().__init__()
        self.groups, self.evaluate, self.active = groups, evaluate, active


def _of(state: State) -> Optimizers:
    """Return the optimizers of a state; none before the first step."""
    return state if isinstance(state, Optimizers) else Optimizers()


@dataclass
class Group:
    """An optimizer of one net, or of several nets of equal rates."""

    nets: list[int]
    """Numbers of the nets in the batch, in ascending order."""

    parameters: dict[str, torch.nn.Parameter]
    """Parameters by layer: as a layer of torch has them, or of several nets [nets, …]."""

    optimizer: Optimizer
    rates: NetRates
    """Rates of the last step."""

    steps: int = 0

    def of(self, nets: list[int]) -> Group:
        """Return a copy for these of its nets. Only an element-wise optimizer has several."""
        memo: dict[int, object] = {}
        parameters = copy.deepcopy(self.parameters, memo)
        # `copy.deepcopy` of the optimizer would lose the attributes that its class adds to those of torch.
        optimizer = object.__new__(type(self.optimizer))
        memo[id(self.optimizer)] = optimizer
        vars(optimizer).update(copy.deepcopy(vars(self.optimizer), memo))
        places = [self.nets.index(net) for net in nets]
        for parameter in parameters.values():
            state = optimizer.state[parameter]
            for name, tensor in state.items():
                if isinstance(tensor, torch.Tensor) and tensor.shape == parameter.shape:
                    state[name] = tensor[places]
            parameter.data = parameter.data[places]
        return Group(nets, parameters, optimizer, self.rates, self.steps)

    def step(self, params: Params, gradients: Params, rates: NetRates, evaluate: Evaluate | None) -> None:
        """Make a step from `params`; it ends at NaN after gradients that are not finite."""
        self._set(rates)
        for layer, parameter in self.parameters.items():
            parameter.data.copy_(self._of_nets(layer, params))
            parameter.grad = self._of_nets(layer, gradients).clone()
        if len(self.nets) > 1 or self._is_finite():
            self.optimizer.step(*([] if evaluate is None else [self._closure(evaluate, params)]))
        else:  # many optimizers decompose matrices, which fails without finite entries
            for parameter in self.parameters.values():
                parameter.data.fill_(torch.nan)
        self.steps += 1

    def write(self, params: Params) -> None:
        """Write the present parameters of the nets into those of the batch."""
        for layer, parameter in self.parameters.items():
            of_nets = params[layer][self._index]
            params[layer][self._index] = parameter.data.view_as(of_nets)

    @property
    def _index(self) -> slice | list[int]:
        """Index of the nets in the batch; a slice if possible, which copies nothing."""
        first, last = self.nets[0], self.nets[-1]
        return slice(first, last + 1) if last - first + 1 == len(self.nets) else self.nets

    def _set(self, rates: NetRates) -> None:
        """Set the rates that differ from those of the last step; optimizers may change their own."""
        layers = {parameter: layer for layer, parameter in self.parameters.items()}
        for group in self.optimizer.param_groups:
            layer = layers[group["params"][0]]
            if rates[layer] != self.rates[layer]:
                group["max_lr" if "max_lr" in group else "lr"] = rates[layer]
        self.rates = rates

    def _of_nets(self, layer: str, tensors: Params) -> torch.Tensor:
        """Return a tensor of the nets of this optimizer, shaped like its parameter."""
        return tensors[layer][self._index].view_as(self.parameters[layer])

    def _is_finite(self) -> bool:
        gradients = (parameter.grad for parameter in self.parameters.values())
        return all(bool(gradient.isfinite().all()) for gradient in gradients if gradient is not None)

    def _closure(self, evaluate: Evaluate, params: Params) -> Callable[[], torch.Tensor]:
        """Return a function that sets the gradients of the single net, and returns its loss."""
        (net,) = self.nets

        def loss() -> torch.Tensor:
            present = {
                layer: parameter.data.view_as(params[layer][:1])
                for layer, parameter in self.parameters.items()
            }
            loss_of_net, gradients = evaluate(present, net)
            for layer, parameter in self.parameters.items():
                parameter.grad = gradients[layer].view_as(parameter)
            return loss_of_net

        return loss


def _nets_alike(nets: Sequence[int], by_net: Sequence[NetRates], active: frozenset[int]) -> list[list[int]]:
    """Return lists of nets that have equal rates and that all move, or all wait."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for net in nets:
        alike.setdefault((net in active, *by_net[net].values()), []).append(net)
    return list(alike.values())


def _rates_by_net(rates: Rates, count: int) -> list[NetRates]:
    """Return the rate of every layer, net by net."""
    if all(isinstance(rate, float) for rate in rates.values()):
        return [{layer: float(rate) for layer, rate in rates.items()}] * count
    by_layer = {
        layer: rate.flatten().tolist() if isinstance(rate, torch.Tensor) else [rate] * count
        for layer, rate in rates.items()
    }
    return [{layer: numbers[net] for layer, numbers in by_layer.items()} for net in range(count)]


def _as_torch_has_it(w: torch.Tensor) -> torch.Tensor:
    """Return a parameter of one net as layers of torch have it: a matrix, or the vector of its biases."""
    if w.dim() == 1:
        return w[None]
    return w[:, 0] if w.shape[-1] == 1 else w
