"""A lower bound on the loss, for instances that are products of several factors.

The bound is computed from the span over F₂ of the products that a learner has seen.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.formulas.parities import SignProducts
from engine.spec.experiment import Setup
from engine.theory import At, Floats, LineStructure, loss_constant, rows_in_order, times_constant
from engine.theory.percolation import OfFactors


class Ladder(OfFactors, frozen=True, tag="ladder"):
    """c × the share of instances outside the F₂-span of those seen: lower bound on the loss for products.

    Instances are products x¹ ⊗ … ⊗ xʳ. A tuple names one row of each factor, and the instance is the product
    of these rows. The tuple's indicator vector has one entry for each row of each factor: 1 for the rows of
    the tuple, and 0 for all others. The F₂-span contains all sums, modulo 2, of the indicator vectors seen.

    The learner must be invariant under rotations of single factors. For two factors, the bound equals
    `percolation`. A label is the product of one random sign per factor. Given the labels seen, the label of a
    tuple outside the span is ±1 with probability ½ each. So predicting this label costs at least c on
    average, the least mean loss on a fair coin. The bound is 0 once the indicator vectors seen have rank
    Σ(d_l − 1) + 1, for factors with d_l rows. With one factor, the bound is 1 − k/d (WKA21 Thm 3). If all r
    factors have 2 rows, an instance is equivalent to r bits. With more factors, the group of rotations is
    smaller, and the bound is 0 after fewer examples. `path-rule` attains the bound for square loss. Derived
    here; no earlier statement is known to us. Source: theory/hadamard#factors.
    """

    title: ClassVar[str] = "F₂-span bound"
    formula: ClassVar[str] = "c × the share of instances outside the F₂-span of those seen"
    source: ClassVar[str] = "derived here, theory/hadamard#factors"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="lower", per_replica=True)

    def formula_in(self, experiment: Setup) -> str:
        constant = loss_constant(experiment)
        if len(experiment.problem.matrix.structure().sign_factors) == 1:
            return times_constant("(1 − k/d)", experiment)
        return (
            self.formula.removeprefix("c × ")
            if constant == 1
            else self.formula.replace("c", f"{constant:.3g}", 1)
        )

    def holds(self, experiment: Setup) -> Finding:
        if not (finding := super().holds(experiment)).holds:
            return finding
        if len(experiment.problem.matrix.structure().sign_factors) == 2:
            return Finding(False, "for products of two factors, percolation is the same bound")
        return rows_in_order(experiment) or finding

    def value(self, at: At) -> Floats:
        tuples, factors = at.drawn.data.tuples, at.experiment.problem.matrix.structure().sign_factors
        assert tuples is not None, "matrices with factors have them"
        if len(factors) == 1:
            return loss_constant(at.experiment) * (1 - at.k / factors[0])[None].repeat(len(tuples), 0)
        k = at.k.astype(int)
        shares = np.stack([outside(seen[: k.max()], factors, set(k.tolist())) for seen in tuples])
        return loss_constant(at.experiment) * shares[:, k]


def outside(tuples: np.ndarray, factors: tuple[int, ...], wanted: set[int]) -> Floats:
    """Return the share of all possible tuples outside the span of the first k `tuples`, for k = 0 … K.

    An instance x¹ ⊗ … ⊗ xʳ is a product of rows of r matrices. The instance's tuple contains the index of the
    row from each matrix. The span of tuples is the F₂-span of their indicator vectors (see `Ladder`). The
    array `tuples` is [K, r], for r factors. Only the entries with k in `wanted` are computed. All other
    entries are NaN.
    """
    products, nothing = SignProducts(factors), np.zeros(1, bool)
    shares = np.full(len(tuples) + 1, np.nan)
    rank, inside = -1, 0.0
    for k in range(len(tuples) + 1):
        if k in wanted:
            if products.rank != rank:
                rank, inside = products.rank, products.share()
            shares[k] = 1 - inside
        if k < len(tuples):
            products.see(tuples[k], nothing)
    return shares
