"""How aligned a target is under a group of transformations of the bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

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
    """C = sup_{E h² = 1} E_g(E_x f(gx) h(x))²: how well one function does on average over all images of f.

    f are the labels on the cube {±1}ⁿ, scaled to E f² = 1, g is a random element of the group: sign flips,
    C = max_S f̂(S)²; permutations, by enumerating the images, none where these are more than 2048; or both,
    C = max_k W_k/(n choose k). It is of the problem alone, the same for every learner at any time: what a
    learner without preferences under the group can see of f in noisy gradients. Source: Abbe,
    Boix-Adserà 2022; theory-symmetry.md §20.
    """

    label: ClassVar[str] = "alignment of the target"

    group: Annotated[
        Literal["sign-flips", "permutations", "signed-permutations"],
        Meta(title="group", description="of the transformations of the bits"),
    ] = "signed-permutations"

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if not problem.matrix.is_cube or problem.target.columns(problem.matrix) > 1:
            return "the rows are all vectors of ±1, with a single target"
        return None

    def value(self, probe: Probe) -> torch.Tensor:
        data = probe.data
        rows = data.instances.rows.double().cpu().numpy()
        labels = data.labels.view(data.replicas, data.variants, -1)[:, 0].double().cpu().numpy()
        found = [FORMULAS[self.group](*pair) for pair in zip(rows, labels, strict=True)]
        return torch.tensor(found, dtype=torch.float64)[:, None].expand(-1, data.variants)
