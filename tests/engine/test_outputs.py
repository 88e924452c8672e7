"""Nets with several outputs against nets written by hand, and measures of several classes."""

import numpy as np
import pytest
import torch
from building import beginning, data_of, experiment, gd, losses, needed, raw, spectrum_of

from engine.core import catalogue
from engine.core.groups import UNCHANGED
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.hypotheses import curvature
from engine.measures.error import right_less_wrong
from engine.runtime.run import run
from engine.spec import reading
from engine.symmetry.certificate import certificate
from engine.symmetry.verdict import verdict

EXACT = 1e-12
CLASSES = {"matrix": {"kind": "clusters", "classes": 3, "n": 9, "sigma": 0.8}, "target": "classes", "d": 4}
STEPS = {"kind": "steps", "steps": 3, "records": 3, "train": 6}
LOSSES = ["square", "cross-entropy"]


def net(lr=0.1, update="gd", **words):
    """A learner: a small tanh net with an output for every target, unless words say otherwise."""
    words = {"widths": [5, 4], "activation": "tanh", "outputs": "m", **words}
    return {"architecture": {"kind": "dense", **words}, "update": {"kind": update, "lr": lr}}


def described(learner, pictures=(), **words):
    words = {**CLASSES, "replicas": 2, "protocol": STEPS, **words}
    words_of_run = raw(learners={"it": learner}, **words)
    words_of_run["pictures"] = [{"x": "step", "measure": measure} for measure in pictures]
    return reading.parse(words_of_run)


def objective(tensors, x, labels, loss, activation=torch.tanh):
    """The mean over rows of the sum over outputs of the loss of a net [K, n], written out."""
    signal, number = x.T, 1
    while f"W{number}" in tensors:
        signal = tensors[f"W{number}"] @ (signal if number == 1 else activation(signal))
        signal = tensors.get(f"m{number}", 1.0) * signal + tensors.get(f"b{number}", 0.0)
        number += 1
    if loss == "square":
        return signal, ((signal - labels) ** 2).sum(0).mean()
    return signal, -(labels * torch.log(signal.exp() / signal.exp().sum(0))).sum(0).mean()


def by_hand(setup, replica, lr, loss):
    """The objective and its gradient of one replica after 0 … 3 steps, and the tensors at the end."""
    hypothesis, data = beginning(setup)
    rates = hypothesis.architecture.layout(4).rate_factors
    labels = data.labels.view(2, 3, -1)[replica]
    tensors = {tensor_name: tensor[replica].clone() for tensor_name, tensor in hypothesis.tensors.items()}
    records = []
    for _ in range(4):
        leaves = {
            layer_name: tensors[layer_name].requires_grad_() for layer_name in hypothesis.architecture.layers
        }
        with torch.enable_grad():
            _, cost = objective(tensors, data.instances.rows[replica, :6], labels[:, :6], loss)
            gradients = torch.autograd.grad(cost, list(leaves.values()))
        predictions, measured_cost = objective(tensors, data.instances.rows[replica], labels, loss)
        records.append(
            (measured_cost, torch.cat([gradient.flatten() for gradient in gradients]).norm(), predictions)
        )
        for (tensor_name, leaf), gradient in zip(leaves.items(), gradients, strict=True):
            tensors[tensor_name] = (leaf - lr * rates.get(tensor_name, 1.0) * gradient).detach()
    return records, labels


SHAPES = [
    {},
    {"biases": True, "widths": [3]},
    {"cb": 0.1, "parametrisation": "ntk"},
    {"parametrisation": "mup", "cw": 2.0},
    {"parametrisation": "mean-field", "widths": [6]},
    {"init": "orthogonal", "widths": [2]},
]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_net_with_several_outputs_follows_the_gradient_of_the_summed_loss(shape, loss):
    setup = described(net(lr=[0.1, 0.05], **shape), ["gradient-norm"], loss=loss)
    share = 3 if loss == "square" else 1  # the measured square loss is the mean over targets
    for curve in run(setup).curves:
        for replica in range(2):
            records, labels = by_hand(setup, replica, curve.rate, loss)
            for record, (cost, length, predictions) in enumerate(records):
                assert curve.values("loss")[record, replica] == pytest.approx(cost.item() / share, rel=EXACT)
                measured = curve.values("gradient-norm")[record, replica]
                assert measured == pytest.approx(float(length), rel=EXACT)
                wrong = (predictions.argmax(0) != labels.argmax(0)).double().mean()
                assert curve.values("error")[record, replica] == pytest.approx(float(wrong), abs=EXACT)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.slow
def test_the_sharpness_of_several_outputs_uses_all_parameters(loss, exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(curvature, "EXACT", 0)
        monkeypatch.setattr(curvature, "TOLERANCE", 1e-10)
    setup = described(net(widths=[3], biases=True), ["sharpness"], loss=loss)
    curve = run(setup).curves[0]
    hypothesis, data = beginning(setup)
    sizes = {tensor_name: tensor[0].shape for tensor_name, tensor in hypothesis.params.items()}
    for replica in range(2):
        x, labels = data.instances.rows[replica, :6], data.labels.view(2, 3, -1)[replica, :, :6]

        def of_flat(flat, x=x, labels=labels):
            parts = torch.split(flat, [size.numel() for size in sizes.values()])
            tensors = {name: part.view(sizes[name]) for name, part in zip(sizes, parts, strict=True)}
            return objective(tensors, x, labels, loss)[1]

        flat = torch.cat([tensor[replica].flatten() for tensor in hypothesis.params.values()])
        top = torch.linalg.eigvalsh(torch.autograd.functional.hessian(of_flat, flat))[-1].item()
        assert curve.values("sharpness")[0, replica] == pytest.approx(top, rel=1e-9)


def test_gradients_of_shared_layers_sum_over_outputs():
    """An output alone is a net of its own with that row of the last layer."""
    shared, data = beginning(described(net(), replicas=1))
    single_output = catalogue.make("architectures", "dense", widths=[5, 4], activation="tanh")
    loss = catalogue.make("losses", "square")
    together = shared.architecture.gradient(
        shared.tensors, data.instances, lambda predictions: loss.slope(predictions, data.labels)
    )
    total = {tensor_name: torch.zeros_like(together[tensor_name]) for tensor_name in ("W1", "W2")}
    for output in range(3):
        row = slice(output, output + 1)
        tensors = {**shared.tensors, "W3": shared.tensors["W3"][:, row]}
        alone = single_output.gradient(
            tensors, data.instances, lambda predictions, row=row: loss.slope(predictions, data.labels[row])
        )
        for name, sum_so_far in total.items():
            sum_so_far += alone[name]
        torch.testing.assert_close(together["W3"][:, row], alone["W3"], rtol=EXACT, atol=EXACT)
    for name, expected in total.items():
        torch.testing.assert_close(together[name], expected, rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize("loss", LOSSES)
def test_outputs_over_a_frozen_hidden_layer_train_like_separate_nets(loss):
    words = {"widths": [5], "init": "identity"}  # every net starts with the same weights
    frozen = {name: {**net(**words, outputs=outputs), "layer_rates": {"W1": 0.0}} for name, outputs in
              (("shared", "m"), ("apart", 1))}  # fmt: skip
    losses_of_nets = losses(experiment(learners=frozen, loss=loss, replicas=2, **CLASSES))
    np.testing.assert_allclose(losses_of_nets["shared"], losses_of_nets["apart"], rtol=EXACT)
    assert np.ptp(losses_of_nets["shared"]) > 0.01


@pytest.mark.parametrize(
    ("protocol", "update"),
    [
        *((protocol, "gd") for protocol in catalogue.members("protocols") if protocol != "flow"),
        *(("steps", update) for update in ("momentum", "adam", "agd", "agd-layerwise")),
        ("erm", "sgd"),
        ("to-consistency", "adam"),
    ],
)
@pytest.mark.slow
def test_batched_nets_with_several_outputs_match_single_runs(protocol, update):
    brief = {"epochs": {"epochs": 3}, "erm": {"steps": 4}, "steps": STEPS, "to-consistency": {"passes": 2}}
    words = {"protocol": {"kind": protocol, **brief.get(protocol, {})}, "loss": "cross-entropy"}
    rates = {} if update.startswith("agd") else {"lr": [0.05, 0.1]}
    learner = {**net(), "update": {"kind": update, **rates}}
    together = run(described(learner, **words)).curves
    for curve in together:
        rate_of_curve = {} if curve.rate is None else {"lr": curve.rate}
        for replica in range(2):
            alone = described(
                {**learner, "update": {"kind": update, **rate_of_curve}}, **words, replicas=1, seed=replica
            )
            (single,) = run(alone).curves
            for measure_name in ("loss", "error"):
                expected = single.values(measure_name)[:, 0]
                np.testing.assert_allclose(
                    curve.values(measure_name)[:, replica], expected, rtol=EXACT, atol=EXACT
                )


def test_a_fresh_net_stops_once_its_mean_loss_over_outputs_is_small():
    words = {"kind": "erm", "every": 3, "steps": 400, "tolerance": 0.2}
    curve = run(described(net(widths=[5], activation="identity"), protocol=words, train_loss=True)).curves[0]
    train = curve.values("train")[1:]
    assert (train <= 0.2).all()
    assert (train > 0.15).any()


@pytest.mark.parametrize("protocol", ["one-pass", {"kind": "erm", "steps": 30}])
def test_nets_with_outputs_have_equal_losses_on_dense_and_structured_backends(protocol):
    words = {"target": "all", "learners": {"it": net(widths=[3], lr=0.03)}, "protocol": protocol}
    dense, structured = (
        run(experiment(d=8, replicas=2, path=path, **words)).curves[0] for path in ("dense", "structured")
    )
    np.testing.assert_allclose(structured.mean("loss"), dense.mean("loss"), rtol=1e-9)
    assert (dense.backend, structured.backend) == ("dense", "structured")


def test_a_linear_net_has_a_weight_vector_per_output():
    hypothesis, data = beginning(described(net(activation="identity", widths=[2])))
    weights = hypothesis.weights()
    assert weights.shape == (6, 4)
    torch.testing.assert_close(
        data.instances.inner(weights[:, None])[:, 0], hypothesis.predict(data.instances)
    )
    setup = described(net(activation="identity", widths=[2]), spectrum=True)
    assert (spectrum_of(run(setup).curves[0]).rank == 2).all()


@pytest.mark.parametrize(("update", "invariant"), [("gd", True), ("momentum", True), ("adagrad", False)])
def test_the_certificate_agrees_with_the_verdict_on_several_outputs(update, invariant):
    setup = described(net(update=update, lr=0.05), loss="cross-entropy")
    (learner,) = setup.learners
    assert verdict(learner, setup).invariant is invariant
    assert (certificate(setup, learner) < UNCHANGED) is invariant


def test_bounds_on_one_target_do_not_bind_nets_with_shared_outputs():
    linear = {"widths": [3], "activation": "identity"}
    learners = {"shared": net(**linear), "apart": net(**linear, outputs=1)}
    bound = {"shared": set(), "apart": set()}
    for target in ("all", "doubled"):
        for line in run(experiment(target=target, d=8, learners=learners)).lines:
            for name in line.applies_to if line.statement.direction != "reference" else ():
                bound[name].add(line.kind)
    assert bound["shared"] == set()
    assert {"ri-signed", "svd-two-layer"} <= bound["apart"]


LABELS = torch.tensor([[1.0, 0, 0, 0, 1], [0, 1, 0, 1, 0], [0, 0, 1, 0, 0]], dtype=torch.float64)
PREDICTED = torch.tensor([[3.0, 1, 0, 2, 2], [1, 0, 0, 2, 2], [2, 0, 0, 1, 2]], dtype=torch.float64)


def test_equal_largest_predictions_share_the_class():
    data = data_of(described(net(), replicas=1))
    of_five = type(data)(**{**vars(data), "labels": LABELS})
    loss = catalogue.make("losses", "square")
    right = (right_less_wrong(PREDICTED, of_five, loss) + 1) / 2
    for row in right:
        np.testing.assert_allclose(row, [1, 0, 1 / 3, 1 / 2, 1 / 3])
    nearly = PREDICTED + 1e-9 * torch.arange(15).view(3, 5)
    assert torch.equal(right_less_wrong(nearly, of_five, loss), 2 * right - 1)


def test_train_and_test_errors_average_to_the_error_on_all_rows():
    measures = [{"kind": "error", "rows": rows} for rows in ("all", "train", "test")]
    curve = run(described(net(lr=0.3), measures, loss="cross-entropy")).curves[0]
    all_rows, train, test = (curve.values(name) for name in ("error", "train-error", "test-error"))
    np.testing.assert_allclose((6 * train + 3 * test) / 9, all_rows, atol=EXACT)
    assert (train != test).any()


@pytest.mark.parametrize("rows", ["train", "test"])
def test_errors_on_row_subsets_match_on_dense_and_structured_backends(rows):
    words = raw(d=16, replicas=2, learners={"it": net(outputs=1), "linear": gd(0.03)})
    words["pictures"] = [{"x": "k", "measure": {"kind": "error", "rows": rows}}]
    errors_by_path = []
    for path in ("dense", "structured"):
        words["run"]["path"] = path
        errors_by_path.append([curve.values(f"{rows}-error") for curve in run(reading.parse(words)).curves])
    np.testing.assert_allclose(errors_by_path[0], errors_by_path[1], atol=EXACT)
    assert np.nanmax(errors_by_path[0]) > 0


ONE_HOT = [
    ({"kind": "clusters", "classes": 2, "n": 7}, "classes", False),
    ({"kind": "clusters", "classes": 4, "n": 7}, "classes", True),
    ({"kind": "digits", "n": 12}, "classes", True),
    ({"kind": "digits", "n": 12}, {"kind": "classes", "size": "sqrt(K)"}, True),
    ({"kind": "digits", "digits": [3, 8], "n": 12}, "classes", False),
    ({"kind": "hadamard01", "d": 8}, "all", False),
    ({"kind": "threshold", "d": 8}, "all", False),
]


@pytest.mark.parametrize(("matrix", "target", "one_hot"), ONE_HOT)
def test_labels_are_declared_one_hot_exactly_if_each_row_has_one_class(matrix, target, one_hot):
    data = data_of(experiment(matrix, target, replicas=2))
    labels = data.labels.view(2, data.targets, -1)
    assert data.one_hot is one_hot
    size = labels.max()
    assert one_hot == bool(((labels == 0) | (labels == size)).all() and (labels.sum(1) == size).all())


def test_scaled_one_hot_labels_have_mean_square_1_and_the_same_errors():
    words = {"matrix": {"kind": "clusters", "classes": 4, "n": 8}, "replicas": 2}
    scaled = {**words, "target": {"kind": "classes", "size": "sqrt(K)"}}
    plain = {**words, "target": "classes"}
    labels, scaled_labels = (data_of(experiment(**settings)).labels for settings in (plain, scaled))
    torch.testing.assert_close(scaled_labels, 2 * labels)
    assert float(scaled_labels.square().mean()) == pytest.approx(1)
    learners = {
        "it": {"architecture": {"kind": "dense", "widths": [3], "outputs": "m"}, "update": gd(0.1)["update"]}
    }
    errors = [
        run(experiment(**settings, learners=learners)).curves[0].values("error")[0]
        for settings in (plain, scaled)
    ]
    np.testing.assert_array_equal(*errors)
    with pytest.raises(BadInput, match="labels 0 and 1"):
        experiment(**scaled, learners=learners, loss="cross-entropy")


def test_errors_on_row_subsets_are_measured_only_on_request():
    assert not set(run(described(net())).curves[0].measures) & {"train-error", "test-error"}


@pytest.mark.parametrize(
    ("words", "outputs", "reason"),
    [
        ({}, 2, "there are 3 targets; take 1 (one net per target) or m (one net for all)"),
        ({"matrix": {"kind": "gaussian", "n": 9}, "target": "feature"}, 3, "there is one target; take 1"),
    ],
)
def test_unsuitable_outputs_are_refused_with_a_remedy(words, outputs, reason):
    with pytest.raises(BadInput) as caught:
        described(net(outputs=outputs), **words)
    assert caught.value.where == "learners[0].architecture.outputs"
    assert reason in caught.value.fault


def test_start_sharpness_units_require_shared_outputs_for_cross_entropy():
    def with_unit(outputs):
        words = raw(learners={"it": net(outputs=outputs)}, **CLASSES, loss="cross-entropy", protocol=STEPS)
        words["learners"][0]["rate_unit"] = "start-sharpness"
        return reading.parse(words)

    assert run(with_unit("m")).curves[0].complete
    with pytest.raises(BadInput, match=r"rate_unit.*outputs"):
        with_unit(1)


def test_the_error_about_coupled_nets_recommends_outputs_m():
    def with_unit(outputs):
        words = raw(learners={"it": net(outputs=outputs)}, **CLASSES, loss="cross-entropy", protocol=STEPS)
        words["learners"][0]["rate_unit"] = "start-sharpness"
        return reading.parse(words)

    assert with_unit("m")
    with pytest.raises(BadInput, match='outputs = "m"'):
        with_unit(1)


def test_a_net_with_shared_outputs_needs_the_memory_of_one_net():
    shared, apart = (
        needed(described(net(widths=[4096], outputs=outputs), matrix={"kind": "clusters", "classes": 8},
                         target="classes", d=64)) for outputs in ("m", 1)
    )  # fmt: skip
    assert 5 < apart / shared < 8


@pytest.mark.parametrize("init", ["gaussian", "orthogonal", "identity", "diagonal", "zero"])
def test_every_start_has_one_last_layer_row_per_output(init):
    net_of_outputs = catalogue.make("architectures", "dense", widths=[6], init=init, outputs=4)
    start = net_of_outputs.start(Streams([0, 1])("init"), 5)
    assert {tensor_name: value.shape[1:] for tensor_name, value in start.items()} == net_of_outputs.layout(
        5
    ).shapes
    assert net_of_outputs.layout(5).shapes["W2"] == (4, 6)
    assert net_of_outputs.layout(5).size == 5 * 6 + 6 * 4
