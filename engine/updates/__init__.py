"""Update rules: how parameters move along a gradient. A rule sees no data, no loss and no graph."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture, Params
from engine.parts import Part, Positive, Verdict
from engine.problems.matrices import Matrix

State = dict[str, Params]
"""What a rule remembers between steps: named copies of the parameters."""

Rates = dict[str, float]
"""The rate η of every parameter: the rule's `lr` times the learner's rate of that layer."""

Rate = Annotated[float, Meta(gt=0, title="rate η", description="multiplies the true gradient")]
Weight = Annotated[Positive | None, Meta(title="start w₀", description="none: the rule's own default")]


class Update(Part, frozen=True):
    """A pure pair: `start` prepares parameters and state, `step` turns a gradient into new ones."""

    def refuses(self, architecture: Architecture) -> str | None:
        """Why this rule cannot train this architecture, in one sentence; None if it can."""
        return None

    def start(self, params: Params) -> tuple[Params, State]:
        """The parameters at k = 0 (rules with a start of their own replace them) and the first state."""
        return params, {}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        """Parameters and state after one step along `gradients` with the given rates."""
        raise NotImplementedError

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        """Whether steps commute with rotations of instances from this family, and why.

        `single` says that every gradient is that of a single example.
        """
        raise NotImplementedError


def only_linear(rule: Update, architecture: Architecture) -> str | None:
    """The refusal of a rule that keeps one positive weight per feature."""
    if architecture.kind == "linear":
        return None
    return (
        f"{rule.kind} keeps its weights positive and starts them itself, so it trains only the linear "
        f"neuron, not {architecture.kind}; take egu-pm or hypentropy there"
    )
