"""Measures of parameters: gradients, Hessians and signals against those of torch and of loops by hand."""

import math
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
import torch
from building import LLS, beginning, experiment, gd, measures_of, needed, raw
from discovery import problem_for, variants

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.hypotheses import curvature as eigenvalues
from engine.hypotheses.curvature import Curvature
from engine.measures import Measure, MeasureNeeds, named
from engine.planning import run_plan as planning_measures
from engine.problems.instances import DenseInstances
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec import reading

D = 4
NET = {"kind": "dense", "widths": [3, 2], "activation": "tanh"}
STEPS = {"kind": "steps", "steps": 3, "records": 3, "train": 5}
PICTURES = [{"kind": "sharpness"}, {"kind": "gradient-norm"}, {"kind": "layer-variance"}]

OF_ANY = PICTURES[:2]


def described(architecture, lr=0.05, pictures=PICTURES, **words):
    settings = {"protocol": STEPS, "replicas": 2, "d": D, **words}
    matrix = settings.pop("matrix", {"kind": "gaussian", "n": 6})
    learner = {"architecture": architecture, "update": {"kind": "gd", "lr": lr}}
    plain = experiment(matrix, learners={"it": learner}, **settings)
    return with_pictures(plain, pictures)


def with_pictures(setup, measures):

    from engine.spec import reading

    words = msgspec.to_builtins(setup)
    along = {"layer-variance": "layer", "hessian-spectrum": "j"}
    words["pictures"] = [
        {"measure": measure, "x": along.get(measure["kind"], setup.protocol.clock)} for measure in measures
    ]
    return reading.parse(words)


def by_hand(setup, lrs):
    """Parameters of every replica and rate along the steps, with torch alone, and the data."""
    hypothesis, data = beginning(setup)
    courses = {}
    with torch.enable_grad():
        for replica in range(data.replicas):
            x, y = data.instances.rows[replica, :5], data.labels[replica, :5]
            for lr in lrs:
                w = [hypothesis.params[tensor_name][replica] for tensor_name in hypothesis.params]
                course = [w]
                for _ in range(3):
                    leaves = [layer.clone().requires_grad_() for layer in w]
                    grads = torch.autograd.grad(mean_loss(leaves, x, y), leaves)
                    w = [layer - lr * grad for layer, grad in zip(w, grads, strict=True)]
                    course.append(w)
                courses[replica, lr] = course, x, y
    return courses, data


def mean_loss(layers, x, y):
    signal = x.T
    for number, layer in enumerate(layers):
        signal = layer @ (signal if number == 0 else torch.tanh(signal))
    return ((signal[0] - y) ** 2).mean()


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.slow
def test_sharpness_and_gradient_norm_equal_torch_along_the_steps(exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(eigenvalues, "EXACT", 0)
        monkeypatch.setattr(eigenvalues, "TOLERANCE", 1e-10)
    setup = described(NET, lr=[0.05, 0.1])
    courses, _ = by_hand(setup, (0.05, 0.1))
    for curve in run(setup).curves:
        for replica in range(2):
            course, x, y = courses[replica, curve.rate]
            for record, layers in ((0, course[0]), (3, course[3])):
                flat, shapes = (
                    torch.cat([layer.flatten() for layer in layers]),
                    [layer.shape for layer in layers],
                )

                def of_flat(vector, shapes=shapes, x=x, y=y):
                    parts = torch.split(vector, [math.prod(shape) for shape in shapes])
                    return mean_loss([part.view(s) for part, s in zip(parts, shapes, strict=True)], x, y)

                hessian = torch.autograd.functional.hessian(of_flat, flat)
                top = torch.linalg.eigvalsh(hessian)[-1].item()
                length = torch.autograd.functional.jacobian(of_flat, flat).norm().item()
                assert curve.values("sharpness")[record, replica] == pytest.approx(top, rel=1e-9)
                assert curve.values("gradient-norm")[record, replica] == pytest.approx(length, rel=1e-9)


def test_lanczos_attains_its_stated_tolerance():
    setup = described({**NET, "widths": [12, 9]})
    hypothesis, data = beginning(setup)
    shares = torch.full((1, 6), 1 / 6, dtype=torch.float64)
    loss = catalogue.make("losses", "square")
    arguments = hypothesis.architecture, hypothesis.tensors, data.instances, data.labels, shares, loss
    curvature = Curvature(*arguments)
    assert curvature.size > eigenvalues.EXACT
    tops = torch.linalg.eigvalsh(curvature.matrices())[:, -1]
    np.testing.assert_allclose(eigenvalues.largest(curvature), tops, rtol=eigenvalues.TOLERANCE**2)


@pytest.mark.parametrize("steps", [eigenvalues.STEPS, 0])
def test_batched_eigenvalues_equal_exact_ones_and_broken_nets_give_nan(steps, monkeypatch):
    """With 0 steps no net converges together with others, so that ARPACK computes each."""
    if not steps:
        monkeypatch.setattr(eigenvalues, "MOST_NUMBERS", 0)
    setup = described({**NET, "widths": [12, 9]}, replicas=3)
    hypothesis, drawn = beginning(setup)
    shares = torch.full((1, 6), 1 / 6, dtype=torch.float64)
    loss = catalogue.make("losses", "square")
    tensors = dict(hypothesis.tensors)
    curvature = Curvature(hypothesis.architecture, tensors, drawn.instances, drawn.labels, shares, loss)
    tops = torch.linalg.eigvalsh(curvature.matrices())[:, -1]
    np.testing.assert_allclose(eigenvalues.largest(curvature), tops, rtol=eigenvalues.TOLERANCE**2)
    layer = hypothesis.architecture.layers[0]
    tensors[layer] = tensors[layer].clone()
    tensors[layer][1] = torch.inf
    broken = Curvature(hypothesis.architecture, tensors, drawn.instances, drawn.labels, shares, loss)
    tops[1] = torch.nan
    np.testing.assert_allclose(eigenvalues.largest(broken), tops, rtol=eigenvalues.TOLERANCE**2)


def test_hessians_with_few_distinct_eigenvalues_need_at_most_four_products():
    """The zero matrix, rank 1, −I, and three eigenvalues: Krylov spaces of at most three dimensions."""
    size = 2 * eigenvalues.EXACT
    spectra = torch.zeros(4, size, dtype=torch.float64)
    spectra[1, 0], spectra[2], spectra[3, :20], spectra[3, 20:50] = 3, -1, 2, -5
    turns = torch.linalg.qr(torch.randn(4, size, size, generator=torch.Generator().manual_seed(1))).Q.double()
    turns = torch.linalg.qr(turns).Q
    matrices = (turns * spectra[:, None]) @ turns.mT
    products = []

    def product(vectors):
        products.append(vectors)
        return (matrices @ vectors[:, :, None])[..., 0]

    curvature = SimpleNamespace(size=size, gradient=spectra, products=product)
    tops = eigenvalues.largest(curvature)
    np.testing.assert_allclose(tops, [0, 3, -1, 2], atol=1e-12)
    assert len(products) <= 4


def test_warm_started_lanczos_is_faster_and_escapes_a_wrong_eigenvector():
    """The first net has its top eigenvector to start near, and the second that of another eigenvalue."""
    size = 8 * eigenvalues.EXACT
    spectra = torch.linspace(0, 5, size, dtype=torch.float64).expand(2, -1).clone()
    spectra[:, -2:] = torch.tensor([12.0, 20.0])
    products = []

    def product(vectors):
        products.append(vectors)
        return spectra * vectors

    curvature = SimpleNamespace(size=size, gradient=spectra, products=product)
    tops, vectors = eigenvalues.largest_near(curvature, None)
    cold_products = len(products)
    np.testing.assert_allclose(vectors[:, -1].abs(), 1, rtol=1e-6)
    near = torch.eye(size, dtype=torch.float64)[[-1, -2]]
    tops, vectors = eigenvalues.largest_near(curvature, near[:1].expand(2, -1))
    assert len(products) - cold_products <= 0.6 * cold_products
    tops, vectors = eigenvalues.largest_near(curvature, near)
    np.testing.assert_allclose(tops, 20, rtol=eigenvalues.TOLERANCE**2)


SMALL = {
    kind: words
    for kind in catalogue.members("architectures")
    for words in variants(catalogue.members("architectures")[kind])[:1]
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("path", ["dense", "structured"])
@pytest.mark.parametrize("kind", SMALL)
def test_hessian_products_equal_finite_differences_of_the_gradient(kind, path):
    setup = experiment(
        "hadamard", learners={"it": {"architecture": SMALL[kind], "update": "gd"}}, d=4, replicas=2
    )
    hypothesis, data = beginning(setup)
    if path == "dense":
        data = data.dense()
    loss, step = catalogue.make("losses", "square"), 1e-6
    shares = torch.full((1, 4), 0.25, dtype=torch.float64)
    generator = torch.Generator().manual_seed(1)
    start = {
        tensor_name: tensor + 0.1 * torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        if tensor_name in hypothesis.architecture.layers
        else tensor
        for tensor_name, tensor in hypothesis.tensors.items()
    }

    def at(tensors):
        return Curvature(hypothesis.architecture, tensors, data.instances, data.labels, shares, loss)

    at_start = at(start)
    vectors = torch.randn(2, at_start.size, generator=generator, dtype=torch.float64)
    lengths = [start[layer_name][0].numel() for layer_name in hypothesis.architecture.layers]
    parts = dict(zip(hypothesis.architecture.layers, torch.split(vectors, lengths, 1), strict=True))

    def moved(by):
        changed = {
            tensor_name: start[tensor_name] + by * part.view_as(start[tensor_name])
            for tensor_name, part in parts.items()
        }
        return at({**start, **changed}).gradient

    difference = (moved(step) - moved(-step)) / (2 * step)
    scale = difference.abs().max()
    np.testing.assert_allclose(at_start.products(vectors), difference, atol=1e-6 * scale)
    if at_start.size <= 64:
        by_matrix = (at_start.matrices() @ vectors[:, :, None])[:, :, 0]
        np.testing.assert_allclose(at_start.products(vectors), by_matrix, atol=1e-12 * scale)
    for operator, vector, image in zip(
        at_start.operators(), vectors, at_start.products(vectors), strict=True
    ):
        np.testing.assert_allclose(operator @ vector.numpy(), image, atol=1e-12 * scale)


@pytest.mark.parametrize("loss", catalogue.members("losses"))
def test_every_loss_has_a_finite_sharpness(loss):
    net = (
        {"kind": "dense", "widths": [3], "outputs": "m"} if catalogue.make("losses", loss).joint else "linear"
    )
    words = {"pictures": OF_ANY, "loss": loss, "replicas": 1, "protocol": "at-init"}
    setup = described(net, **problem_for(loss), **words)
    assert np.isfinite(run(setup).curves[0].values("sharpness")).all()


def test_linear_neuron_sharpness_is_twice_the_top_second_moment_eigenvalue():
    setup = described("linear", pictures=OF_ANY)
    _, data = beginning(setup)
    for replica in range(2):
        x = data.instances.rows[replica, :5].numpy()
        top = 2 * np.linalg.eigvalsh(x.T @ x / 5)[-1]
        np.testing.assert_allclose(run(setup).curves[0].values("sharpness")[:, replica], top, rtol=1e-9)


def test_sharpness_and_gradient_norm_are_nan_before_the_first_example():
    curve = run(described("linear", pictures=OF_ANY, protocol="one-pass")).curves[0]
    for measure_name in ("sharpness", "gradient-norm"):
        assert np.array_equal(np.isnan(curve.values(measure_name)), [[True, True], *[[False, False]] * 6])


@pytest.mark.filterwarnings("error")
@pytest.mark.slow
def test_sharpness_is_nan_after_divergence():
    net = {**NET, "widths": [12, 9], "activation": "identity"}
    setup = described(net, lr=5.0, protocol={**STEPS, "steps": 30, "records": 30})
    curve = run(setup).curves[0]
    assert curve.diverged == 2
    assert np.array_equal(np.isnan(curve.values("sharpness")), np.isnan(curve.values("loss")))


def test_sharpness_is_measured_at_every_evaluation_point_of_steps():
    steps = {"kind": "steps", "steps": 75, "records": 70}
    curve = run(described("linear", pictures=OF_ANY, replicas=1, protocol=steps)).curves[0]
    assert curve.length == 71
    assert np.isfinite(curve.values("sharpness")).all()


def test_parameter_measures_are_equal_on_structured_and_dense():
    setups = {
        path: described(NET, matrix="hadamard", d=16, protocol={**STEPS, "train": 16}, path=path)
        for path in ("structured", "dense")
    }
    fast, naive = (run(setup).curves[0] for setup in setups.values())
    assert (fast.backend, naive.backend) == ("structured", "dense")
    for measure_name in ("sharpness", "gradient-norm"):
        np.testing.assert_allclose(fast.values(measure_name), naive.values(measure_name), rtol=1e-9)
    layers, same = (curve.array("layer-variance").values for curve in (fast, naive))
    np.testing.assert_allclose(layers, same, rtol=1e-9)


def test_compiled_refuses_gradient_norm_and_other_backends_measure_it():
    for words in ({"path": "structured"}, {"update": "egu"}):
        update = words.pop("update", "gd")
        learner = {"it": {"architecture": "linear", "update": update}}
        setup = with_pictures(
            experiment("hadamard", learners=learner, d=64, **words), [{"kind": "gradient-norm"}]
        )
        assert np.isfinite(run(setup).curves[0].values("gradient-norm")[1:]).all()
    compiled = experiment("hadamard", learners=learner, d=64, path="compiled")
    measured = with_pictures(compiled, [{"kind": "gradient-norm"}])
    with pytest.raises(BadInput, match="the backend does not measure gradient-norm"):
        run(measured)


@pytest.mark.parametrize("activation", ["tanh", "relu", "identity"])
def test_layer_variance_equals_naive_loops_over_layers_rows_and_units(activation):
    net = {"kind": "dense", "widths": [5, 3], "activation": activation, "scale": 1.5}
    setup = described(net, protocol="at-init", pictures=[{"kind": "layer-variance"}])
    hypothesis, data = beginning(setup)
    variances = run(setup).curves[0].array("layer-variance")
    assert variances.values.shape == (1, 2, 2)
    σ = {"tanh": math.tanh, "relu": lambda z: max(z, 0.0), "identity": lambda z: z}[activation]
    for replica in range(2):
        rows = data.instances.rows[replica].tolist()
        for number in range(2):
            total = 0.0
            for x in rows:
                signal = x
                for layer in [
                    hypothesis.params[f"W{number_of_layer}"][replica].tolist()
                    for number_of_layer in range(1, number + 2)
                ]:
                    z = [sum(w * s for w, s in zip(unit, signal, strict=True)) for unit in layer]
                    signal = [σ(pre_activation) for pre_activation in z]
                total += sum(entry**2 for entry in signal) / len(signal)
            assert variances.values[0, replica, number] == pytest.approx(
                1.5**2 * total / len(rows), rel=1e-12
            )
    (index,) = named()["layer-variance"].index(setup.learners[0], setup.problem)
    assert (index.name, index.values.tolist()) == ("layer", [1.0, 2.0])


@pytest.mark.slow
def test_mean_layer_variance_of_linear_nets_follows_the_weight_scale():
    net = {"kind": "dense", "widths": [40, 40], "scale": 1.2}
    setup = described(
        net, protocol="at-init", pictures=[{"kind": "layer-variance"}], replicas=400, dtype="float32"
    )
    variances = run(setup).curves[0].array("layer-variance").values[0]
    _, data = beginning(setup)
    lengths = data.instances.rows.square().sum(2).mean(1).double().numpy()  # of each replica
    for number in range(2):
        ratios = variances[:, number] / (1.44 ** (number + 2) * lengths / D)
        assert abs(ratios.mean() - 1) < 4.5 * ratios.std() / math.sqrt(len(ratios))


CLASSES = {
    "matrix": {"kind": "clusters", "classes": 3, "n": 9, "sigma": 0.8},
    "target": "classes",
    "protocol": {"kind": "steps", "loss": "cross-entropy", "steps": 3, "records": 3, "train": 7},
}

REGRESSIONS = {
    "softmax regression": {"kind": "linear"},
    "nets that the loss couples": {"kind": "dense", "widths": [2], "activation": "tanh"},
    "one net for all classes": {"kind": "dense", "widths": [3], "activation": "tanh", "outputs": "m"},
}


def cross_entropy(architecture, parameters, x, classes):
    """Mean cross-entropy of the parameters of a replica in sequence, with torch alone."""
    d, widths = x.shape[1], architecture.get("widths")
    if widths is None:
        scores = x @ parameters.view(3, d).T
    elif "outputs" in architecture:
        first, last = parameters[: widths[0] * d].view(widths[0], d), parameters[widths[0] * d :]
        scores = torch.tanh(x @ first.T) @ last.view(3, widths[0]).T
    else:
        nets = [
            (part[: widths[0] * d].view(widths[0], d), part[widths[0] * d :])
            for part in parameters.view(3, -1)
        ]
        scores = torch.stack([torch.tanh(x @ first.T) @ last for first, last in nets], 1)
    return torch.nn.functional.cross_entropy(scores, classes)


@pytest.mark.parametrize("is_exact", [True, False], ids=["whole Hessian", "Lanczos"])
@pytest.mark.parametrize("architecture_name", REGRESSIONS)
@pytest.mark.slow
def test_hessian_spectrum_and_gradient_share_equal_torch(architecture_name, is_exact, monkeypatch):
    if not is_exact:
        monkeypatch.setattr(eigenvalues, "WHOLE", 0)
    architecture = REGRESSIONS[architecture_name]
    spectra = [
        {"kind": "hessian-spectrum", "most": 4, "scale": scale} for scale in ("one", "largest", "next")
    ]
    share = {"kind": "gradient-share", "directions": 2}
    setup = described(architecture, 0.4, [*spectra, share], d=3, **CLASSES)
    curve = run(setup).curves[0]
    hypothesis, drawn = beginning(setup)
    for replica in range(2):
        x = drawn.instances.rows[replica, :7]
        classes = drawn.labels.view(2, 3, -1)[replica, :, :7].argmax(0)
        nets = len(next(iter(hypothesis.params.values()))) // 2
        members = [tensor[replica * nets : (replica + 1) * nets] for tensor in hypothesis.params.values()]
        parameters = torch.cat(
            [torch.cat([tensor[net].flatten() for tensor in members]) for net in range(nets)]
        )
        for step in range(4):

            def loss(place, x=x, classes=classes):
                return cross_entropy(architecture, place, x, classes)

            gradient = torch.func.grad(loss)(parameters)
            eigenvalues_of_hessian, vectors = torch.linalg.eigh(torch.func.hessian(loss)(parameters))
            top = eigenvalues_of_hessian.flip(0)[:4].numpy()
            expected = {"one": top, "largest": top / top[0], "next": top[:-1] / top[1:]}
            if step in (0, 3):
                for scale, measure in zip(expected, setup.pictures, strict=False):
                    measured = curve.array(measure.measure.name).values[0 if step == 0 else -1, replica]
                    np.testing.assert_allclose(measured, expected[scale], rtol=1e-5)
            share = (vectors[:, -2:].T @ gradient).square().sum() / gradient.square().sum()
            measured = curve.values(setup.pictures[-1].measure.name)[step, replica]
            np.testing.assert_allclose(measured, share, rtol=1e-5)
            parameters = parameters - 0.4 * gradient


def test_the_gradient_share_is_nan_for_an_undetermined_eigenspace():
    words = {"matrix": "hadamard", "protocol": "at-init", "d": D}
    for directions, is_determined in ((1, False), (D, True)):
        share = {"kind": "gradient-share", "directions": directions}
        curve = run(described("linear", pictures=[share], **words)).curves[0]
        shares = curve.values(curve.measures[-1])
        assert np.isfinite(shares).all() == is_determined, "all eigenvalues of a Hadamard matrix are equal"


def test_spectra_are_nan_and_shares_are_refused_beyond_the_parameters():
    pictures = [{"kind": "hessian-spectrum", "most": 5}]
    curve = run(described("linear", pictures=pictures)).curves[0]
    spectra = curve.array("hessian-spectrum (most = 5)").values[-1]
    assert np.isfinite(spectra[:, :D]).all()
    assert np.isnan(spectra[:, D]).all()
    with pytest.raises(BadInput, match=f"has {D + 1} parameters or more"):
        described("linear", pictures=[{"kind": "gradient-share", "directions": D + 1}])


def test_solvers_have_no_parameter_measures_and_neurons_no_layer_variance():
    learners = {"LLS": LLS, "neuron": gd(0.01), "net": gd(0.01, **NET)}
    setup = with_pictures(
        experiment("gaussian", learners=learners, d=D, protocol=STEPS | {"train": 4}), PICTURES
    )
    names = [{measure.name for measure in measures_of(learner, setup)} for learner in setup.learners]
    of_parameters = {"sharpness", "gradient-norm"}
    assert names[0] == {"loss"}
    assert names[1] == {"loss"} | of_parameters
    assert names[2] == {"loss", "layer-variance"} | of_parameters
    for measure, learner, where in (
        ("sharpness", "LLS", "has an architecture"),
        ("gradient-norm", "LLS", "has an architecture"),
    ):
        claim = {"text": "It is low", "learner": learner, "k": 1, "below": 1.0, "of": measure}
        with pytest.raises(BadInput) as caught:
            experiment("gaussian", learners=learners, d=D, protocol=STEPS | {"train": 4}, claims=[claim])
        assert f"{measure} is measured only where" in caught.value.fault
        assert where in caught.value.fault


def test_a_measure_of_a_picture_is_recorded():
    setup = described("linear", pictures=[{"kind": "loss", "rows": "train"}])
    assert {"loss", "train"} == {measure.name for measure in measures_of(setup.learners[0], setup)}


class Moved(Measure, frozen=True, tag="moved"):
    """How far the parameters have moved."""

    def needs(self):
        return MeasureNeeds(parameters=True, start=True)

    def value(self, probe):
        gaps = [
            (probe.parameters[tensor_name] - start).flatten(1) for tensor_name, start in probe.start.items()
        ]
        return probe.data.over_targets(torch.cat(gaps, 1).norm(dim=1)[None])[0]


def test_a_measure_can_use_the_starting_weights(monkeypatch):
    requested = planning_measures._requested_measures
    more = {"moved": Moved()}
    monkeypatch.setattr(planning_measures, "_requested_measures", lambda *words: requested(*words) | more)
    setup = described(NET, pictures=[])
    courses, _ = by_hand(setup, (0.05,))
    values = run(setup, gate=lambda: 2).curves[0].values("moved")
    for replica in range(2):
        course, *_ = courses[replica, 0.05]
        gaps = [[(layer - start).norm() for layer, start in zip(w, course[0], strict=True)] for w in course]
        np.testing.assert_allclose(values[:, replica], np.linalg.norm(gaps, axis=1), rtol=1e-9)


def test_the_memory_estimate_includes_second_derivatives():
    net = {**NET, "widths": [256, 256]}
    with_it, without = (
        needed(described(net, d=256, replicas=1, pictures=pictures, protocol="at-init"))
        for pictures in ([{"kind": "sharpness"}], [])
    )
    assert with_it - without > eigenvalues.KRYLOV * 8 * 2 * 256 * 256


PROBLEM = {"matrix": {"kind": "gaussian", "n": 12, "d": 3}, "target": {"kind": "feature", "index": 1}}


def test_start_sharpness_rates_are_divided_by_the_starting_sharpness_per_replica():
    protocol = {"kind": "steps", "steps": 2}
    words = raw(
        learners={"it": gd(0.5)}, protocol=protocol, labels="sign", replicas=2, dtype="float64", **PROBLEM
    )
    words["learners"][0]["rate_unit"] = "start-sharpness"
    described = reading.parse(words)
    losses_of_run = run(described).curves[0].values("loss")
    _, data = beginning(described)
    for replica in range(2):
        X, y = data.instances.rows[replica].numpy(), data.labels[replica].numpy()
        rate = 0.5 / np.linalg.eigvalsh(2 * X.T @ X / len(X))[-1]
        w, losses = np.zeros(3), []
        for _ in range(3):
            losses.append(np.mean((X @ w - y) ** 2))
            w = w - rate * 2 * X.T @ (X @ w - y) / len(X)
        np.testing.assert_allclose(losses_of_run[:, replica], losses, rtol=1e-9)


def test_relative_sharpness_is_the_sharpness_divided_by_its_starting_value():
    net = gd(0.05, kind="dense", widths=[4], activation="tanh")
    protocol = {"kind": "steps", "steps": 4}
    words = raw(learners={"net": net}, protocol=protocol, replicas=3, dtype="float64", **PROBLEM)
    words["pictures"] = [{"x": "step", "measure": measure} for measure in ("sharpness", "relative-sharpness")]
    curve = run(reading.parse(words)).curves[0]
    sharpness, relative = curve.values("sharpness"), curve.values("relative-sharpness")
    np.testing.assert_allclose(relative, sharpness / sharpness[0], rtol=1e-6)
    assert np.ptp(relative[-1]) > 0


def test_the_logistic_hessian_of_a_neuron_equals_its_closed_form():
    words = {"loss": "logistic", "replicas": 2, "target": "all"}
    setup = experiment(
        "rademacher", learners={"it": {"architecture": "linear", "update": "gd"}}, d=4, **words
    )
    hypothesis, data = beginning(setup)
    generator = torch.Generator().manual_seed(1)
    w = torch.randn(8, 4, generator=generator, dtype=torch.float64)
    shares = torch.rand(1, data.instances.n, generator=generator, dtype=torch.float64)
    loss = catalogue.make("losses", "logistic")
    hessians = Curvature(
        hypothesis.architecture, {"w": w}, data.instances, data.labels, shares, loss
    ).matrices()
    for net in range(8):
        x = data.instances.rows[net // 4].numpy()
        p = 1 / (1 + np.exp(-x @ w[net].numpy()))
        weights = shares[0].numpy() * p * (1 - p)
        np.testing.assert_allclose(hessians[net], x.T @ (weights[:, None] * x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("words", [{"lines": []}, {"lines": ["two-over-eta"]}, {}])
def test_a_relative_picture_computes_its_reference_line_even_if_not_drawn(words):
    setup = described(NET, lr=0.1, replicas=1)
    document = msgspec.to_builtins(setup)
    document["pictures"] = [{"x": "step", "measure": "sharpness", "relative": "two-over-eta", **words}]
    setup = reading.parse(document)
    results = of_one(setup, run(setup))
    (curve,) = view(setup.pictures[0], results).curves
    sharpness = results.traces[0].curves[0].mean("sharpness")
    np.testing.assert_allclose(curve.y, sharpness / 20, rtol=1e-12)
    assert np.isfinite(curve.y).all()


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("loss", ["square", "logistic", "cross-entropy"])
@pytest.mark.parametrize("activation", ["identity", "relu", "tanh", "gelu", "softplus", "selu"])
def test_layered_hessian_products_equal_autograd_products(activation, loss, biases):
    """Two nets of two hidden layers, and five vectors for each of them."""
    outputs, rng = 3 if loss == "cross-entropy" else 1, np.random.default_rng(3)
    words = {"widths": [4, 3], "activation": activation, "outputs": outputs, "cb": 0.5 if biases else 0.0}
    net = catalogue.make("architectures", "dense", **words, l2_penalty=0.1)
    start = net.start(Streams([0, 1])("init"), D)
    tensors = {layer: torch.as_tensor(tensor) for layer, tensor in start.items()}
    labels = torch.as_tensor((rng.random((2 * outputs, 6)) < 0.5).astype(float))
    shares = torch.full((1, 6), 1 / 6, dtype=torch.float64)
    cost = catalogue.make("losses", loss).of_targets(outputs)
    instances = DenseInstances(torch.as_tensor(rng.standard_normal((2, 6, D))))
    curvature = Curvature(net, tensors, instances, labels, shares, cost)
    assert curvature._layered_products is not None
    by_graph = Curvature(net, tensors, instances, labels, shares, cost)
    by_graph.__dict__["_layered_products"] = None
    vectors = torch.as_tensor(rng.standard_normal((5, 2, curvature.size)))
    expected = by_graph._hessian_products(vectors)
    np.testing.assert_allclose(curvature._hessian_products(vectors), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(curvature.products(vectors[0]), expected[0], rtol=1e-10, atol=1e-12)
