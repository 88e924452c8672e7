"""Measured symmetries of update rules and optimizers: transformations of inputs that change no prediction.

A linear neuron and a tanh net are trained on instances x and on transformed instances T x. On transformed
instances, the first layer starts at W T⁻¹ instead of W, so that the initial predictions are the same. If the
rule has the symmetry, all later predictions are the same, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from engine.core import optimizers
from engine.core.groups import PERMUTATIONS, ROTATIONS, SIGN_FLIPS, UNCHANGED, Group
from engine.core.lazy import torch
from engine.core.parts import BadInput, Verdict
from engine.core.texts import listed
from engine.problems.instances import element
from engine.spec import reading
from engine.spec.experiment import Experiment
from engine.symmetry.certificate import MAGNIFIED, PAIRS, PERTURBATION, Comparison
from engine.symmetry.verdict import verdict
from engine.updates import Update
from engine.updates.torch_optimizer import Torch

if TYPE_CHECKING:
    from torch.optim import Optimizer


GROUPS: dict[str, Group | None] = {
    "rotations": ROTATIONS,
    "permutations": PERMUTATIONS,
    "sign flips": SIGN_FLIPS,
    "scalings": None,
}
"""Groups of transformations of the inputs, by name. A scaling multiplies each input by a separate number."""

ROWS, FEATURES, UNITS, STEPS = 24, 8, 6, 20
"""Sizes of the data and of the hidden layer, and number of steps.

The steps suffice for the state of every rule to have an effect.
"""

NEURON, NET = "linear", {"kind": "dense", "widths": [UNITS], "activation": "tanh"}
"""Architectures that are trained: a linear neuron and a net with one hidden layer."""

LOSSES = "square", "mistake"
"""Losses. The first loss that a rule supports is used. With the mistake loss, labels are ±1."""

LOWER_MAGNIFIED = 4
"""Replacement of MAGNIFIED for rules that compute in less precision than float64.

The perturbation for such rules is as large as all rounding errors of one step. A rule can hardly amplify a
perturbation of this size.
"""

LARGEST_FACTOR = 2.0
"""Largest factor by which a scaling multiplies an input. The smallest factor is its inverse."""


class Symmetry(NamedTuple):
    """Result of a measurement: whether predictions of an update rule are invariant under a group."""

    group: str
    """Name of the group, a key of GROUPS."""

    change: float
    """Largest change of a prediction under the transformations.

    It is divided by the largest difference between a prediction and its initial value.
    """

    by_rounding: float
    """Largest change of a prediction under perturbations of the size of rounding, divided like `change`."""

    precisions: tuple[str, ...]
    """Floating-point types with less precision than float64 in which the rule computes."""

    @property
    def word(self) -> str:
        """Verdict: `invariant`, `not invariant`, or `unstable` if rounding may have caused the change.

        All rules that compute in less precision than float64 show changes by rounding. For them, a change
        that rounding may have caused counts as `invariant`.
        """
        if self.change < UNCHANGED:
            return "invariant"
        if self.change > magnified(self.precisions) * self.by_rounding:
            return "not invariant"
        return "invariant" if self.precisions else "unstable"

    @property
    def sentence(self) -> str:
        verdicts = {
            "invariant": f"invariant under {self.group}",
            "not invariant": f"not invariant under {self.group}",
            "unstable": f"unstable, so that nothing can be said about {self.group}",
        }
        return f"{verdicts[self.word]}: {self.measured}"

    @property
    def measured(self) -> str:
        """Text with the measured numbers from which the verdict follows."""
        change = f"transformed inputs change predictions by {self.change:.1g}"
        by_rounding = f"rounding of inputs by {self.by_rounding:.1g}, relative to the change by training"
        inside = f"; the rule computes in {listed(self.precisions)}" if self.precisions else ""
        return f"{change}, {by_rounding}{inside}"


def magnified(precisions: Sequence[str]) -> float:
    """Return the factor by which a rule may amplify rounding errors.

    A larger change of predictions than this factor times the change by rounding errors disproves invariance.

    Args:
        precisions: floating-point types with less precision than float64 in which the rule computes.
    """
    return LOWER_MAGNIFIED if precisions else MAGNIFIED


def symmetries(
    update: Update,
    groups: Sequence[str] = tuple(GROUPS),
    seed: int = 0,
    going: Callable[[float], object] = lambda done: None,
) -> list[Symmetry]:
    """Measure, for each group, whether transformations of the inputs change what a rule learns.

    A linear neuron and a net are trained in float64 with full batches, for two random elements of every
    group. The random numbers of the rule are the same in all runs. If the rule computes in a lower precision,
    perturbations have the size of rounding in this precision.

    Args:
        going: called repeatedly with the finished share of the work; if it raises, the work ends.

    Raises: BadInput for a rule that cannot train a linear neuron, or that does not change its weights;
    ValueError for an unknown group.
    """
    if unknown := [group for group in groups if group not in GROUPS]:
        raise ValueError(f"there is no group {unknown[0]!r}; the groups are {listed(GROUPS)}")
    models = [_Model(setup) for setup in setups(update, seed)]
    measured = []
    for number, group in enumerate(groups, start=1):
        measured.append(max((model.symmetry(group) for model in models), key=_severity))
        going(number / len(groups))
    return measured


def _severity(measured: Symmetry) -> tuple[int, float]:
    return ("invariant", "unstable", "not invariant").index(measured.word), measured.change


def declared(update: Update) -> list[Verdict]:
    """Return the verdicts that follow from an update rule's structure: for a linear neuron, then for a net.

    If the rule cannot train nets, only the verdict for the neuron is returned. Raises: BadInput.
    """
    return [verdict(setup.learners[0], setup) for setup in setups(update)]


def contradictions(verdicts: Sequence[Verdict], measured: Iterable[Symmetry]) -> list[str]:
    """Return a sentence about each verdict by structure that a measurement contradicts."""
    contradicted = []
    for symmetry in measured:
        group = GROUPS[symmetry.group]
        if group is None:
            continue
        promised = all(group <= model_verdict.group for model_verdict in verdicts)
        if promised and symmetry.word == "not invariant":
            contradicted.append(
                f"by structure, the rule is invariant under {symmetry.group}, but predictions change"
            )
        decided = any(
            model_verdict.invariant is False and not model_verdict.undecided for model_verdict in verdicts
        )
        if group == ROTATIONS and decided and symmetry.word == "invariant":
            fault = f"by structure, the rule is not invariant under {symmetry.group}"
            contradicted.append(f"{fault}, but predictions do not change")
    return contradicted


def setups(update: Update, seed: int = 0) -> list[Experiment]:
    """Return an experiment that trains a neuron by the rule, and one that trains a net, if the rule can.

    Raises: BadInput if the rule cannot train a neuron.
    """
    neuron, refused = None, None
    for loss in LOSSES:
        try:
            neuron = _small_experiment(update, NEURON, loss, seed)
            break
        except BadInput as error:
            refused = refused or error
    if neuron is None:
        assert refused is not None, "it is set for every loss that is refused"
        raise refused
    try:
        return [neuron, _small_experiment(update, NET, neuron.protocol.loss, seed)]
    except BadInput:
        return [neuron]


def _small_experiment(update: Update, architecture: Any, loss: str, seed: int) -> Experiment:
    labels = {"noise": 0.1} if loss == "square" else {"labels": "sign"}
    return reading.parse(
        {
            "problem": {
                "matrix": {"kind": "gaussian", "n": ROWS, "d": FEATURES},
                "target": {"kind": "sparse", "r": 3},
                **labels,
            },
            "protocol": {"kind": "steps", "loss": loss, "steps": STEPS, "records": STEPS},
            "run": {"device": "cpu", "dtype": "float64", "replicas": 1, "seed": seed},
            "learners": [
                {"name": "rule", "architecture": architecture, "update": msgspec.to_builtins(update)}
            ],
        }
    )


class _Model:
    """Model (a linear neuron or a net) that a rule trains on unchanged, transformed and perturbed data.

    The predictions on changed data are compared with the predictions on unchanged data.
    """

    def __init__(self, setup: Experiment) -> None:
        learner = setup.learners[0]
        self._comparison = Comparison(setup, learner, learner, relative_to_movement=True)
        precisions: set[str] = set()
        with lower_precisions(precisions):
            size = self._comparison.size()
        if size == 0:
            raise BadInput("", "the rule does not change the weights of the model")
        self._precisions = tuple(sorted(precisions))
        self._perturbations = self._comparison.perturbations(self._rounding_error)
        self._pairs, self._by_rounding = 0, 0.0

    def symmetry(self, group: str) -> Symmetry:
        change = self._largest_change(group)
        self._measure_rounding(change)
        return Symmetry(group, change, self._by_rounding, self._precisions)

    def _largest_change(self, group: str) -> float:
        """Return the largest change of predictions under two random elements of a group."""
        comparison, stream = self._comparison, self._comparison.streams("rotation")
        if (orthogonal := GROUPS[group]) is None:
            exponents = [2 * stream.uniform(FEATURES)[0] - 1 for _ in range(2)]
            return comparison.under_scalings([LARGEST_FACTOR**exponent for exponent in exponents])
        return comparison.under([element(orthogonal, stream, FEATURES, sign) for sign in (1, -1)])

    def _measure_rounding(self, change: float) -> None:
        """Measure how much rounding errors of the instances change predictions.

        Up to PAIRS pairs of random perturbations are tried until rounding errors may explain `change`, a
        change under transformations.
        """
        while self._pairs == 0 or (
            self._pairs < PAIRS and change > max(UNCHANGED, magnified(self._precisions) * self._by_rounding)
        ):
            by_pair = self._comparison.on_changed(islice(self._perturbations, 2))
            self._by_rounding = max(self._by_rounding, by_pair)
            self._pairs += 1

    @property
    def _rounding_error(self) -> float:
        """Size of perturbations: a multiple of the machine epsilon of the lowest precision in the rule."""
        epsilons = [torch.finfo(getattr(torch, precision)).eps for precision in self._precisions]
        return 4 * max(epsilons) if epsilons else float(PERTURBATION)


def lower_precisions(seen: set[str]) -> Any:
    """Return a context that adds the names of floating-point types below float64 to the set `seen`.

    The types are those of all tensors that operations return inside the context. Tensors with a single
    number, such as counts of steps, are ignored.
    """
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Precisions(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, operation: Any, types: Any, arguments: Iterable[Any] = (), more: Any = None
        ) -> Any:
            output = operation(*arguments, **(more or {}))
            tensors = (leaf for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor))
            arrays = (tensor for tensor in tensors if tensor.is_floating_point() and tensor.numel() > 1)
            seen.update(str(array.dtype).removeprefix("torch.") for array in arrays)
            seen.discard("float64")
            return output

    return Precisions()


MakeOptimizer = Callable[..., "Optimizer"]
"""Function or class that takes the parameters of a model and returns an optimizer for them.

If it has an argument called `model` or `module`, it also receives the model.
"""


def symmetry(make_optimizer: MakeOptimizer, group: str = "rotations", seed: int = 0) -> Symmetry:
    """Measure by `symmetries` whether transformations of the inputs change what an optimizer learns.

    Raises: ValueError for an unknown group, and for an optimizer that fails or does not change the weights.
    """
    with optimizers.registering(_class_of_made(make_optimizer)) as name:
        try:
            (measured,) = symmetries(Torch(name=name), [group], seed)
        except BadInput as error:
            raise ValueError(str(error)) from error
    return measured


def assert_invariant(make_optimizer: MakeOptimizer, group: str = "rotations", seed: int = 0) -> None:
    """Assert that transformations of the inputs do not change what an optimizer learns.

    `symmetry` measures the change. The group is rotations, permutations, sign flips or scalings. For example,
    `assert_invariant(lambda parameters: torch.optim.SGD(parameters, lr=0.1))` passes.

    Raises: AssertionError with the measured change. An optimizer that amplifies rounding too much to be
    judged also raises this error. See `symmetry` for ValueError.
    """
    measured = symmetry(make_optimizer, group, seed)
    if measured.word != "invariant":
        raise AssertionError(f"the optimizer is {measured.sentence}")


def _class_of_made(make_optimizer: MakeOptimizer) -> type[Optimizer]:
    """Return an optimizer class. Its objects are copies of the optimizers that `make_optimizer` returns.

    The constructor ignores `lr`, so that the learning rates are those of `make_optimizer`.
    """
    usual = type(_create_optimizer(make_optimizer, optimizers.small_model()))

    class Made(usual):  # type: ignore[misc, valid-type]
        def __init__(self, params: object, model: Any, lr: float) -> None:
            self.__dict__.update(vars(_create_optimizer(make_optimizer, model)))

    # With this name, the tables of optimizers in `engine.core.optimizers` apply to the class, too.
    Made.__module__, Made.__name__ = usual.__module__, usual.__name__
    return Made


def _create_optimizer(make_optimizer: MakeOptimizer, model: Any) -> Optimizer:
    if isinstance(make_optimizer, type):
        return optimizers.make_optimizer(make_optimizer, model.parameters(), model)
    parameters = inspect.signature(make_optimizer).parameters
    wants = [name for name in ("model", "module") if name in parameters]
    return make_optimizer(model.parameters(), **dict.fromkeys(wants, model))
