"""Theory lines on half-spaces: the error of learners of signs of a direction, along the examples."""

import numpy as np
import pytest
from building import experiment

from engine.core import catalogue
from engine.formulas import teacher_student
from engine.theory import At, RunData

KINDS = {
    "ri-bayes": teacher_student.bayes,
    "hebb-limit": teacher_student.hebb,
    "lls-limit": teacher_student.least_squares,
    "ridge-limit": teacher_student.ridge,
    "max-margin-limit": teacher_student.max_margin,
}


@pytest.mark.parametrize("kind", KINDS)
def test_half_space_lines_equal_their_formulas_at_k_over_d_minus_1(kind):
    described = experiment(d=9, matrix={"kind": "gaussian", "n": 24}, labels="sign")
    at = At(described, RunData(lambda: pytest.fail("nothing drawn is asked for")), {"k": np.arange(25.0)})
    values = catalogue.make("theory", kind).value(at)
    assert values.shape == (25,)
    assert values[0] == 0.5
    for k in (1, 8, 24):
        assert values[k] == KINDS[kind](k / 8)


@pytest.mark.slow
def test_no_half_space_line_is_below_the_bayes_line():
    described = experiment(d=30, matrix={"kind": "gaussian", "n": 120}, labels="sign")
    at = At(described, RunData(lambda: pytest.fail("nothing drawn is asked for")), {"k": np.arange(121.0)})
    lines = {kind: catalogue.make("theory", kind).value(at) for kind in KINDS}
    for kind in KINDS:
        assert (lines[kind] >= lines["ri-bayes"] - 1e-9).all()
