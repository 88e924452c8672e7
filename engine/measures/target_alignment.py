"""The alignment of a target under a group of transformations of the instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.formulas import alignment
from engine.measures import Measure, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem

FORMULAS = {
    "sign-flips": alignment.sign_flips,
    "permutations": alignment.permutations,
    "signed-permutations": alignment.signed_permutations,
}


class TargetAlignment(Measure, frozen=True, tag="target-alignment"):
    """C = sup_h E_g(E_x f(gx) h(x))²: how well a single function h correlates with the labels f(gx).

    The labels f are scaled so that E f² = 1, and g is a random element of a group of transformations of the
    instances. The instances are the cube {±1}ⁿ, unless the group is the rotations. The supremum is over all
    functions h with E h² = 1.

    For sign flips, C = max_S f̂(S)² with f̂(S) = E_x f(x) ∏_{i∈S} x_i. For permutations, C is computed from
    all different functions f(gx). If there are more than 2048 different functions, C has no value. For sign
    flips and permutations together, C = max_k W_k/(n choose k), where W_k is the sum of f̂(S)² over all S of
    size k. On the sphere in d ≥ 3 dimensions, the group is the rotations, and the labels are xᵀw* or their
    signs. Then C = max_k W_k/dim H_k, where W_k is E f_k² for the component f_k of f in the spherical
    harmonics H_k of degree k.

    C depends on the problem alone, and is the same for every learner at any time. Suppose that the group does
    not change the distribution of a net's start. Let ∇ŷ be the gradient of the net's predictions at the
    start. Then E‖E_x f∇ŷ‖² ≤ C·E E_x‖∇ŷ‖², where E is the mean over starts. Source: Abbe, Boix-Adserà 2022;
    theory/symmetry#alignment.
    """

    label: ClassVar[str] = "alignment of the target"

    group: Annotated[
        Literal["sign-flips", "permutations", "signed-permutations", "rotations"],
        Meta(title="group", description="group of transformations of the instances"),
    ] = "signed-permutations"

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if self.group == "rotations":
            return _unmet_condition(problem)
        if not problem.matrix.structure().is_cube or problem.target.columns(problem.matrix) > 1:
            return "the rows are all vectors of ±1, with a single target"
        return None

    def value(self, probe: Probe) -> torch.Tensor:
        data = probe.data
        if self.group == "rotations":
            profile = np.sign if data.values == "signs" else np.asarray
            same = alignment.rotations(profile, data.instances.d)
            return torch.full((data.replicas, data.variants), same, dtype=torch.float64)
        rows = data.instances.rows.double().cpu().numpy()
        labels = data.labels.view(data.replicas, data.variants, -1)[:, 0].double().cpu().numpy()
        alignments = [FORMULAS[self.group](*pair) for pair in zip(rows, labels, strict=True)]
        return torch.tensor(alignments, dtype=torch.float64)[:, None].expand(-1, data.variants)


def _unmet_condition(problem: Problem) -> str | None:
    """Return the condition of the formula for rotations that the problem violates, or None."""
    target, matrix = problem.target, problem.matrix
    is_linear = target.structure(matrix).has_w_star and target.columns(matrix) == 1 and problem.noise == 0
    high_sphere = matrix.structure().on_sphere and matrix.shape()[1] >= 3
    if high_sphere and is_linear and problem.labels != "bernoulli":
        return None
    return "for rotations, labels are xᵀw* or their signs, on a sphere in d ≥ 3 dimensions"
