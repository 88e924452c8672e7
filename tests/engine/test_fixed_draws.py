"""One generator for all data reproduces draws that papers and the theory pages print."""

import numpy as np
import pytest
from building import beginning, data_of, experiment, gd, raw

from engine.core.parts import BadInput
from engine.problems.data import draw
from engine.runtime.run import run
from engine.spec import reading
from engine.symmetry.certificate import certificate
from engine.symmetry.verdict import verdict

SINGLE = {"streams": "single", "replicas": 2, "seed": 3}


def drawn(**words):
    described = experiment(**words, **SINGLE)
    return draw(described.problem, described.run.random_streams(), "float64", "cpu")


@pytest.mark.parametrize("replica", [0, 1])
def test_rows_and_then_noise_are_drawn_from_one_seeded_generator(replica):
    data = drawn(
        matrix={"kind": "gaussian", "n": 6, "d": 4}, target={"kind": "weights", "w": [2, -1]}, noise=0.5
    )
    numbers = np.random.default_rng(3 + replica)
    rows = numbers.standard_normal((6, 4))
    labels = rows[:, :2] @ [2, -1] + 0.5 * numbers.standard_normal(6)
    np.testing.assert_array_equal(data.instances.rows[replica].numpy(), rows)
    np.testing.assert_allclose(data.labels[replica].numpy(), labels, rtol=1e-15)


def test_coin_labels_are_drawn_after_the_rows():
    data = drawn(matrix={"kind": "gaussian", "n": 8, "d": 16}, target="coin")
    numbers = np.random.default_rng(3)
    numbers.standard_normal((8, 16))
    np.testing.assert_array_equal(data.labels[0].numpy(), np.where(numbers.random(8) < 0.5, 1, -1))


def test_data_of_a_single_generator_are_equal_in_every_draw():
    described = experiment("gaussian", "sparse", d=6, learners={"it": gd(0.01)}, noise=0.1, **SINGLE)
    streams = described.run.random_streams()
    once, twice = (draw(described.problem, streams, "float64", "cpu") for _ in range(2))
    np.testing.assert_array_equal(once.labels.numpy(), twice.labels.numpy())
    assert not np.array_equal(data_of(described).labels.numpy(), once.labels.numpy())
    assert certificate(described, described.learners[0]) < 1e-9


def least(learner, measure, **words):
    """Solution of a solver for a page's draw `default_rng(0)`, in float64."""
    document = raw(**words, learners={"it": learner}, protocol="at-init", streams="single")
    document["pictures"] = [{"x": "step", "measure": measure}]
    described = reading.parse(document)
    (name,) = {picture.measure.name for picture in described.pictures}
    return float(run(described).curves[0].values(name)[0, 0])


def test_least_norms_equal_the_printed_values():
    square = {
        "matrix": {"kind": "gaussian", "n": 10, "d": 30},
        "target": {"kind": "weights", "w": [1, 0.5, 0.8]},
    }
    least_norm = least({"solver": "basis-pursuit"}, {"kind": "norm", "p": "1"}, **square)
    assert least_norm == pytest.approx(2.14896, abs=5e-6)
    separable = {"matrix": {"kind": "gaussian", "n": 8, "d": 16}, "target": "coin"}
    margin = least({"solver": "max-margin"}, {"kind": "margin", "q": "2"}, **separable)
    assert 1 / margin == pytest.approx(0.882322, abs=5e-7)


def test_given_weights_can_be_repeated_by_copies():
    rows = {"kind": "gaussian", "n": 3, "d": 5}
    targets = {"w": [2, -1], "copies": 2}, {"w": [2, -1, 2, -1]}
    twice, once = (data_of(experiment(rows, {"kind": "weights", **words})).labels for words in targets)
    np.testing.assert_array_equal(twice, once)
    with pytest.raises(BadInput, match=r"problem\.target\.copies: there are 2 features"):
        experiment({"kind": "gaussian", "n": 3, "d": 2}, {"kind": "weights", "w": [1], "copies": 3})


def test_more_given_weights_than_features_are_refused():
    with pytest.raises(BadInput, match=r"problem\.target\.w: there are 2 features"):
        experiment({"kind": "gaussian", "n": 3, "d": 2}, {"kind": "weights", "w": [1, 2, 3]})


def seeded(architecture, seed):
    return {"architecture": architecture, "update": {"kind": "gd", "lr": 0.1}, "start_seed": seed}


STARTED = {
    "dense": (
        {"kind": "dense", "widths": [3], "activation": "identity", "scale": 0.3},
        lambda numbers: {
            "W1": 0.3 * numbers.standard_normal((3, 4)) / 2,
            "W2": 0.3 * numbers.standard_normal((1, 3)) / 3**0.5,
        },
    ),
    "conv": (
        {"kind": "conv", "scale": 0.6},
        lambda numbers: {tensor_name: 0.3 * numbers.standard_normal(4) for tensor_name in ("w1", "w2")},
    ),
}


@pytest.mark.parametrize("kind", STARTED)
def test_a_start_seed_gives_the_numpy_draw_in_every_replica(kind):
    architecture, draws = STARTED[kind]
    described = experiment(
        {"kind": "gaussian", "n": 5, "d": 4}, learners={"it": seeded(architecture, [0, 12])}, replicas=2
    )
    hypothesis, _ = beginning(described)
    for name, expected in draws(np.random.default_rng([0, 12])).items():
        for replica in range(2):
            np.testing.assert_allclose(hypothesis.tensors[name][replica], expected, rtol=1e-6)


def test_a_net_with_a_fixed_start_seed_is_not_rotation_invariant():
    architecture = {"kind": "dense", "widths": [6], "activation": "identity"}
    drawn, seeded_setup = (
        experiment({"kind": "gaussian", "n": 6, "d": 4}, learners={"it": seeded(architecture, seed)})
        for seed in (None, [7])
    )
    assert verdict(drawn.learners[0], drawn).invariant is True
    assert certificate(drawn, drawn.learners[0]) < 1e-9
    assert verdict(seeded_setup.learners[0], seeded_setup).invariant is False
    assert certificate(seeded_setup, seeded_setup.learners[0]) > 1e-3


def test_a_solver_refuses_a_start_seed():
    with pytest.raises(BadInput, match=r"start_seed: a solver has no start; leave `start_seed` out"):
        experiment(learners={"it": {"solver": "lls", "start_seed": [1]}})
