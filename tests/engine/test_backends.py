"""Every backend computes the same as `dense`; one place chooses backends, and parts do not know them."""

import itertools
import json

import msgspec
import numpy as np
import pytest
from building import LLS, experiment, gd, planned, refusal, spectrum_of
from crossing import chosen
from discovery import GENTLE, crossed_groups, few, in_turns
from twins import FAST, assert_twins, serving, twins

import engine.backends
from engine.backends import Backend, backends, by_responses, by_rows
from engine.backends.dense import OnMatrix
from engine.backends.nets import trained_group
from engine.core import catalogue
from engine.core.parts import BadInput
from engine.measures import named
from engine.results.report import encode
from engine.results.results import of_one
from engine.runtime.run import run
from engine.spec.experiment import missing
from engine.updates.egu import EGU
from engine.updates.gd import GD

pytestmark = pytest.mark.slow

TRAINED = {learner_name: words for learner_name, words in GENTLE.items() if "solver" not in words}


@crossed_groups(few(TRAINED))
def test_every_learner_has_equal_curves_on_every_backend(learners):
    words = {"d": 16, "replicas": 2}
    described = experiment(learners=learners, **words)
    served = {
        backend: {
            learner.name: learners[learner.name]
            for learner in described.learners
            if refusal(its, learner, described) is None
        }
        for backend, its in FAST.items()
    }
    assert {name for names in served.values() for name in names} == learners.keys()
    for dtype, tolerance in (("float64", 1e-9), ("float32", 1e-4)):
        dense = run(experiment(path="dense", dtype=dtype, learners=learners, **words))
        for backend, these in served.items():
            if these:
                fast = run(experiment(path=backend, dtype=dtype, learners=these, **words))
                assert {curve.backend for curve in fast.curves} == {backend}
                for curve in fast.curves:
                    assert_twins(curve, dense.curve(curve.name), tolerance)


def test_every_fast_backend_serves_some_of_the_tested_learners():
    described = [
        experiment(learners=group, d=16, protocol=PROTOCOLS[protocol])
        for group in in_turns(TRAINED)
        for protocol in ("one-pass", "erm")
    ]
    served = {
        backend_name: [
            refusal(backend, learner, setup) is None for setup in described for learner in setup.learners
        ]
        for backend_name, backend in FAST.items()
    }
    assert all(any(these) for these in served.values())
    assert served["by-rows"] == served["one-by-one"], "on orthogonal instances"
    assert len({tuple(these) for these in served.values()}) == len(FAST) - 1 >= 3


MATRICES = {
    "rotated": {"kind": "hadamard", "rotate": True},
    "axes": {"kind": "orthogonal"},
    "hadamard": {"kind": "hadamard"},
    "in order": {"kind": "hadamard", "permute": False, "row_signs": False},
    "repeated": {"kind": "hadamard", "repeat": 1},
    "shifted": {"kind": "hadamard01"},
    "products": {"kind": "xor", "features": "products"},
}
PROTOCOLS = {
    "one-pass": {"kind": "one-pass"},
    "batches": {"kind": "one-pass", "batch": 3},
    "replacement": {"kind": "one-pass", "replacement": True},
    "average": {"kind": "one-pass", "average": True},
    "few": {"kind": "one-pass", "examples": 5},
    "to-consistency": {"kind": "to-consistency", "passes": 3},
    "erm": {"kind": "erm", "every": 4, "steps": 5},
    "epochs": {"kind": "epochs", "epochs": 5},
    "steps": {"kind": "steps", "steps": 5},
    "mini-batches": {"kind": "steps", "steps": 9, "batch": 3, "train": 10},
}
NOISE = {"without noise": 0.0, "noise": 0.1}
TAKEN = (
    "gd dense activation=relu",
    "gd linear",
    "momentum neuron",
    "adagrad linear",
    "egu-pm linear",
    "gd spindly",
)


def has_structure(name, matrix, protocol, noise):
    """Whether the structure of this matrix is used for a learner under this protocol."""
    turned = matrix in ("rotated", "axes")
    if name == "adagrad linear":
        return not turned and protocol in ("one-pass", "replacement", "average", "few")
    return not turned or name not in ("egu-pm linear", "gd spindly")


def structured():
    """Combinations of learners, matrices and protocols that cover every pair."""
    cases = [case for case in itertools.product(TAKEN, MATRICES, PROTOCOLS, NOISE) if has_structure(*case)]
    return chosen(cases, [dict(enumerate(case)) for case in cases])


@pytest.mark.parametrize(("name", "matrix", "protocol", "noise"), structured())
def test_every_protocol_gives_equal_curves_on_every_backend(name, matrix, protocol, noise):
    words = {"matrix": MATRICES[matrix], "protocol": PROTOCOLS[protocol], "noise": NOISE[noise]}
    words |= {"learners": {name: GENTLE[name]}, "d": 16, "replicas": 2}
    names = serving(experiment(**words))
    assert names
    for backend in names:
        [(curve, twin)] = twins(backend, **words)
        assert_twins(curve, twin)


UNSTRUCTURED = {
    "Gaussian": {"kind": "gaussian", "n": 20},
    "signs": {"kind": "rademacher", "n": 20},
    "Paley": {"kind": "hadamard", "d": 12},
    "spheres": {"kind": "sphere", "n": 20},
}
BY_NUMPY = {**GENTLE, "LLS": LLS, "rates": {"update": {"kind": "egu-pm", "lr": [0.01, 0.02]}}}


WITH = {
    "replacement": {"protocol": {"kind": "one-pass", "replacement": True}},
    "few": {"protocol": {"kind": "one-pass", "examples": 7}},
    "average": {"protocol": {"kind": "one-pass", "average": True}},
    "logistic": {"labels": "sign", "loss": "logistic"},
    "layer rates": {"learners": {"it": {**gd(0.02), "layer_rates": {"w": 0.5}}}},
    "rows seen": {"train_loss": True},
}


@pytest.mark.parametrize("words", WITH.values(), ids=WITH)
@pytest.mark.parametrize("ahead", [1, 3, 128])
@pytest.mark.parametrize("matrix", UNSTRUCTURED)
def test_by_rows_curves_equal_dense_curves(matrix, ahead, words, monkeypatch):
    monkeypatch.setattr(by_rows, "AHEAD", ahead)
    learners = {"it": gd([0.01, 0.02])}
    if matrix in ("signs", "Paley"):
        learners |= {"adagrad": {"update": "adagrad"}, "sign": {"update": "sign"}}
    words = {"target": "all", "learners": learners, "noise": 0.2 * ("labels" not in words), **words}
    words |= {"matrix": {"d": 16, **UNSTRUCTURED[matrix]}, "replicas": 2}
    for curve, twin in twins("by-rows", **words):
        assert_twins(curve, twin)
        for measure in twin.measures:
            np.testing.assert_allclose(curve.values(measure), twin.values(measure), atol=1e-9)


OF_RESPONSES = {name: words for name, words in WITH.items() if name != "replacement"} | {
    "several rates": {"learners": {"it": {"update": {"kind": "momentum", "lr": [0.001, 0.004]}}}},
    "one target": {"target": {"kind": "weights", "w": [0.5, -1.5]}},
}


@pytest.mark.parametrize("together", [1, 40, 1 << 18])
@pytest.mark.parametrize("words", OF_RESPONSES.values(), ids=OF_RESPONSES)
def test_by_responses_curves_equal_dense_curves(words, together, monkeypatch):
    monkeypatch.setattr(by_responses, "CELLS", together)
    learners = {"heavy": {"update": {"kind": "momentum", "lr": 0.005, "momentum": 0.7}}, "gd": gd(0.02)}
    words = {"target": "all", "learners": learners, "noise": 0.2 * ("labels" not in words), **words}
    for curve, twin in twins("by-responses", d=16, replicas=3, **words):
        assert_twins(curve, twin)
        for measure in twin.measures:
            np.testing.assert_allclose(curve.values(measure), twin.values(measure), atol=1e-9)


def test_by_responses_is_chosen_only_for_momentum_on_many_orthogonal_rows():
    learners = {"momentum": {"update": "momentum"}, "GD": gd(1e-4), "Adam": {"update": "adam"}}
    for d, of_momentum in ((512, "by-responses"), (16, "dense")):
        described = experiment(d=d, target="all", learners=learners)
        chosen_backends = {
            learner.name: planned(learner, described).backend.name for learner in described.learners
        }
        assert chosen_backends["momentum"] == of_momentum
        assert "by-responses" not in (chosen_backends["GD"], chosen_backends["Adam"])


def test_by_responses_refuses_examples_drawn_with_replacement():
    described = experiment(
        learners={"it": {"update": "momentum"}}, protocol={"kind": "one-pass", "replacement": True}
    )
    assert refusal(by_responses.BACKEND, described.learners[0], described) == "examples may be seen twice"


def test_by_rows_is_chosen_for_gd_with_several_weight_vectors():
    for words, backend in (
        ({"target": "all"}, "by-rows"),
        ({"target": "feature"}, "dense"),
        ({"target": "feature", "learners": {"GD": gd([i * 1e-4 for i in range(1, 18)])}}, "by-rows"),
        ({"target": "all", "learners": {"EGU": {"update": "egu"}}}, "dense"),
    ):
        described = experiment("rademacher", d=512, **words)
        assert planned(described.learners[0], described).backend.name == backend


@pytest.mark.parametrize("labels", ["soft", "sign"])
@pytest.mark.parametrize("matrix", UNSTRUCTURED)
def test_numpy_curves_equal_dense_curves_on_unstructured_matrices(matrix, labels):
    words = {"matrix": {"d": 16, **UNSTRUCTURED[matrix]}, "replicas": 2, "labels": labels}
    alone = {name: experiment(learners={name: learner}, **words) for name, learner in BY_NUMPY.items()}
    served = {
        name: BY_NUMPY[name]
        for name, described in alone.items()
        if refusal(FAST["numpy"], described.learners[0], described) is None
    }
    for name, is_served in {
        "gd linear": True,
        "adagrad linear": matrix in ("signs", "Paley"),
        "rates": matrix in ("signs", "Paley"),
        "LLS": matrix == "Paley",
    }.items():
        assert (name in served) == is_served, name
    for curve, twin in twins("numpy", learners=served, **words):
        assert_twins(curve, twin)


@pytest.mark.parametrize(
    ("name", "backends_there"), [("gd linear", 4), ("momentum linear", 2), ("egu linear", 2)]
)
def test_curves_of_all_targets_and_rates_are_equal_on_every_backend(name, backends_there):
    learner = {"update": {"kind": name.split()[0], "lr": [0.001, 0.01]}}
    words = {"target": "all", "learners": {name: learner}, "d": 16, "replicas": 2, "spectrum": True}
    names = serving(experiment(**words))
    assert len(names) == backends_there
    for curve, twin in (pair for backend in names for pair in twins(backend, **words)):
        assert_twins(curve, twin)
        np.testing.assert_allclose(spectrum_of(curve).values, spectrum_of(twin).values, atol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "exponential"])
def test_curves_of_other_losses_are_equal_on_every_backend(loss):
    for name in ("gd linear", "egu-pm linear", "gd dense activation=relu"):
        words = {"learners": {name: GENTLE[name]}, "loss": loss, "d": 16}
        names = serving(experiment(**words))
        assert names
        for backend in names:
            [(curve, twin)] = twins(backend, **words)
            assert_twins(curve, twin)


SERVED = {
    "compiled": {"learners": {"it": {"update": {"kind": "egu", "lr": 0.02}}}},
    "preactivations": {
        "learners": {"it": gd(0.02, kind="dense", widths=[4], activation="relu")},
        "protocol": PROTOCOLS["erm"],
    },
}
RESERVED = ("rate_unit", "layer_rates")


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("field", RESERVED)
def test_a_backend_refuses_learners_with_unknown_properties(field, backend):
    described = experiment(d=16, **SERVED.get(backend, {"learners": {"it": gd(0.02)}}))
    (plain,) = described.learners
    changed = {"rate_unit": "start-sharpness", "layer_rates": {plain.architecture.layers[0]: 0.5}}
    assert refusal(FAST[backend], plain, described) is None
    reason = refusal(FAST[backend], msgspec.structs.replace(plain, **{field: changed[field]}), described)
    assert (reason is None) == (field in FAST[backend].knows)
    assert reason is None or field.replace("_", " ") in reason


NETS = {
    "relu": gd(0.05, kind="dense", widths=[5], activation="relu"),
    "leaky": {**gd(0.1, kind="dense", widths=[7], activation="leaky_relu"), "layer_rates": {"W1": 0.3}},
    "sqrt2_relu": gd([0.02, 0.05], kind="dense", widths=[3], activation="sqrt2_relu"),
    "rates of layers": gd(0.02, kind="dense", widths=[4], activation="relu", parametrisation="mup"),
}


@pytest.mark.parametrize("moves", [1, 1 << 26])
@pytest.mark.parametrize("tolerance", [0.0, 0.3])
@pytest.mark.parametrize("net", NETS)
def test_preactivations_curves_equal_dense_curves_for_pieces_of_any_size(net, tolerance, moves, monkeypatch):
    monkeypatch.setattr(trained_group, "MOVES", moves)
    protocol = {"kind": "erm", "every": 3, "steps": 60, "tolerance": tolerance}
    words = {"d": 16, "replicas": 2, "learners": {net: NETS[net]}, "protocol": protocol}
    for dtype, within in (("float64", 1e-9), ("float32", 1e-4)):
        for curve, twin in twins("preactivations", target="all", dtype=dtype, **words):
            assert_twins(curve, twin, within)


def test_compiled_nets_stop_at_the_loss_tolerance_as_on_dense():
    protocol = {"kind": "erm", "every": 16, "steps": 400, "tolerance": 0.5}
    words = {"d": 16, "learners": {"net": NETS["relu"]}, "protocol": protocol, "train_loss": True}
    [(curve, twin)] = twins("preactivations", **words)
    assert 0 < curve.mean("train")[-1] < 0.5
    assert curve.mean("train")[-1] == pytest.approx(twin.mean("train")[-1], rel=1e-9)


class Halved(GD, frozen=True, tag="halved"):
    """Gradient descent with half a step."""

    def step(self, params, gradients, rates, state):
        return super().step(
            params, {tensor_name: g / 2 for tensor_name, g in gradients.items()}, rates, state
        )


class Shrinking(EGU, frozen=True, tag="shrinking"):
    """EGU whose weights shrink by themselves."""

    def multiply(self, params, factors, state):
        return super().multiply(
            params, {tensor_name: 0.99 * factor for tensor_name, factor in factors.items()}, state
        )


@pytest.mark.parametrize("rule", [Halved(), Shrinking()], ids=["halved", "shrinking"])
def test_a_subclass_with_its_own_step_inherits_no_fast_step(rule):
    linear = catalogue.make("architectures", "linear")
    spindly = catalogue.make("architectures", "spindly")
    original = type(rule).__base__()
    assert any(
        original.scalar_step(architecture) or original.multiplicative_step(architecture)
        for architecture in (linear, spindly)
    )
    for architecture in (linear, spindly):
        assert rule.scalar_step(architecture) is rule.multiplicative_step(architecture) is None


def test_an_inapplicable_backend_is_refused_with_the_reason():
    for path, words, reason in (
        ("structured", {"learners": {"LLS": LLS}}, "a multiple of the identity, but a solver needs"),
        ("structured", {"matrix": "gaussian"}, "the instances of gaussian"),
        (
            "structured",
            {"matrix": {"kind": "hadamard", "d": 12}, "learners": {"E": {"update": "egu"}}},
            "not rotation invariant",
        ),
        ("one-by-one", {"learners": {"E": {"update": "egu"}}}, "not rotation invariant"),
        ("one-by-one", {"learners": {"M": {"update": "momentum"}}}, "multiples of single examples"),
        ("one-by-one", {"learners": {"S": gd(0.01, kind="neuron")}}, "multiples of single examples"),
        ("one-by-one", {"protocol": "epochs"}, "single examples"),
        ("one-by-one", {"train_loss": True}, "the backend does not measure train"),
    ):
        with pytest.raises(BadInput) as caught:
            run(experiment(path=path, **words))
        assert caught.value.where == "run.path"
        assert reason in caught.value.fault


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"d": 128}, "numpy"),
        ({"d": 128, "protocol": {"kind": "one-pass", "average": True}}, "dense"),
        ({"d": 1024, "protocol": {"kind": "one-pass", "examples": 2}}, "one-by-one"),
        ({"d": 1024, "protocol": {"kind": "one-pass", "examples": 2, "batch": 2}}, "structured"),
        ({"d": 16, "learners": {"net": gd(0.01, kind="dense", activation="relu")}}, "structured"),
        ({"matrix": "gaussian", "d": 16}, "numpy"),
        ({"matrix": "gaussian", "d": 16, "train_loss": True}, "dense"),
        (
            {"matrix": "gaussian", "d": 16, "learners": {"M": {"update": "momentum"}}, "train_loss": True},
            "dense",
        ),
    ],
)
def test_the_expected_backend_is_chosen_and_named_in_the_report(words, expected):
    described = experiment(**words)
    trace = run(described)
    assert trace.curves[0].backend == expected
    assert (
        json.loads(encode({}, of_one(described, trace), []))["pictures"][0]["curves"][0]["path"] == expected
    )


def test_a_new_file_in_the_backends_folder_becomes_a_backend(tmp_path, monkeypatch):
    (tmp_path / "my_own.py").write_text(
        "from engine.backends.dense import OnMatrix\n"
        "class MyOwn(OnMatrix):\n"
        "    place = 1\n"
        "BACKEND = MyOwn()\n"
    )
    monkeypatch.setattr(engine.backends, "__path__", [*engine.backends.__path__, str(tmp_path)])
    backends.cache_clear()
    try:
        assert [*backends()] == ["my-own", *FAST, "dense"]
        assert run(experiment(d=8)).curves[0].backend == "my-own"
    finally:
        backends.cache_clear()


def test_backend_names_equal_their_file_names_and_run_path_values():
    assert tuple(sorted(backends())) == catalogue.file_names("engine.backends")
    for backend_name, backend in backends().items():
        assert experiment(path=backend_name).run.path == backend.name == backend_name


def test_a_backend_is_chosen_only_if_it_pays(monkeypatch):
    described = experiment(d=16)
    for backend in FAST.values():
        monkeypatch.setattr(type(backend), "pays", lambda *arguments: False)
    assert isinstance(planned(described.learners[0], described).backend, OnMatrix)
    monkeypatch.setattr(type(FAST["structured"]), "pays", Backend.pays)
    assert planned(described.learners[0], described).backend is FAST["structured"]


LOOKED_INTO = {
    "neuron": gd(1 / 64),
    "linear net": gd(1 / 64, kind="dense", widths=[6], activation="identity"),
    "net": gd(1 / 64, kind="dense", widths=[6], activation="tanh"),
}


def looking_into(name, **more):
    return experiment(d=16, replicas=2, target="feature", learners={name: LOOKED_INTO[name]}, **more)


def looked_into():
    """Learners with the backends that serve them."""
    for backend_name, (backend, its) in itertools.product(LOOKED_INTO, FAST.items()):
        described = looking_into(backend_name)
        if refusal(its, described.learners[0], described) is None:
            yield backend_name, backend


@pytest.mark.parametrize(("name", "backend"), looked_into())
def test_every_measure_has_equal_values_on_every_backend(name, backend):
    plain = looking_into(name)
    recorded = [measure for measure in named().values() if missing(measure, plain, plain.learners[0]) is None]
    measures = [measure for measure in recorded if FAST[backend].serves(measure)]
    words = [msgspec.to_builtins(measure) for measure in measures]
    fast, dense = (
        run(looking_into(name, path=path, measures=words)).curves[0] for path in (backend, "dense")
    )
    for measure in measures:
        actual, expected = (measured(curve, measure) for curve in (fast, dense))
        assert (actual is None) == (expected is None), measure.name
        if actual is not None:
            within = 1e-4 if measure.needs().curvature else 1e-6  # eigenvalues are found by iteration
            np.testing.assert_allclose(actual, expected, rtol=within, atol=1e-8, err_msg=measure.name)


def measured(curve, measure):
    """All recorded values of a measure, or None."""
    if measure.is_number:
        return curve.values(measure.name)
    return None if (array := curve.array(measure.name)) is None else array.values


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("rule", ["gd", "momentum", "adagrad", "eg", "egu", "egu-pm"])
def test_three_class_curves_are_equal_on_every_serving_backend(backend, rule):
    words = {"target": {"kind": "coin", "classes": 3}, "learners": {"it": {"update": rule}}}
    described = experiment(**words, d=16, replicas=2)
    if refusal(FAST[backend], described.learners[0], described) is None:
        assert_twins(*twins(backend, **words, d=16, replicas=2)[0])
