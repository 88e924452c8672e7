"""The least error of any learner on a random parity after k examples."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.formulas.parities import unknown
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, knows_unseen_labels


class ParityUnknown(Line, frozen=True, tag="parity-unknown"):
    """½(1 − E 2^(rank − n)): the least error of any learner on a random parity.

    The rank is that of k random vectors of n bits, over F₂. The target is the parity of a set of bits, drawn
    from all sets, and instances are independent random signs. If a new instance is an entrywise product of
    instances seen (a sum over F₂), the labels seen determine the label of the new instance. Otherwise, given
    the examples, this label is a fair coin. So the line is a lower bound for every learner, in expectation
    over instances, target and the learner's random choices. Elimination over F₂ attains the bound. Derived
    for this project. Source: theory/parities-and-noise#one-example-or-a-mean.
    """

    title: ClassVar[str] = "least error of any learner"
    measure: ClassVar[str] = "test-error"
    formula: ClassVar[str] = "½(1 − E 2^(rank − n)), rank over F₂ of k random vectors"
    source: ClassVar[str] = "derived for this project"

    def structure(self) -> LineStructure:
        return LineStructure(direction="lower", needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        problem, matrix = experiment.problem, experiment.problem.matrix
        if not problem.target_structure.is_any_parity:
            other = problem.target.kind
            return Finding(
                False, f"requires a target drawn from the parities of all sets of bits, not {other}"
            )
        if problem.label_values != "signs":
            return Finding(False, "requires labels ±1, and here noise is added to them")
        if not matrix.structure().independent_signs:
            return Finding(False, f"requires independent random signs, and the matrix is {matrix.kind}")
        return Finding(
            True,
            "the label of a new instance is a fair coin, unless the instance is a product of others seen",
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return knows_unseen_labels(learner, experiment) or Finding(
            True, f"{learner.name} learns from the examples alone, as every learner does"
        )

    def value(self, at: At) -> Floats:
        d = at.experiment.d
        return unknown(d, at.k.astype(int)) / 2
