"""Matrix completion: problems, factors and measures."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from building import beginning, data_of, experiment, gd, raw

from engine.core.catalogue import make
from engine.core.groups import rotations
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.measures.matrix_spectrum import MatrixSpectrum
from engine.problems.instances import DenseInstances
from engine.results.outcomes import judge
from engine.runtime.run import run
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets, reading
from engine.spec.documents import sweep_of
from engine.symmetry.certificate import certificate

COMPLETION = {"matrix": {"kind": "entries", "factors": [3, 4]}, "target": {"kind": "low-rank", "norm": 5}}


def factorised(scale, **more):
    return gd(0.05, kind="factorised", factors=[3, 4], scale=scale, **more)


@pytest.mark.parametrize("permute", [True, False])
def test_instances_are_the_entries_of_a_matrix_once_each(permute):
    matrix = make("matrices", "entries", factors=[2, 3], permute=permute)
    rows = matrix.rows(Streams([1, 2]))
    for replica in rows:
        np.testing.assert_array_equal(np.sort(replica.argmax(1)), np.arange(6))
        np.testing.assert_array_equal(replica.sum(1), 1)
    assert np.array_equal(rows[0], np.eye(6)) != permute
    assert np.array_equal(rows[0], rows[1]) != permute
    assert matrix.second_moment == pytest.approx((rows[0].T @ rows[0]).mean(0).sum() / 6)
    assert matrix.structure().entries_of == (None if permute else (2, 3))


@pytest.mark.parametrize("rank", [1, 2])
def test_low_rank_targets_have_their_rank_and_their_norm(rank):
    described = experiment(
        {"kind": "entries", "factors": [4, 5]}, {"kind": "low-rank", "rank": rank, "norm": 3}, replicas=2
    )
    data = data_of(described)
    order = data.instances.rows.argmax(2)
    for labels, places in zip(data.labels, order, strict=True):
        matrix = torch.zeros(20, dtype=torch.float64)
        matrix[places] = labels
        sizes = np.linalg.svd(matrix.view(4, 5).numpy(), compute_uv=False)
        assert np.linalg.norm(sizes) == pytest.approx(3)
        assert (sizes > 1e-9).sum() == rank
    assert not torch.equal(data.labels[0].sort()[0], data.labels[1].sort()[0])


def test_a_low_rank_target_that_does_not_fit_is_refused_with_a_remedy():
    with pytest.raises(BadInput, match="take at most 3"):
        experiment(COMPLETION["matrix"], {"kind": "low-rank", "rank": 4})
    with pytest.raises(BadInput, match="2 × 5 has 10 entries"):
        experiment(COMPLETION["matrix"], {"kind": "low-rank", "factors": [2, 5]})


def start_of(**words):
    net = make("architectures", "factorised", factors=[3, 4], **words)
    start = net.start(Streams([1])("init"), 12)
    return net, {tensor_name: torch.from_numpy(values) for tensor_name, values in start.items()}


def test_an_orthogonal_start_is_zero_and_has_a_scaled_identity_kernel():
    net, params = start_of(init="orthogonal", scale=0.7)
    assert not net.weights(params).any()
    all_entries = DenseInstances(torch.eye(12, dtype=torch.float64)[None])
    rows = []
    for number in range(12):
        unit = torch.eye(12, dtype=torch.float64)[number][None]
        gradients = net.gradient(params, all_entries, lambda _, slope=unit: slope)
        rows.append(torch.cat([gradients[layer_name].flatten() for layer_name in net.layers]))
    jacobian = torch.stack(rows)
    torch.testing.assert_close(jacobian @ jacobian.T, 2 * 0.7**2 * torch.eye(12, dtype=torch.float64))


@pytest.mark.parametrize("depth", [2, 3])
def test_an_identity_start_has_a_power_of_its_scale_on_the_diagonal(depth):
    net = make("architectures", "factorised", init="identity", depth=depth, scale=0.5)
    start = net.start(Streams([1])("init"), 9)
    weights = net.weights({tensor_name: torch.from_numpy(values) for tensor_name, values in start.items()})
    np.testing.assert_allclose(weights.view(3, 3).numpy(), 0.5**depth * np.eye(3))
    assert net.structure().keeps_determinant
    oblong = make("architectures", "factorised", init="identity", factors=[2, 3])
    assert not oblong.structure().keeps_determinant
    assert not make("architectures", "factorised").structure().keeps_determinant


def test_an_orthogonal_start_requires_a_hidden_unit_per_row_and_column():
    with pytest.raises(BadInput, match="needs 7 hidden units, and there are 6"):
        experiment(**COMPLETION, learners={"W": factorised(1, init="orthogonal", width=6)})


def test_factored_rotations_change_no_prediction_from_an_orthogonal_start():
    described = experiment(
        {"kind": "outer", "factors": [4, 4]}, learners={"W": gd(0.05, kind="factorised", init="orthogonal")}
    )
    assert certificate(described, described.learners[0], group=rotations(4, 4)) < 1e-9


def test_errors_and_movements_are_relative_to_the_labels():
    described = experiment(
        **COMPLETION,
        learners={"W": factorised(0.8)},
        replicas=2,
        protocol={"kind": "steps", "steps": 3, "train": 7},
    )
    words = raw(**COMPLETION, learners={"W": factorised(0.8)}, replicas=2)
    words["protocol"] = {"kind": "steps", "steps": 3, "train": 7, "records": 1, "loss": "square"}
    kinds = ("relative-error", "movement")
    words["pictures"] = [
        {"x": "step", "measure": {"kind": kind, "rows": rows}}
        for kind, rows in itertools.product(kinds, ("all", "train", "test"))
    ]
    words["pictures"].append({"x": "j", "measure": {"kind": "matrix-spectrum", "factors": [3, 4]}})
    curve = run(reading.parse(words)).curves[0]
    hypothesis, data = beginning(described)
    labels = data.labels.numpy()
    # From the start on nothing has moved, and what is not fitted yet is the start itself.
    assert not curve.values("movement")[0].any()
    rows_by_name = {
        "relative-error": slice(None),
        "relative-error-seen": slice(7),
        "relative-error-unseen": slice(7, None),
    }
    predictions = hypothesis.predict(data.instances).numpy()
    for measure_name, rows in rows_by_name.items():
        expected = np.linalg.norm((predictions - labels)[:, rows], axis=1) / np.linalg.norm(
            labels[:, rows], axis=1
        )
        np.testing.assert_allclose(curve.values(measure_name)[0], expected)
    for measure_name in ("movement", "movement-seen", "movement-unseen"):
        assert (curve.values(measure_name)[-1] > 0).all()
    spectrum = curve.array("matrix-spectrum (factors = (3, 4))").values[0]
    weights = hypothesis.weights().view(2, 3, 4).numpy()
    sizes = np.linalg.svd(weights, compute_uv=False)
    np.testing.assert_allclose(spectrum[0], sizes[0] / sizes[0, 0])


def test_singular_values_of_rounding_size_are_zero():
    matrix = np.random.default_rng(0).normal(size=3)[:, None] * np.array([3.0, -1.0, 0.1, 0.7])
    probe = SimpleNamespace(
        drawn_weights=torch.from_numpy(matrix.reshape(1, 12)),
        data=SimpleNamespace(over_targets=lambda values: values),
    )
    assert MatrixSpectrum(factors=(3, 4)).value(probe).flatten().tolist() == [1, 0, 0]


def test_unseen_entries_do_not_move_in_the_kernel_regime():
    words = raw(
        **COMPLETION,
        learners={"W": gd(1e-4, kind="factorised", factors=[3, 4], init="orthogonal", scale=100)},
    )
    words["protocol"] = {"kind": "steps", "steps": 20, "train": 7, "records": 1, "loss": "square"}
    words["pictures"] = [
        {"x": "step", "measure": {"kind": "movement", "rows": rows}} for rows in ("train", "test")
    ]
    curve = run(reading.parse(words)).curves[0]
    assert curve.values("movement-seen")[-1] == pytest.approx(1, abs=1e-2)
    assert curve.values("movement-unseen")[-1] < 1e-2


@pytest.mark.slow
def test_the_missing_entry_stays_above_its_line():
    words = raw(
        {"kind": "entries", "factors": [2, 2], "permute": False},
        {"kind": "weights", "w": [0, 1, 1]},
        {"W": gd(0.1, kind="factorised", init="identity", scale=0.1)},
        protocol={"kind": "flow", "time": 100, "train": 3, "records": 20},
    )
    words["pictures"] = [{"x": "sqrt(3*train)", "measure": {"kind": "norm", "p": "max"}}]
    words["claims"] = [{"text": "above", "kind": "line", "curve": "W", "never_below": "missing-entry"}]
    (outcome,) = judge(run_sweep(sweep_of(words)))
    assert outcome.holds, outcome.detail
    trace = run(reading.parse(words))
    (curve,) = trace.curves
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "missing-entry")
    (along,) = line.by_curve(trace.curves).values()
    length = np.sqrt(3 * curve.values("train")[:, 0])
    np.testing.assert_allclose(along.values[0], np.where(length < 1, (1 - length) ** 2 / length, 0))
    entry = curve.values("norm-max")[:, 0]
    assert (entry >= along.values[0]).all()
    assert entry[-1] * length[-1] == pytest.approx(1, abs=0.1)
    assert entry[-1] > 3


@pytest.mark.parametrize("preset", ["matrix-completion", "matrix-hadamard", "matrix-pass"])
def test_overriding_the_matrix_shape_changes_every_dependent_part(preset):
    document = presets.document(preset, ["problem.matrix.factors=[8, 16]"])
    described = sweep_of(document).experiment
    everything = [*described.learners, *described.pictures]
    parts = [
        getattr(part, key, None)
        for part in everything
        for key in ("architecture", "update", "solver", "tends_to")
    ]
    parts += [picture.measure for picture in described.pictures]
    shapes = [part.factors for part in parts if isinstance(getattr(part, "factors", None), tuple)]
    assert len(shapes) >= 2
    assert set(shapes) == {(8, 16)}
    assert described.title == presets.load(preset).title


def test_expressions_may_use_rows_and_columns_unless_an_axis_has_that_name():
    document = raw(learners={"GD": gd(0.1)}, d=8)
    document["learners"][0]["update"]["lr"] = "1/(rows + columns)"
    document["problem"] = {"matrix": {"kind": "entries", "factors": [4, 6]}, "target": {"kind": "feature"}}
    assert reading.parse(document).learners[0].update.lr == 0.1
    assert reading.parse(document, {"rows": 34}).learners[0].update.lr == 0.025
    document["problem"]["matrix"] = {"kind": "hadamard", "d": 8}
    with pytest.raises(BadInput, match="'rows' is unknown"):
        reading.parse(document)
