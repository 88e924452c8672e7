"""A function of one variable as the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.expressions import LONGEST, BadExpression, tabulated
from engine.core.parts import BadField, BadInput
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows
from engine.problems.targets import Target


class Function(Target, frozen=True, tag="function"):
    """The label is a function of one variable, y = f(x), for instances with a single entry x.

    f is an expression of x, such as sin(2*x) or 1/(1 + x^2). The expression may contain + − * / ^,
    parentheses, sin, cos, exp, abs, log, log2 and sqrt. Source: theory/kernels-and-entropy#kernels,
    theory/regions-and-random-matrices#regions.
    """

    f: Annotated[
        str, Meta(max_length=LONGEST, title="f(x)", description="expression in x, such as sin(2*x)")
    ] = "sin(2*x)"

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            tabulated(self.f, np.empty(0))
        except BadExpression as error:
            raise BadField(
                "f", f"{error}; the function must be an expression in x, such as sin(2*x)"
            ) from error

    def check(self, matrix: Matrix) -> None:
        of_one_entry(matrix)

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        try:
            return tabulated(self.f, features().astype(np.float64)).swapaxes(1, 2)
        except BadExpression as error:
            raise BadInput("problem.target.f", f"{error}; take another function or interval") from error


def of_one_entry(matrix: Matrix) -> None:
    """Check that every instance has a single entry, as a function of one variable needs. Raises: BadInput."""
    if (count := matrix.feature_count()) != 1:
        raise BadInput(
            "problem.target.kind",
            f"a function of x needs instances with a single entry, but those of {matrix.kind} have {count}; "
            'set [problem.matrix] kind = "interval"',
        )
