"""Losses of rules beside the bound on rotation-invariant learners, and the names by which rules are found."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from torch.optim import SGD

import engine
from engine.core import optimizers
from engine.core.outside import Outside
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.judging import named_rule as named_rule_module
from engine.judging.named_rule import named_rule, rule_of
from engine.judging.rule_judgement import (
    MARKS,
    PROBLEMS,
    REPLICAS,
    D,
    LossBesideBound,
    RuleJudgement,
    contest,
    losses_on,
)
from engine.problems.data import draw
from engine.symmetry.rules import Symmetry
from engine.updates.egu import EGU
from engine.updates.gd import GD
from engine.updates.torch_optimizer import Torch


@pytest.fixture(autouse=True)
def no_registered_optimizers(monkeypatch):
    monkeypatch.setattr(optimizers, "registered", {})


def at_marks(problem, update):
    return [point for point in losses_on(problem, update, MARKS[0]) if point.k in MARKS]


def test_tuned_gradient_descent_matches_the_losses_of_least_squares():
    """Of the shortest w that fits the first k rows, by numpy; on Hadamard rows that is 1 − k/d exactly."""
    for problem in PROBLEMS:
        experiment = contest(problem, GD(), MARKS[0])
        drawn = draw(experiment.problem, Streams(range(REPLICAS)), "float64", "cpu").dense()
        x, y = drawn.instances.rows.numpy(), drawn.labels.numpy()
        for point in at_marks(problem, GD()):
            losses = []
            for rows, labels in zip(x, y, strict=True):
                w = np.linalg.lstsq(rows[: point.k], labels[: point.k], rcond=None)[0]
                w_star = np.linalg.lstsq(rows, labels, rcond=None)[0]
                losses.append(((w - w_star) ** 2).sum())
            assert point.loss == pytest.approx(np.mean(losses), abs=1e-4)
            assert point.stderr == pytest.approx(np.std(losses, ddof=1) / math.sqrt(REPLICAS), abs=1e-4)
            assert point.word == "on"
            if problem == "Hadamard rows":
                assert point.loss == pytest.approx(1 - point.k / D, abs=1e-6)


@pytest.mark.parametrize(("kind", "word"), [("egu", "below"), ("coordinate", "below"), ("adam", "above")])
def test_axis_dependent_rules_are_below_or_above_the_bound(kind, word):
    for problem in PROBLEMS:
        assert {point.word for point in at_marks(problem, rule_of(kind))} == {word}


def test_the_best_rate_is_not_a_rate_that_hardly_trains():
    """Adam with a low rate stays near 1, and below its loss at every rate that fits the examples."""
    for point in at_marks("Hadamard rows", rule_of("adam")):
        assert point.loss > 1.15
        assert point.rate >= 0.003


def test_progress_is_reported_while_a_rule_trains():
    shares: list[float] = []
    losses_on("Hadamard rows", GD(), MARKS[0], shares.append)
    assert len(shares) > 5
    assert shares == sorted(shares)
    assert (shares[0], shares[-1] > 0.5, shares[-1] <= 1) == (0, True, True)


def test_a_rule_unsuitable_for_a_problem_is_refused_with_a_reason():
    with pytest.raises(BadInput, match="moves only after mistakes"):
        losses_on("Hadamard rows", rule_of("perceptron"))


@pytest.mark.parametrize(
    ("loss", "stderr", "word"),
    [
        (0.5, 0.0, "on"),
        (0.5 + 1e-7, 0.0, "on"),
        (0.5 + 1e-5, 0.0, "above"),
        (0.44, 0.021, "on"),
        (0.43, 0.02, "below"),
        (0.57, 0.02, "above"),
        (math.inf, math.nan, "diverged"),
    ],
)
def test_losses_are_classified_by_their_distance_from_the_bound(loss, stderr, word):
    assert LossBesideBound(32, loss, stderr, 0.1, 0.5).word == word


def test_only_an_invariant_rule_can_break_the_bound():
    below = {"Hadamard rows": [LossBesideBound(32, 0.1, 0.0, 0.1, 0.5)]}
    for change, number in ((1e-15, 1), (0.1, 0)):
        symmetry = Symmetry("rotations", change, 1e-15, ())
        assert len(RuleJudgement("it", [], [symmetry], [], below, {}).broken) == number


def test_a_rule_of_a_library_gets_the_arguments_that_it_requires():
    assert named_rule("pytorch_optimizer.BSAM").options == {"num_data": 1000}


def test_rules_are_found_by_name_and_unknown_names_are_refused():
    assert named_rule("egu") == EGU()
    assert named_rule("AdamW") == named_rule("torch.AdamW") == named_rule("torch.optim.AdamW") == Torch()
    assert rule_of(GD(lr=0.5)) == GD(lr=0.5)
    with pytest.raises(BadInput, match="no preset, rule or optimizer has this name; did you mean AdamW"):
        named_rule("AdamWW")
    with pytest.raises(BadInput, match="sparse gradients"):
        named_rule("torch.SparseAdam")
    with pytest.raises(BadInput, match=r"FILE\.py:CLASS names a class in a file"):
        named_rule("SoftSign")


def test_rule_of_accepts_classes_partials_and_options(monkeypatch):
    monkeypatch.setattr(optimizers, "registered", {})
    options = {"lr": 0.5, "momentum": 0.9}
    rule = Torch(name="SGD", lr=0.5, options={"momentum": 0.9})
    assert rule_of(SGD, options) == rule_of("SGD", options) == rule
    assert rule_of(partial(SGD, lr=2.0, momentum=0.9), {"lr": 0.5}) == rule
    for refused in (lambda parameters: SGD(parameters), SGD([torch.nn.Parameter(torch.zeros(1))]), int):
        with pytest.raises(BadInput, match=r"pass a subclass of torch.optim.Optimizer, and .* options="):
            rule_of(refused)
    with pytest.raises(BadInput, match="did you mean momentum"):
        rule_of(SGD, {"momentun": 0.9})
    with pytest.raises(BadInput, match="set its fields"):
        rule_of(GD(), {"lr": 0.5})


def test_an_optimizer_class_is_a_rule():
    class Own(SGD):
        pass

    assert rule_of(Own) == Torch(name="Own")


@pytest.mark.slow
def test_judge_reports_losses_and_symmetries():
    judged = engine.judge("gd")
    assert judged.name == "gd"
    assert judged.contradictions == judged.broken == []
    assert "Hadamard rows, after 32 examples: loss 0.500 ± 0.000 at rate" in str(judged)
    assert "invariant under rotations: transformed inputs change predictions by" in str(judged)


OPTIMIZERS = """
import torch

class First(torch.optim.SGD):
    def __init__(self, params, lr=0.1, *, strength):
        super().__init__(params, lr=lr / strength)
"""


def test_a_file_with_one_optimizer_needs_no_class_and_settings_are_arguments(tmp_path, monkeypatch):
    monkeypatch.setattr(named_rule_module, "outside", Outside())
    (tmp_path / "alone.py").write_text(OPTIMIZERS)
    rule = named_rule(str(tmp_path / "alone.py"), {"strength": 2.0, "lr": 0.5})
    assert (rule.name, rule.options, rule.lr) == ("First", {"strength": 2.0}, 0.5)


def test_a_file_with_several_optimizers_lists_them(tmp_path, monkeypatch):
    monkeypatch.setattr(named_rule_module, "outside", Outside())
    (tmp_path / "several.py").write_text(OPTIMIZERS + "\nclass Second(torch.optim.SGD):\n    pass\n")
    with pytest.raises(BadInput, match=r"the choices are .*several.py:First, .*several.py:Second"):
        named_rule(str(tmp_path / "several.py"))


def test_a_native_rule_takes_settings_of_its_fields():
    assert named_rule("gd", {"lr": 0.5}) == GD(lr=0.5)
    with pytest.raises(BadInput, match="unknown field `beta`"):
        named_rule("gd", {"beta": 0.5})


def test_losses_have_enough_digits_to_differ_from_the_bound():
    assert LossBesideBound(16, 0.7504, 0.00001, 0.1, 0.75).numbers == "0.7504 ± 0.0000"
    assert LossBesideBound(16, 0.75, 0.0, 0.1, 0.75).numbers == "0.750 ± 0.000"
    assert LossBesideBound(16, 0.5, 0.01, 0.1, 0.75).numbers == "0.500 ± 0.010"


def test_an_invariant_rule_below_the_bound_gets_a_warning():
    def judged(change, loss):
        symmetry = Symmetry("rotations", change, 1e-16, ())
        point = LossBesideBound(32, loss, 0.01, 0.3, 0.5)
        return RuleJudgement("x", [], [symmetry], [], {"Hadamard rows": [point]}, {})

    assert "but not at rates at which its loss is below the bound" in str(judged(1e-16, 0.3))
    assert judged(1e-16, 0.5).warning == judged(0.4, 0.3).warning == ""
