"""Lines computed from measures of the learner's own run and of other runs."""

from itertools import combinations, product
from typing import ClassVar

import numpy as np
import pytest
import torch
from building import beginning, data_of, experiment, gd, needed
from msgspec import structs

from engine.core import catalogue
from engine.core.parts import Finding
from engine.measures.gradient_norm import GradientNorm
from engine.measures.row_gradients import RowGradients
from engine.pictures.picture import Picture
from engine.planning.run_plan import plan_run
from engine.problems.targets.zero import Zero
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import Diverged, prepare, run
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.spec.sweep import only
from engine.theory import Line, LineStructure, OtherRun

NET = {"kind": "dense", "widths": [3], "activation": "tanh", "cb": 0.1}
SGD = {
    "matrix": {"kind": "gaussian", "n": 5, "d": 3},
    "target": {"kind": "sparse", "r": 2},
    "noise": 0.3,
    "protocol": {"kind": "steps", "steps": 6, "records": 6, "batch": 2, "replacement": True},
    "replicas": 2,
}
CUBE = {
    "matrix": {"kind": "xor", "d": 16, "features": "bits"},
    "target": {"kind": "sparse", "r": 1},
    "protocol": {"kind": "steps", "steps": 4, "records": 4},
    "replicas": 2,
}
NOISY = {**gd(0.1, **NET), "noise": {"sigma": 0.1, "on": "weights"}}


def pictured(described, *measures):
    return structs.replace(
        described, pictures=tuple(Picture(x="step", measure=measure) for measure in measures)
    )


def of(kind, **fields):
    return catalogue.make("measures", kind, **fields)


def row_gradients(hypothesis, data, member):
    """The gradient of the loss of every row of one member, [n, P], by one backward pass for each."""
    net = {
        tensor_name: tensor[member : member + 1].clone() for tensor_name, tensor in hypothesis.tensors.items()
    }
    leaves = [net[layer_name].requires_grad_() for layer_name in hypothesis.architecture.layers]
    instances = data.instances.of_replica(member // (len(data.labels) // data.replicas))
    gradients = []
    with torch.enable_grad():
        for row in range(instances.n):
            predicted = hypothesis.architecture.predict(net, instances.at(slice(row, row + 1)))[0, 0]
            loss = (predicted - data.labels[member, row]) ** 2
            gradients.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, leaves)]))
    return torch.stack(gradients).numpy()


@pytest.mark.parametrize("architecture", [{"kind": "linear"}, NET, {"kind": "spindly"}])
def test_row_gradients_and_weight_products_match_single_rows(architecture):
    described = experiment(
        SGD["matrix"], "all", learners={"it": gd(0.1, **architecture)}, protocol="steps", replicas=2
    )
    hypothesis, data = beginning(described)
    measures = of("row-gradients"), of("weights-dot-gradient")
    curve = run(pictured(described, *measures)).curves[0]
    squares, products = [], []
    for member in range(len(data.labels)):
        gradients = row_gradients(hypothesis, data, member)
        weights = [
            hypothesis.params[tensor_name][member].numpy().ravel() for tensor_name in hypothesis.params
        ]
        squares.append(np.square(gradients).sum(1).mean())
        products.append(np.concatenate(weights) @ gradients.mean(0))
    for measure, expected in zip(measures, (squares, products), strict=True):
        mean_over_targets = np.reshape(expected, (2, -1)).mean(1)
        np.testing.assert_allclose(curve.values(measure.name)[0], mean_over_targets, rtol=1e-9, atol=1e-12)


def test_row_gradients_on_coin_labels_average_both_labels():
    described = experiment(**CUBE, learners={"it": gd(0.1, **NET)})
    hypothesis, data = beginning(described)
    curve = run(pictured(described, of("row-gradients", labels="coins"))).curves[0]
    for replica in range(2):
        sides = [
            data.__class__(data.instances, sign * torch.ones_like(data.labels), 2, 1) for sign in (1, -1)
        ]
        squares = [np.square(row_gradients(hypothesis, side, replica)).sum(1).mean() for side in sides]
        recorded = curve.values("row-gradients (labels = coins)")[0, replica]
        assert recorded == pytest.approx(np.mean(squares), rel=1e-9)


@pytest.mark.parametrize("draws", ["replacement", "fresh"])
def test_fluctuation_dissipation_averages_over_all_mini_batches(draws):
    protocol = {"kind": "steps", "steps": 6, "records": 6, "batch": 2, draws: True}
    described = experiment(**SGD | {"protocol": protocol}, learners={"it": gd(0.05, **NET)})
    trace = run(pictured(described, of("weights-dot-gradient")))
    (line,) = trace.lines_of("weights-dot-gradient")
    along = line.by_curve(trace.curves)["it"]
    assert along.values.shape == (2, 7)
    hypothesis, data = beginning(described)
    batches = list(product(range(5), repeat=2)) if draws == "replacement" else list(combinations(range(5), 2))
    for replica in range(2):
        gradients = row_gradients(hypothesis, data, replica)
        squares = [np.square(gradients[list(batch)].mean(0)).sum() for batch in batches]
        assert along.values[replica, 0] == pytest.approx(0.05 / 2 * np.mean(squares), rel=1e-9)


def test_a_line_along_runs_covers_its_curves_and_records_required_measures():
    described = experiment(**SGD, learners={"it": gd([0.01, 0.05]), "momentum": {"update": "momentum"}})
    trace = run(pictured(described, of("weights-dot-gradient")))
    (line,) = trace.lines_of("weights-dot-gradient")
    assert line.applies_to == ["it"]
    assert set(line.by_curve(trace.curves)) == {curve.name for curve in trace.curves if curve.learner == "it"}
    for curve in trace.curves:
        asked = {GradientNorm().name, RowGradients().name}
        assert asked <= set(curve.measures) if curve.learner == "it" else asked.isdisjoint(curve.measures)
    (slow, fast) = (line.by_curve(trace.curves)[f"it η={rate}"].values for rate in (0.01, 0.05))
    np.testing.assert_allclose(fast[:, 0], 5 * slow[:, 0])


def test_a_line_along_a_run_has_as_many_records_as_the_run():
    described = pictured(experiment(**SGD, learners={"it": gd(0.05)}), of("weights-dot-gradient"))
    with torch.no_grad():
        trace, (learner_run,) = prepare(plan_run(described))
        (line,) = trace.lines_of("weights-dot-gradient")
        seen = view(described.pictures[0], of_one(described, trace))
        assert line.by_curve(trace.curves) == {} == {line.name: line for line in seen.lines}
        while trace.curves[0].length < 3:
            learner_run.advance(1)
        seen = view(described.pictures[0], of_one(described, trace))
        assert [len(seen_curve.x) for seen_curve in (*seen.curves, *seen.lines)] == [3, 3]
        early = line.by_curve(trace.curves)["it"].values
        while not learner_run.ended:
            learner_run.advance(1)
    np.testing.assert_array_equal(line.by_curve(trace.curves)["it"].values[:, :3], early)


def junk_of(described):
    """The learner on labels 0, as an experiment of its own."""
    problem = structs.replace(described.problem, target=Zero())
    return pictured(structs.replace(described, problem=problem), of("row-gradients", labels="coins"))


def test_junk_flow_sums_gradients_of_the_same_learner_on_coin_labels():
    described = experiment(**CUBE, learners={"it": NOISY})
    trace = run(described)
    line = next(trace_line for trace_line in trace.lines if trace_line.kind == "junk-flow")
    junk = run(junk_of(described)).curves[0].values("row-gradients (labels = coins)")
    flow = np.concatenate([np.zeros((1, 2)), np.cumsum(0.1 * np.sqrt(junk), 0)[:-1]])
    expected = np.maximum(0, 0.5 - (1 + flow / 0.1) / (2 * np.sqrt(16)))
    np.testing.assert_allclose(line.by_curve(trace.curves)["it"].values, expected.T, rtol=1e-12)
    assert [curve.name for curve in trace.curves] == ["it"], "the other run is not shown"
    assert trace.ended


def test_side_runs_are_planned_once_per_rate_and_count_in_memory():
    described = experiment(**CUBE, learners={"it": {**NOISY, "update": {"kind": "gd", "lr": [0.1, 0.2]}}})
    asked = plan_run(described).side_runs
    assert [experiment_beside.learners[0].update.lr for experiment_beside in asked.experiments] == [0.1, 0.2]
    assert asked.numbers == {
        ("junk-flow", "it η=0.1"): {"junk": 0},
        ("junk-flow", "it η=0.2"): {"junk": 1},
    }
    without = structs.replace(described.learners[0], noise=None)
    alone = structs.replace(described, learners=(without,))
    assert plan_run(alone).side_runs.experiments == ()
    assert needed(described) > 1.5 * needed(alone)


def test_stored_side_runs_are_restored(tmp_path):
    described, store = experiment(**CUBE, learners={"it": NOISY}), Store(tmp_path)
    first = run_sweep(only(described), writer=RunWriter(store)).traces[0]
    again = run_sweep(only(described), writer=RunWriter(store)).traces[0]
    assert all(curve.is_restored for curve in (*again.curves, *again.side_curves))
    assert len(again.side_curves) == 1
    flows = [
        next(trace_line for trace_line in trace.lines if trace_line.kind == "junk-flow")
        .by_curve(trace.curves)["it"]
        .values
        for trace in (first, again)
    ]
    np.testing.assert_array_equal(*flows)


class Beside(Line, frozen=True, tag="beside"):
    """Loss of least squares on the same data, a run that two lines request."""

    formula: ClassVar[str] = "L"
    source: ClassVar[str] = "this test"

    def structure(self):
        return LineStructure(per_learner=True, per_replica=True, along_runs=True)

    def holds(self, experiment):
        return Finding(True, "it holds everywhere in this test")

    def binds(self, learner, experiment):
        return Finding(True, "it binds everyone in this test")

    def runs(self, learner, experiment):
        return {"wild": OtherRun(experiment.learners[1], experiment.problem, ())}

    def value(self, at):
        return at.runs["wild"]["loss"]


def test_a_side_run_of_another_learner_runs_once_without_events(monkeypatch):
    lines, everything = {"beside": Beside}, catalogue.members
    monkeypatch.setattr(
        catalogue, "members", lambda family: lines if family == "theory" else everything(family)
    )
    learners = {"GD": gd(0.01), "wild": gd(10.0)}
    described, events = experiment("gaussian", learners=learners, d=8, replicas=2), []
    trace = run(described, notify=events.append)
    assert [
        experiment_beside.learners[0].name for experiment_beside in plan_run(described).side_runs.experiments
    ] == ["wild"]
    told = [(event.learner, event.replicas) for event in events if isinstance(event, Diverged)]
    assert told == [("wild", 2)], "it is told of the learner, and not of the run beside it"
    (line,) = trace.lines
    wild = trace.curves[1].values("loss").T
    for learner_name in learners:
        values = line.by_curve(trace.curves)[learner_name].values
        np.testing.assert_array_equal(values, wild[:, : values.shape[1]])


def test_zero_targets_give_zero_labels_plus_noise():
    for matrix in ("hadamard", "xor", "gaussian"):
        assert not data_of(experiment(matrix, "zero", d=8, replicas=2)).labels.any()
    noisy = data_of(experiment({"kind": "gaussian", "n": 4000, "d": 2}, "zero", noise=2.0)).labels
    assert float(noisy.std()) == pytest.approx(2.0, abs=4 * 2 / np.sqrt(8000))
    coins = data_of(experiment("gaussian", "zero", d=64, labels="bernoulli", loss="square")).labels
    assert set(coins.unique().tolist()) == {-1.0, 1.0}
