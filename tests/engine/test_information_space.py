"""Information and nuisance space: shares of labels and residuals in the large directions of the Jacobian."""

import msgspec
import numpy as np
import pytest
import torch
from building import beginning, needed, raw

from engine.core.parts import BadInput
from engine.runtime.run import run
from engine.spec import reading

CLUSTERS = {"kind": "clusters", "classes": 3, "d": 4, "n": 12, "sigma": 0.7, "normalised": True}
NET = {"kind": "dense", "widths": [5], "activation": "softplus", "outputs": "m"}
UNIT = "start-jacobian"
DIRECTIONS = 4
TRAINED = 9


def described(measures, kind="dense", steps=30, rate=0.9, matrix=CLUSTERS, **net):
    learner = {"architecture": {**NET, "kind": kind, **net}, "update": {"kind": "gd", "lr": rate}}
    protocol = {"kind": "steps", "steps": steps, "train": TRAINED, "records": 3}
    words = raw(matrix, "classes", {"net": learner}, protocol=protocol, replicas=2)
    words["learners"][0] |= {"rate_unit": UNIT, "layer_rates": {"W2": 0.0}}
    return reading.parse({**words, "pictures": [{"x": "step", "measure": measure} for measure in measures]})


def jacobian(hypothesis, data, replica, count=TRAINED):
    """∂(predictions of the first rows)/∂W₁ of a replica, output by output, by autograd."""
    first = hypothesis.tensors["W1"][replica]

    def predictions(weights):
        tensors = {
            **{
                tensor_name: tensor[replica : replica + 1]
                for tensor_name, tensor in hypothesis.tensors.items()
            }
        }
        tensors["W1"] = weights[None]
        rows = data.instances.of_replica(replica).at(slice(0, count))
        return hypothesis.architecture.predict(tensors, rows).flatten()

    return torch.autograd.functional.jacobian(predictions, first).flatten(1).numpy()


def of_replica(values, replica, outputs=3):
    """Labels or predictions of the rows trained on, output by output."""
    return values.view(2, outputs, -1)[replica, :, :TRAINED].flatten().numpy()


def measured(setup):
    (curve,) = run(setup).curves
    return {
        measure.name: curve.values(measure.name)
        for measure in (picture.measure for picture in setup.pictures)
    }


def shares(space, of, jacobian):
    return {
        "kind": "jacobian-share", "directions": DIRECTIONS, "space": space, "of": of, "jacobian": jacobian
    }  # fmt: skip


@pytest.mark.parametrize("space", ["information", "nuisance"])
def test_shares_at_the_start_equal_projections_onto_singular_vectors_of_the_jacobian(space):
    kinds = [shares(space, of, "start") for of in ("labels", "residual", "start-residual")]
    setup = described([*kinds, {"kind": "jacobian-inverse", "directions": DIRECTIONS}])
    labels, residual, first, inverse = measured(setup).values()
    hypothesis, data = beginning(setup)
    predictions = hypothesis.predict(data.instances)
    for replica in range(2):
        u, s, _ = np.linalg.svd(jacobian(hypothesis, data, replica), full_matrices=False)
        inside = u[:, :DIRECTIONS] @ u[:, :DIRECTIONS].T
        project = inside if space == "information" else np.eye(len(inside)) - inside
        y = of_replica(data.labels, replica)
        r = of_replica(predictions, replica) - y
        for measured_shares, vector in ((labels, y), (residual, r), (first, r)):
            expected = np.linalg.norm(project @ vector) / np.linalg.norm(vector)
            assert measured_shares[0, replica] == pytest.approx(expected, rel=1e-8)
        step = np.linalg.norm((u[:, :DIRECTIONS].T @ y) / s[:DIRECTIONS]) / np.linalg.norm(y)
        assert inverse[0, replica] == pytest.approx(step, rel=1e-8)


def test_squared_shares_add_up_and_current_shares_are_measured_at_both_ends():
    pairs = [
        shares(space, of, when)
        for of, when in (("residual", "start"), ("labels", "now"), ("start-residual", "now"))
        for space in ("information", "nuisance")
    ]
    *measured_values, loss = measured(
        described([*pairs, {"kind": "loss", "rows": "train"}], steps=4)
    ).values()
    ratio = loss / loss[0]
    np.testing.assert_allclose(measured_values[0] ** 2 + measured_values[1] ** 2, ratio, rtol=1e-6)
    for inside, outside in (measured_values[2:4], measured_values[4:6]):
        np.testing.assert_allclose((inside**2 + outside**2)[[0, -1]], 1, rtol=1e-9)
        assert np.isnan(inside[1:-1]).all()
        assert (inside[0] != inside[-1]).all()


def test_a_frozen_jacobian_shrinks_each_singular_component_of_the_residual_by_its_factor():
    kinds = [shares(space, "residual", "start") for space in ("information", "nuisance")]
    steps, rate = 7, 0.6
    setup = described(kinds, kind="linearised", steps=steps, rate=rate)
    final_shares = [values[-1] for values in measured(setup).values()]
    hypothesis, data = beginning(setup)
    count = data.instances.n
    for replica in range(2):
        u, s, _ = np.linalg.svd(jacobian(hypothesis, data, replica))
        values = np.zeros(len(u))
        values[: len(s)] = s**2
        largest = np.linalg.norm(jacobian(hypothesis, data, replica, count), 2)
        eta = rate * count / (2 * largest**2)
        r = of_replica(hypothesis.predict(data.instances) - data.labels, replica)
        parts = (1 - 2 * eta * values / TRAINED) ** steps * (u.T @ r) / np.linalg.norm(r)
        assert final_shares[0][replica] == pytest.approx(np.linalg.norm(parts[:DIRECTIONS]), rel=1e-6)
        assert final_shares[1][replica] == pytest.approx(np.linalg.norm(parts[DIRECTIONS:]), rel=1e-6)


def test_a_linearised_net_starts_like_its_net_and_stays_near_for_small_steps():
    kinds = [{"kind": "loss", "rows": "train"}]
    (net,), (frozen,) = (
        measured(described(kinds, kind=kind, steps=1, rate=1e-5)).values() for kind in ("dense", "linearised")
    )
    np.testing.assert_allclose(frozen[0], net[0], rtol=1e-12)
    change = net[1] - net[0]
    assert (change < 0).all()
    np.testing.assert_allclose(frozen[1] - frozen[0], change, rtol=1e-4)


def test_jacobian_rate_units_require_layers_and_count_in_the_memory_estimate():
    words = raw(learners={"it": {"update": {"kind": "gd", "lr": 1}, "architecture": "spindly"}})
    words["learners"][0]["rate_unit"] = UNIT
    with pytest.raises(BadInput, match="requires a net of layers, unlike spindly"):
        reading.parse(words)
    many = {**CLUSTERS, "n": 600}
    setup, plain = described([], matrix=many), described([], matrix=many)
    (learner,) = plain.learners
    plain = msgspec.structs.replace(plain, learners=(msgspec.structs.replace(learner, rate_unit="one"),))
    assert needed(setup) - needed(plain) >= 8 * (3 * 600) ** 2


def test_more_directions_than_predictions_are_refused_in_one_line():
    with pytest.raises(BadInput, match="at least 37 predictions"):
        described([{"kind": "jacobian-share", "directions": 37}])


@pytest.mark.parametrize("path", ["structured", "dense"])
def test_a_linearised_net_has_finite_erm_losses_on_each_path(path):
    words = raw(
        learners={"it": {"update": {"kind": "gd", "lr": 0.01}, "architecture": {**NET, "outputs": 1}}},
        d=8, protocol={"kind": "erm", "steps": 3, "examples": 5}, path=path,
    )  # fmt: skip
    words["learners"][0]["architecture"]["kind"] = "linearised"
    (curve,) = run(reading.parse(words)).curves
    assert np.isfinite(curve.values("loss")).all()


@pytest.mark.parametrize("corrupted", [0.0, 0.5])
def test_the_information_bound_takes_the_best_space_at_each_step(corrupted):
    setup = described([{"kind": "error", "rows": "test", "labels": "true"}], activation="tanh")
    target = msgspec.structs.replace(setup.problem.target, corrupted=corrupted)
    setup = msgspec.structs.replace(setup, problem=msgspec.structs.replace(setup.problem, target=target))
    trace = run(setup)
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "information-bound")
    shape_values = line.of_curves["net"].values
    hypothesis, data = beginning(setup)
    outputs, n, rate = 3, TRAINED, 0.9
    assert shape_values.shape == (2, len(line.x))
    for replica in range(2):
        u, s, _ = np.linalg.svd(jacobian(hypothesis, data, replica))
        largest = np.linalg.norm(jacobian(hypothesis, data, replica, data.instances.n), 2)
        eta = rate * data.instances.n / (2 * largest**2)
        y = of_replica(data.labels, replica)
        for t, value in zip(line.x, shape_values[replica], strict=True):
            spaces = []
            for size, singular in enumerate(s, start=1):
                alpha = singular / np.sqrt(n * outputs)
                gamma = 2 * eta * outputs * alpha**2 * t
                outside = np.linalg.norm(y - u[:, :size] @ (u[:, :size].T @ y))
                spaces.append(np.exp(-gamma) + outside / np.sqrt(n) + gamma / (alpha * np.sqrt(n)))
            assert value == pytest.approx(min(spaces), rel=1e-6)


def test_the_line_is_computed_only_if_a_picture_draws_it():
    measure = {"kind": "error", "rows": "test", "labels": "true"}
    for lines, drawn in ((None, True), (["information-bound"], True), ([], False)):
        setup = described([measure])
        (picture,) = setup.pictures
        names = None if lines is None else tuple(lines)
        setup = msgspec.structs.replace(setup, pictures=(msgspec.structs.replace(picture, lines=names),))
        (line,) = (trace_line for trace_line in run(setup).lines if trace_line.kind == "information-bound")
        assert bool(line.of_curves) is drawn
        assert line.applies_to == ["net"], "whom it binds is known all the same"


def test_the_bound_requires_one_net_with_an_output_per_class():
    (line,) = (
        line_of_run
        for line_of_run in run(
            described([{"kind": "error", "rows": "test", "labels": "true"}], outputs=1)
        ).lines
        if line_of_run.kind == "information-bound"
    )
    assert not line.applies_to
    assert "for every target" in line.on_learners["net"].reason
