"""On the smallest problems no bound, matrix, target or learner divides by 0; some refuse them."""

import numpy as np
import pytest
from building import raw
from crossing import chosen, crossings
from discovery import EVERY, in_turns, loss_of, ready, shape_traits, targets_of, traits, variants

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.runtime.run import run
from engine.spec import reading

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("error")]

SHAPES = [(1, 1), (2, 1), (1, 2)]

SIGMAS = [1e-200, 0.1]
"""The square of the first is 0."""


def problems(folder):
    """Matrices at their smallest, files of a row or a column, targets and noise: every two of them meet."""
    cases, traits = [], []
    for kind, member in catalogue.members("matrices").items():
        for words in variants(member):
            for matrix, size in smallest(kind, member, words, folder):
                for target in targets_of(matrix, matrix.get("path", "absent.npy")):
                    few = {"index": 0, "r": 1}
                    target |= {name: few[name] for name in few.keys() & target.keys()}
                    for noise in SIGMAS:
                        cases.append((matrix, target, noise))
                        traits.append(
                            {
                                **shape_traits(words, "matrix"),
                                "size": size,
                                "target": target["kind"],
                                "noise": noise,
                            }
                        )
    return chosen(cases, traits)


def smallest(kind, member, words, folder):
    """Raw matrices of a kind in its smallest sizes, each with a name."""
    if kind == "file" and words.keys() & {"header", "separator", "decimal", "encode"}:
        return []  # these are about texts
    if kind == "file":
        return [({**words, "path": str(folder / f"{n}x{d}.npy")}, (n, d)) for n, d in SHAPES]
    matrix = {**ready("matrices", kind, "", 2), **words}
    return [(matrix, 2), ({**matrix, "n": 1}, 1)] if "n" in member.__struct_fields__ else [(matrix, 2)]


@pytest.fixture
def folder(tmp_path):
    for n, d in SHAPES:
        np.save(tmp_path / f"{n}x{d}.npy", np.ones((n, d)))
    return tmp_path


def judged(words):
    """Run an experiment with numpy's errors raised; None if it is refused."""
    try:
        described = reading.parse(words)
    except BadInput:
        return None
    with np.errstate(all="raise", under="ignore"):  # numbers next to 0 may become 0
        return run(described)


def test_every_bound_is_finite_on_the_smallest_problems(folder):
    two = {"GD": {"update": "gd"}, "LLS": {"solver": "lls"}}
    held = set()
    for matrix, target, noise in problems(folder):
        try:
            trace = judged(raw(matrix, target, two, noise=noise, replicas=2))
        except Exception as error:
            error.add_note(f"on {matrix}, {target}, noise {noise}")
            raise
        for bound in [] if trace is None else trace.lines:
            assert np.isfinite(bound.values).all(), (bound.kind, matrix, target, noise)
            held |= {bound.kind} if bound.on_problem.holds else set()
    assert held >= {"noise", "ri-01", "ri-gaussian", "ri-rademacher", "ri-signed", "svd"}


LEARNING = crossings(name=traits(EVERY), shape=SHAPES[:2])


@pytest.mark.parametrize("shape", SHAPES[:2])
def test_every_learner_runs_on_a_single_row_and_a_single_feature(shape, folder):
    n, d = shape
    matrix = {"kind": "file", "path": str(folder / f"{n}x{d}.npy")}
    target = {"kind": "feature", "index": 0}
    learners_of_shape = {learner_name: EVERY[learner_name] for learner_name, its in LEARNING if its == shape}
    for loss in {loss_of(learner) for learner in learners_of_shape.values()}:
        learners = {name: learner for name, learner in learners_of_shape.items() if loss_of(learner) == loss}
        for group in in_turns(learners):
            trace = judged(raw(matrix, target, group, loss=loss))
            assert trace is not None
            for curve in trace.curves:
                assert curve.complete or curve.diverged_at is not None
                assert np.isfinite(curve.mean("loss")).all()


@pytest.mark.parametrize("protocol", catalogue.members("protocols"))
@pytest.mark.parametrize("loss", catalogue.members("losses"))
def test_every_protocol_takes_a_single_row(protocol, loss, folder):
    np.save(folder / "it.npy", [[0.0 if loss == "entropic" else 1.0]])
    problem = {
        "matrix": {"kind": "file", "path": str(folder / "it.npy")},
        "target": {"kind": "feature", "index": 0},
    }
    if catalogue.make("losses", loss).joint:
        problem = {"matrix": {"kind": "clusters", "classes": 3, "d": 2, "n": 1}, "target": "classes"}
    words = {"kind": protocol, "loss": loss}
    two = {"GD": {"update": "gd"}, "LLS": {"solver": "lls"}}
    trace = judged(raw(**problem, learners=two, protocol=words, train_loss=True))
    if protocol == "flow" and not catalogue.members("losses")[loss].continuous_slope:
        assert trace is None, "it is refused"
        return
    assert all(curve.complete for curve in trace.curves)
