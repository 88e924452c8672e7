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
from engine.core.params import Params
from engine.core.parts import SELDOM, BadInput, Verdict
from engine.core.texts import reason_of
from engine.core.user_errors import located
from engine.problems.matrices import Matrix
from engine.updates import Evaluate, Rate, Rates, State, Update, UpdateStructure

if TYPE_CHECKING:
    from torch.optim import Optimizer

USUAL = "AdamW"
"""Default optimizer. Every version of torch has it, so it is valid without importing torch."""

ELEMENT_WISE = frozenset(
    (
        *("torch.ASGD", "torch.Adadelta", "torch.Adagrad", "torch.Adam", "torch.AdamW", "torch.Adamax"),
        *("torch.NAdam", "torch.RAdam", "torch.RMSprop", "torch.Rprop", "torch.SGD"),
        *(
            f"pytorch_optimizer.{name}"
            for name in (
                *("ADOPT", "AccSGD", "AdEMAMix", "AdaBelief", "AdaBound", "AdaDelta", "AdaMax", "AdaMod"),
                *("AdaPNM", "AdaSmooth", "AdamC", "AdamG", "Ano", "BCOS", "DiffGrad", "DualAdam", "EXAdam"),
                *("FOCUS", "FTRL", "Grams", "GrokFastAdamW", "Kate", "LaProp", "Lion", "MADGRAD", "MSVAG"),
                *("PAdam", "PID", "PNM", "QHAdam", "QHM", "RAdam", "SGDW", "SRMM", "ScheduleFreeAdamW"),
                *("ScheduleFreeRAdam", "ScheduleFreeSGD", "SignSGD", "SimplifiedAdEMAMix", "Tiger", "VSGD"),
                "Yogi",
            )
        ),
    )
)
"""Optimizers whose step for an entry depends only on the gradients of that entry.

So a single optimizer object can move all nets that have equal rates.
"""

BY_COORDINATE = frozenset(
    f"torch.{name}" for name in ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RMSprop")
)
"""Optimizers that, for all options, divide each entry of a step by a size of that entry's gradients."""

USUAL_COPIES = 4
"""Copies of a net's parameters in most optimizers: the net, its gradient, and two moments."""

NetRates = Mapping[str, float]
"""Rates of the layers of one net, by layer."""

Option = bool | int | float | str | tuple[float, ...]


class Torch(Update, frozen=True, tag="torch"):
    """An optimizer of torch, selected by the name of its class, such as SGD, AdamW or Muon.

    `options` are the keyword arguments of the class, except for the rate. The rate is the field `lr`, whose
    default replaces that of the class. The optimizer receives parameters in the shapes of torch layers:
    weights h × d and biases h, for h outputs and d inputs. Nets of different replicas or rates train side by
    side. If the step of an entry depends only on the gradients of that entry, nets with equal rates share one
    optimizer. Otherwise, each net has a separate optimizer, and these optimizers all draw the same random
    numbers. Optimizers that move only matrices, such as Muon of torch, do not change biases. Source: the
    documentation of torch.optim, and of pytorch-optimizer.
    """

    name: Annotated[
        str, Meta(min_length=1, max_length=100, title="name", description="name of the class")
    ] = USUAL
    lr: Rate = 0.0078125
    options: Annotated[
        dict[str, Option],
        Meta(
            max_length=64,
            title="options",
            description="keyword arguments of the class, such as betas = [0.9, 0.99]",
            extra=SELDOM,
        ),
    ] = msgspec.field(default_factory=dict)
    library: Annotated[
        Literal["torch", "pytorch-optimizer"],
        Meta(title="library", description="package that contains the class", extra=SELDOM),
    ] = "torch"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name != USUAL or self.options or self.library != "torch":
            optimizers.check_options(self._optimizer_class, self.options)

    @property
    def _optimizer_class(self) -> type[Optimizer]:
        return optimizers.optimizer_class(self.name, self.library)

    @property
    def _optimizer_entry(self) -> str:
        return optimizers.entry(self.name, self.library)

    @property
    def _is_element_wise(self) -> bool:
        return self._optimizer_entry in ELEMENT_WISE

    def structure(self) -> UpdateStructure:
        evaluates = not self._is_element_wise and optimizers.needs_closure(self._optimizer_class)
        # Many optimizers use signs or ranks, and no attribute tells which.
        return (
            super()
            .structure()
            ._replace(
                continuous=False,
                evaluates=evaluates,
                net_by_net=not self._is_element_wise,
                copies=0 if self._is_element_wise else self._copies_of_weights,
            )
        )

    @property
    def _copies_of_weights(self) -> int:
        history = optimizers.arguments(self._optimizer_class).get("history_size")
        length = self.options.get("history_size", 0 if history is None else history.default)
        # LBFGS keeps a step and a change of the gradient for each entry of its history.
        return USUAL_COPIES + (2 * length if isinstance(length, int) else 0)

    def evaluating(self, evaluate: Evaluate, state: State) -> State:
        return Optimizers(_optimizers_in(state).groups, evaluate, _optimizers_in(state).active)

    def pause(self, active: torch.Tensor, state: State) -> State:
        optimizers_so_far = _optimizers_in(state)
        nets = frozenset(active.nonzero().flatten().tolist())
        return Optimizers(optimizers_so_far.groups, optimizers_so_far.evaluate, nets)

    def choose(self, active: torch.Tensor, new: State, old: State) -> State:
        return new

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        by_net = _rates_by_net(rates, len(next(iter(params.values()))))
        before = _optimizers_in(state)
        active = frozenset(range(len(by_net))) if before.active is None else before.active
        moved = {layer: w.clone() for layer, w in params.items()}
        groups = self._divide_into_groups(params, by_net, before.groups, active)
        moving = [group for group in groups if group.nets[0] in active]
        _copy_to_optimizers(moving, params, gradients)
        is_finite = _has_finite_gradients(gradients)
        with optimizers.random_numbers(next(iter(params.values())).device) as seed:
            for group in moving:
                seed(group.steps)
                if len(group.nets) > 1 or is_finite[group.nets[0]]:
                    self._step_group(group, params, by_net[group.nets[0]], before.evaluate)
                else:  # many optimizers decompose matrices, which fails without finite entries
                    group.stop()
        _copy_from_optimizers(moving, moved)
        return moved, Optimizers(groups)

    def _step_group(
        self, group: OptimizerGroup, params: Params, rates: NetRates, evaluate: Evaluate | None
    ) -> None:
        """Make a step of the group's optimizer. Raises: BadInput if the optimizer fails."""
        try:
            group.step(params, rates, evaluate)
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # optimizers raise errors of any kind
            is_of_user = self.name in optimizers.registered
            reason = located(error, self._optimizer_class.step) if is_of_user else reason_of(error)
            raise BadInput(f"{self.library}: {self.name}", f"its step fails: {reason}") from error

    def _divide_into_groups(
        self,
        params: Params,
        by_net: Sequence[NetRates],
        groups: Sequence[OptimizerGroup],
        active: frozenset[int],
    ) -> list[OptimizerGroup]:
        """Divide nets into groups, so that the nets of a group have equal rates and move together.

        These are `groups`, split where nets differ, and new groups for active nets that have not moved yet.
        In each group, either all nets are `active` or none is.
        """
        divided = []
        for group in groups:
            parts = _nets_of_equal_rates(group.nets, by_net, active)
            divided += [group] if len(parts) == 1 else [group.of(part) for part in parts]
        moved = {net for group in groups for net in group.nets}
        new = [net for net in range(len(by_net)) if net in active and net not in moved]
        together = (
            _nets_of_equal_rates(new, by_net, active) if self._is_element_wise else [[net] for net in new]
        )
        return divided + [self._new_group(params, nets, by_net[nets[0]]) for nets in together]

    def _new_group(self, params: Params, nets: list[int], rates: NetRates) -> OptimizerGroup:
        nn: Any = torch.nn  # mypy reads no stubs of modules
        model = nn.Module()
        for layer, w in params.items():
            start = w[nets] if self._is_element_wise else _in_torch_shape(w[nets[0]])
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
            self._optimizer_class,
            by_rate if len(by_rate) > 1 else list(parameters.values()),
            model,
            next(iter(layers_by_rate)),
            self.options,
        )
        return OptimizerGroup(nets, parameters, optimizer, rates)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        if self._optimizer_entry == "torch.SGD":
            return Verdict(True, "steps are sums of gradients and of weights, with one rate for all entries")
        if self._optimizer_entry in BY_COORDINATE and not (single and matrix.structure().entries_are_signs):
            reason = "every weight has a separate rate, so steps depend on the coordinate axes"
            return Verdict(False, reason, SIGNED_PERMUTATIONS)
        reason = f"it is not known whether steps of {self.name} rotate with the instances"
        return Verdict(False, reason, undecided=True)


class Optimizers(dict[str, Params]):
    """State of an update rule that calls torch optimizers. It contains the optimizers, not named tensors.

    A step changes the optimizers in place.

    Args:
        groups: optimizers with their nets. Each net that has moved is in one group.
        evaluate: function that computes losses, for optimizers that need them.
        active: indices of the nets that the next step moves, or None for all nets.
    """

    def __init__(
        self,
        groups: Sequence[OptimizerGroup] = (),
        evaluate: Evaluate | None = None,
        active: frozenset[int] | None = None,
    ) -> None:
        super().__init__()
        self.groups, self.evaluate, self.active = groups, evaluate, active


def _optimizers_in(state: State) -> Optimizers:
    return state if isinstance(state, Optimizers) else Optimizers()


@dataclass
class OptimizerGroup:
    """An optimizer, and the nets that it moves: one net, or several nets with equal learning rates."""

    nets: list[int]
    """Indices of the nets in the batch, in ascending order."""

    parameters: dict[str, torch.nn.Parameter]
    """Parameters by layer.

    For element-wise optimizers, they have the shape [nets, …]. For other optimizers, they have the shapes of
    torch layers.
    """

    optimizer: Optimizer
    rates: NetRates
    """Rates of the last step."""

    steps: int = 0

    def of(self, nets: list[int]) -> OptimizerGroup:
        """Return a copy of the group for some of its nets. Only element-wise optimizers have several nets."""
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
        return OptimizerGroup(nets, parameters, optimizer, self.rates, self.steps)

    def step(self, params: Params, rates: NetRates, evaluate: Evaluate | None) -> None:
        """Make a step. `evaluate` receives tensors with the shapes of `params`."""
        self._set_changed_rates(rates)
        self.optimizer.step(*([] if evaluate is None else [self._loss_closure(evaluate, params)]))
        self.steps += 1

    def stop(self) -> None:
        """Set the parameters of the group to NaN, because a gradient is not finite."""
        for parameter in self.parameters.values():
            parameter.data.fill_(torch.nan)
        self.steps += 1

    @property
    def index(self) -> slice | list[int]:
        """Indices of the nets in the batch; a slice if possible, because slicing copies nothing."""
        first, last = self.nets[0], self.nets[-1]
        return slice(first, last + 1) if last - first + 1 == len(self.nets) else self.nets

    def _set_changed_rates(self, rates: NetRates) -> None:
        """Pass those rates to the optimizer that differ from the rates of the last step.

        Equal rates are not passed again, because the optimizer may have adapted them itself.
        """
        layers = {parameter: layer for layer, parameter in self.parameters.items()}
        for group in self.optimizer.param_groups:
            layer = layers[group["params"][0]]
            if rates[layer] != self.rates[layer]:
                group["max_lr" if "max_lr" in group else "lr"] = rates[layer]
        self.rates = rates

    def _loss_closure(self, evaluate: Evaluate, params: Params) -> Callable[[], torch.Tensor]:
        """Return a function that sets the gradients of the group's only net, and returns its loss."""
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


def _copy_to_optimizers(groups: Sequence[OptimizerGroup], params: Params, gradients: Params) -> None:
    for layer, w in params.items():
        parameters = [group.parameters[layer] for group in groups]
        _copy_at_once(_parts_by_group(groups, layer, w), [parameter.data for parameter in parameters])
        own_gradients = _parts_by_group(groups, layer, gradients[layer].clone())
        for parameter, gradient in zip(parameters, own_gradients, strict=True):
            parameter.grad = gradient


def _copy_from_optimizers(groups: Sequence[OptimizerGroup], params: Params) -> None:
    single = [group for group in groups if len(group.nets) == 1]
    for layer, w in params.items():
        _copy_at_once([group.parameters[layer].data for group in single], _parts_by_group(single, layer, w))
        for group in groups:
            if len(group.nets) > 1:
                w[group.index] = group.parameters[layer].data.view_as(w[group.index])


def _copy_at_once(sources: list[torch.Tensor], destinations: list[torch.Tensor]) -> None:
    """Copy all tensors at once. For small nets, separate copies would take longer than the steps."""
    if sources:
        torch._foreach_copy_(destinations, sources)


def _parts_by_group(groups: Sequence[OptimizerGroup], layer: str, tensor: torch.Tensor) -> list[torch.Tensor]:
    """Split a tensor into one part for each group, in the shape of the group's parameters.

    The part of a single net is a view of the tensor.
    """
    by_net = tensor.unbind()
    return [
        (by_net[group.nets[0]] if len(group.nets) == 1 else tensor[group.index]).view_as(
            group.parameters[layer]
        )
        for group in groups
    ]


def _has_finite_gradients(gradients: Params) -> list[bool]:
    """Return, for each net, whether all of its gradients are finite."""
    by_layer = [gradient.isfinite().reshape(len(gradient), -1).all(1) for gradient in gradients.values()]
    finite: list[bool] = torch.stack(by_layer).all(0).cpu().tolist()
    return finite


def _nets_of_equal_rates(
    nets: Sequence[int], by_net: Sequence[NetRates], active: frozenset[int]
) -> list[list[int]]:
    """Divide nets into lists with equal rates. Each list is either all active or all inactive."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for net in nets:
        alike.setdefault((net in active, *by_net[net].values()), []).append(net)
    return list(alike.values())


def _rates_by_net(rates: Rates, count: int) -> list[NetRates]:
    if all(isinstance(rate, float) for rate in rates.values()):
        return [{layer: float(rate) for layer, rate in rates.items()}] * count
    by_layer = {
        layer: rate.flatten().tolist() if isinstance(rate, torch.Tensor) else [rate] * count
        for layer, rate in rates.items()
    }
    return [{layer: numbers[net] for layer, numbers in by_layer.items()} for net in range(count)]


def _in_torch_shape(w: torch.Tensor) -> torch.Tensor:
    """Reshape a parameter of one net to the shape of torch layers: a matrix, or a vector of biases."""
    if w.dim() == 1:
        return w[None]
    return w[:, 0] if w.shape[-1] == 1 else w
