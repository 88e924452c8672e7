"""A lower bound on the loss for outer products of two factors.

The bound applies to learners that are invariant under rotations of each factor.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.groups import TRIVIAL, Group, rotations
from engine.core.parts import Finding, Verdict
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import (
    At,
    ByVerdict,
    Floats,
    LineStructure,
    about_one_target,
    bound_by_turning,
    loss_constant,
    rows_in_order,
    shares_layers,
    shown_once,
    times_constant,
)


class OfFactors(ByVerdict, frozen=True):
    """Base class of theory lines for instances x¹ ⊗ … ⊗ xʳ.

    The lines apply to learners that are invariant under rotations of single factors. The rows of each factor
    are orthogonal. So a rotation of factor l can turn its rows into √d_l e_i, with unit vectors e_i, and
    predictions keep their distribution. Therefore, the random signs of the rows influence predictions only
    through the labels. A label is the product of one fair random sign per factor.
    """

    def structure(self) -> LineStructure:
        return LineStructure(needs_k_rows=False)

    def group_in(self, experiment: Setup) -> Group | None:
        structure = experiment.problem.matrix.structure()
        return TRIVIAL if structure.is_turned else rotations(*structure.sign_factors)

    def holds(self, experiment: Setup) -> Finding:
        problem = experiment.problem
        if repeated := shown_once(experiment):
            return repeated
        if not problem.matrix.structure().sign_factors:
            requirement = "products of Hadamard rows with random signs (outer with row_signs on)"
            return Finding(False, f"requires {requirement}, and the matrix is {problem.matrix.kind}")
        if not problem.labels_flip or problem.label_values != "signs":
            return Finding(
                False, "requires labels ±1 that change sign if their rows do, unlike the labels here"
            )
        return Finding(True, "labels are products of fair signs, one sign per factor of a row")

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        if shares_layers(learner):
            return Finding(False, about_one_target(learner))
        structure = experiment.problem.matrix.structure()
        group = rotations(*structure.sign_factors)
        if group <= judged.group:
            return Finding(True, f"{group.words} changes nothing for {learner.name}: {judged.reason}")
        if structure.is_turned:
            return bound_by_turning(learner, f"is not invariant under {group.words}")
        return Finding(False, f"{group.words} may change what {learner.name} learns: {judged.reason}")


class Percolation(OfFactors, frozen=True, tag="percolation"):
    """c(1 − Σ_i r_i q_i/(d d′)): c times the share of row–column pairs that the pairs seen do not connect.

    One factor has d rows x, and the other has d′ rows z, which are called columns. An instance x zᵀ is a pair
    of a row and a column. The pairs seen are the edges of a bipartite graph. The sum is over the connected
    components i of this graph, with r_i rows and q_i columns.

    The bound holds in expectation over the signs of the rows, for any loss. The constant c is the least mean
    loss on a label that is +1 or −1 with probability ½ each. For square loss, c = 1. The order of the pairs
    must be independent of the signs of the rows and of the learner's random choices. The bound is computed
    exactly for the pairs seen. In random order, the bound falls once k exceeds √(d d′). The graph then has a
    large connected component, and the labels seen determine the labels of all pairs in this component.
    `path-rule` attains the bound for square loss. Király, Theran and Tomioka (2012) proved that connectivity
    decides whether a matrix of rank one can be completed. The bound for all learners that are invariant under
    rotations of single factors is derived here; no earlier statement is known to us. Source:
    theory/hadamard#factors.

    Proof: the label of row u and column v is σ_u τ_v, with independent fair signs σ_u and τ_v. These signs
    are fair because the rows and the columns have random signs. Suppose that row u and column v are not
    connected. If all σ and τ in the component of u are flipped, no label seen changes, but y_uv does. So,
    given everything seen, y_uv is ±1 with probability ½ each, and costs at least c.
    """

    title: ClassVar[str] = "percolation bound"
    formula: ClassVar[str] = "c(1 − Σ_i r_i q_i/(d d′)), graph components of size r_i + q_i"
    source: ClassVar[str] = "derived here, theory/hadamard#factors"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="lower", per_replica=True)

    def formula_in(self, experiment: Setup) -> str:
        return times_constant("(1 − Σ_i r_i q_i/(d d′))", experiment) + ", graph components of size r_i + q_i"

    def holds(self, experiment: Setup) -> Finding:
        if not (finding := super().holds(experiment)).holds:
            return finding
        factors = len(experiment.problem.matrix.structure().sign_factors)
        if factors != 2:
            return Finding(
                False,
                f"requires products of two factors, and there are {factors}; use `ladder` instead",
            )
        return rows_in_order(experiment) or finding

    def value(self, at: At) -> Floats:
        rows, columns = at.experiment.problem.matrix.structure().sign_factors
        tuples = at.drawn.data.tuples
        assert tuples is not None, "matrices with factors have them"
        shares = np.stack([unconnected(pairs[: int(at.k.max())], rows, columns) for pairs in tuples])
        return loss_constant(at.experiment) * shares[:, at.k.astype(int)]


def unconnected(pairs: np.ndarray, rows: int, columns: int) -> Floats:
    """Return the share of row-column pairs that are unconnected after the first k edges, for k = 0 … K.

    Rows and columns are the vertices of a graph, and `pairs` [K, 2] are its edges. The share is relative to
    all pairs. A row and a column are connected if a path of edges joins them. Components are counted by
    union–find.
    """
    parent = list(range(rows + columns))
    sizes = [(1, 0)] * rows + [(0, 1)] * columns
    connected, shares = 0, [1.0]

    def root(vertex: int) -> int:
        while parent[vertex] != vertex:
            parent[vertex] = parent[parent[vertex]]
            vertex = parent[vertex]
        return vertex

    for row, column in pairs.tolist():
        row_root, column_root = root(row), root(rows + column)
        if row_root != column_root:
            (r, q), (s, p) = sizes[row_root], sizes[column_root]
            connected += r * p + s * q
            parent[column_root], sizes[row_root] = row_root, (r + s, q + p)
        shares.append(1 - connected / (rows * columns))
    return np.array(shares)
