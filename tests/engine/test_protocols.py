"""The protocols that train more than once: against naive loops, and at their limits."""

import numpy as np
import pytest
import torch
from building import LLS, beginning, data_of, experiment, gd, losses

from engine.core import catalogue
from engine.core.streams import Streams
from engine.planning.run_plan import plan_run
from engine.problems.data import Data
from engine.protocols import erm
from engine.runtime.run import prepare, run
from engine.solvers import basis_pursuit, lls
from engine.training import descent, evaluators
from engine.training.descent import Descent, rates_of
from engine.updates import GRID

D = 8


def linear_gd(x, y, w, lr):
    """One step of gradient descent on the mean square loss, as a loop."""
    gradient = np.zeros_like(w)
    for row, label in zip(x, y, strict=True):
        gradient += 2 * (row @ w - label) * row / len(x)
    return w - lr * gradient


def losses_and_data(protocol, learner, problem="gaussian", **words):
    """Losses [S, R] of a learner through a protocol, its instances [n, d] and labels [n]."""
    described = experiment(problem, learners={"it": learner}, d=D, protocol=protocol, seed=4, **words)
    data = data_of(described)
    return losses_of(described), data.instances.rows[0].numpy(), data.labels[0].numpy()


def losses_of(described):
    return np.stack([run(described).curves[0].mean("loss")], 1)


@pytest.mark.parametrize("protocol", catalogue.members("protocols"))
def test_the_clock_of_a_protocol_is_the_first_of_its_clocks(protocol):
    clocked = catalogue.make("protocols", protocol)
    assert clocked.clock == next(iter(clocked.clocks(8)))


SHOWN = [
    *catalogue.members("protocols"),
    {"kind": "one-pass", "examples": 3},
    {"kind": "one-pass", "replacement": True},
    {"kind": "erm", "every": 3, "examples": 5},
    {"kind": "epochs", "train": 3},
    {"kind": "flow", "train": 3},
    {"kind": "steps", "steps": 3, "batch": 2},
    {"kind": "steps", "steps": 30, "batch": 2, "train": 5},
    {"kind": "steps", "steps": 2.5},
]


@pytest.mark.parametrize("protocol", SHOWN, ids=str)
def test_solvers_receive_as_many_examples_as_the_extent_declares(protocol, monkeypatch):
    described = experiment("gaussian", learners={"LLS": LLS}, d=D, protocol=protocol)
    told, learn = [], lls.LeastSquaresFit.learn
    monkeypatch.setattr(
        lls.LeastSquaresFit,
        "learn",
        lambda fit, instances, labels: told.append(instances.n) or learn(fit, instances, labels),
    )
    assert described.protocol.extent(D).most_examples == described.protocol.examples_seen(D)[-1]
    run(described)
    assert sum(told) == described.protocol.extent(D).examples_given


def test_erm_trains_a_fresh_model_for_every_k():
    protocol = {"kind": "erm", "every": 3, "steps": 40, "tolerance": 0.0}
    measured, x, y = losses_and_data(protocol, gd(0.03))
    for row, k in zip(measured, [0, 3, 6, 8], strict=True):
        w = np.zeros(D)
        for _ in range(40 if k else 0):
            w = linear_gd(x[:k], y[:k], w, 0.03)
        np.testing.assert_allclose(row, np.mean((x @ w - y) ** 2), rtol=1e-9)


def test_an_erm_model_stops_once_it_fits():
    protocol = {"kind": "erm", "every": 4, "steps": 500, "tolerance": 0.01}
    measured, x, y = losses_and_data(protocol, gd(0.03))
    for row, k in zip(measured[1:], [4, 8], strict=True):
        w = np.zeros(D)
        for _ in range(500):
            if np.mean((x[:k] @ w - y[:k]) ** 2) <= 0.01:
                break
            w = linear_gd(x[:k], y[:k], w, 0.03)
        # The cost is known from the predictions before a step, so one step more is made than needed.
        w = linear_gd(x[:k], y[:k], w, 0.03)
        np.testing.assert_allclose(row, np.mean((x @ w - y) ** 2), rtol=1e-9)


def test_an_erm_model_with_momentum_stops_once_it_fits():
    rule = {"architecture": "linear", "update": {"kind": "momentum", "lr": 0.01}}
    long = {"kind": "erm", "every": 4, "steps": 2000, "tolerance": 0.05}
    longer = {**long, "steps": 4000}
    np.testing.assert_array_equal(losses_and_data(long, rule)[0], losses_and_data(longer, rule)[0])


def test_erm_on_hadamard_rows_attains_the_bound_like_least_squares():
    protocol = {"kind": "erm", "every": 2, "steps": 4000, "tolerance": 1e-12}
    measured, _, _ = losses_and_data(protocol, gd(0.1), "hadamard")
    np.testing.assert_allclose(measured[:, 0], 1 - np.array([0, 2, 4, 6, 8]) / D, atol=1e-5)


@pytest.mark.parametrize("protocol", ["erm", "to-consistency"])
def test_a_solver_has_the_same_losses_under_each_protocol(protocol):
    settings = {"every": 2} if protocol == "erm" else {}
    measured, _, _ = losses_and_data({"kind": protocol, **settings}, LLS)
    one_pass, _, _ = losses_and_data({"kind": "one-pass"}, LLS)
    np.testing.assert_allclose(measured, one_pass[:: settings.get("every", 1)], atol=1e-12)


def test_to_consistency_repeats_passes_until_the_seen_examples_fit():
    protocol = {"kind": "to-consistency", "tolerance": 1e-4, "passes": 60}
    measured, x, y = losses_and_data(protocol, gd(0.02))
    w = np.zeros(D)
    for k in range(1, D + 1):
        for _ in range(60):
            for j in range(k):
                w = linear_gd(x[j : j + 1], y[j : j + 1], w, 0.02)
            if np.mean((x[:k] @ w - y[:k]) ** 2) <= 1e-4:
                break
        np.testing.assert_allclose(measured[k], np.mean((x @ w - y) ** 2), rtol=1e-9)


def test_epochs_step_along_the_mean_of_the_training_rows():
    measured, x, y = losses_and_data({"kind": "epochs", "train": 5, "epochs": 12}, gd(0.03))
    w = np.zeros(D)
    for epoch in range(13):
        np.testing.assert_allclose(measured[epoch], np.mean((x @ w - y) ** 2), rtol=1e-9)
        w = linear_gd(x[:5], y[:5], w, 0.03)


def test_reshuffled_epochs_draw_a_new_order_for_each_pass():
    words = {"kind": "epochs", "train": 5, "epochs": 6, "reshuffle": True}
    learner = {"architecture": "linear", "update": {"kind": "sgd", "lr": 0.03, "batch": 2}}
    measured, x, y = losses_and_data(words, learner)
    orders, w, seen = Streams([4])("passes"), np.zeros(D), set()
    for epoch in range(7):
        np.testing.assert_allclose(measured[epoch], np.mean((x @ w - y) ** 2), rtol=1e-9)
        (order,) = orders.permutation(5)
        seen.add(tuple(order))
        for first in (0, 2, 4):
            rows = order[first : first + 2]
            w = linear_gd(x[rows], y[rows], w, 0.03)
    assert len(seen) > 4


def test_orders_are_drawn_per_replica_and_shared_by_rates_and_targets():
    words = {"kind": "epochs", "train": 6, "epochs": 4, "reshuffle": True}
    learner = {"architecture": "linear", "update": {"kind": "sgd", "lr": [0.02, 0.05], "batch": 1}}
    settings = {"target": "all", "d": D, "protocol": words}
    together = run(experiment("gaussian", learners={"it": learner}, replicas=2, seed=1, **settings))
    for curve in together.curves:
        learner_at_rate = {**learner, "update": {**learner["update"], "lr": curve.rate}}
        for replica in range(2):
            (alone,) = run(
                experiment("gaussian", learners={"it": learner_at_rate}, seed=1 + replica, **settings)
            ).curves
            np.testing.assert_allclose(curve.values("loss")[:, replica], alone.mean("loss"), rtol=1e-12)


def test_reshuffled_epochs_match_on_dense_and_structured_backends():
    words = {"kind": "epochs", "train": 6, "epochs": 4, "reshuffle": True}
    learner = {"architecture": "linear", "update": {"kind": "sgd", "lr": 0.03, "batch": 2}}
    dense, structured = (
        losses_of(experiment(learners={"it": learner}, d=D, replicas=2, protocol=words, path=path))
        for path in ("dense", "structured")
    )
    np.testing.assert_allclose(structured, dense, atol=1e-12)


def test_reshuffling_changes_no_full_batch_step():
    fixed, shuffled = (
        losses_and_data({"kind": "epochs", "train": 5, "epochs": 3, "reshuffle": reshuffle}, gd(0.03))[0]
        for reshuffle in (False, True)
    )
    assert fixed.tobytes() == shuffled.tobytes()


def test_bounds_over_epochs_use_the_number_of_training_rows():
    described = experiment(
        learners={"GD": gd(0.1)}, d=D, protocol={"kind": "epochs", "train": 6, "epochs": 3}
    )
    bound = next(bound for bound in run(described).lines if bound.kind == "ri-signed")
    np.testing.assert_allclose(bound.values, [1, 1 - 6 / D, 1 - 6 / D, 1 - 6 / D])


@pytest.mark.parametrize(
    "protocol",
    [
        {"kind": "one-pass"},
        {"kind": "erm", "steps": 5},
        {"kind": "to-consistency", "passes": 5},
        {"kind": "epochs", "epochs": 10},
        {"kind": "steps", "steps": 10, "batch": 3},
    ],
    ids=lambda protocol: protocol["kind"],
)
@pytest.mark.parametrize("architecture", ["linear", {"kind": "dense", "widths": [5], "activation": "tanh"}])
def test_several_rates_match_single_runs(protocol, architecture):
    def measured(lr):
        learner = {"architecture": architecture, "update": {"kind": "momentum", "lr": lr, "momentum": 0.5}}
        words = {"learners": {"it": learner}, "d": D, "protocol": protocol, "replicas": 2}
        return run(experiment("gaussian", "all", **words)).curves

    rates = [0.001, 0.01, 0.03]
    together = measured(rates)
    assert [curve.rate for curve in together] == rates
    assert [curve.learner for curve in together] == ["it"] * 3
    for curve, rate in zip(together, rates, strict=True):
        (alone,) = measured(rate)
        np.testing.assert_allclose(curve.mean("loss"), alone.mean("loss"), rtol=1e-9)
        np.testing.assert_allclose(curve.stderr_of("loss"), alone.stderr_of("loss"), rtol=1e-6, atol=1e-12)


def test_the_oracle_tuned_rate_has_the_lowest_mean_loss():
    described = experiment("gaussian", learners={"it": gd("best")}, d=D)
    (best,) = run(described).curves
    listed = run(experiment("gaussian", learners={"it": gd(list(GRID))}, d=D)).curves
    means = [curve.mean_along("loss") for curve in listed]
    winner = listed[int(np.argmin(means))]
    assert best.rate == winner.rate
    assert list(best.grid) == list(GRID)
    np.testing.assert_allclose(list(best.grid.values()), means)
    np.testing.assert_allclose(best.mean("loss"), winner.mean("loss"), rtol=1e-12)
    assert [curve.best for curve in listed] == [curve is winner for curve in listed]


def test_a_diverging_rate_stops_only_its_own_curve():
    small, huge = run(experiment("gaussian", learners={"it": gd([0.01, 50.0])}, d=D)).curves
    assert small.diverged_at is None
    assert small.complete
    assert huge.diverged_at is not None
    assert huge.length == huge.diverged_at


def test_a_layer_rate_of_zero_freezes_the_layer():
    learner = {"architecture": {"kind": "dense", "widths": [5]}, "update": "gd", "layer_rates": {"W1": 0.0}}
    hypothesis, data = beginning(experiment("gaussian", learners={"it": learner}, d=D))
    before = {tensor_name: w.clone() for tensor_name, w in hypothesis.params.items()}
    hypothesis.learn(data.instances, data.labels)
    assert torch.equal(hypothesis.params["W1"], before["W1"])
    assert not torch.equal(hypothesis.params["W2"], before["W2"])


def test_variants_repeat_the_labels_of_the_data():
    data = data_of(experiment("gaussian", "all", learners={"it": gd(0.1)}, d=3, replicas=2))
    more: Data = data.with_variants(2).with_variants(5)
    assert more.variants == 10
    assert torch.equal(more.labels.view(2, 5, 2, 3, 3), data.labels.view(2, 1, 1, 3, 3).expand(2, 5, 2, 3, 3))


def test_errors_are_measured_for_sign_labels_and_not_for_real_labels():
    described = experiment(learners={"GD": gd(1 / (2 * D))}, d=D)
    np.testing.assert_allclose(run(described).curves[0].mean("error"), (1 - np.arange(D + 1) / D) / 2)
    assert run(experiment("gaussian", learners={"GD": gd(0.1)}, d=D)).curves[0].mean("error") is None


@pytest.mark.parametrize(("loss", "boundary"), [("square", 0.5), ("entropic", 0.0)])
def test_errors_on_labels_0_and_1_use_the_boundary_of_the_loss(loss, boundary):
    described = experiment("hadamard01", learners={"GD": gd(0.05)}, d=D, loss=loss)
    errors = run(described).curves[0].mean("error")
    hypothesis, data = beginning(described)
    x, y = data.instances.rows[0].numpy(), data.labels[0].numpy()
    for k in range(data.instances.n + 1):
        margins = (x @ hypothesis.weights()[0].numpy() - boundary) * np.where(y == 1, 1, -1)
        naive = np.mean([0.5 if abs(margin) < 1e-8 else float(margin < 0) for margin in margins])
        assert errors[k] == pytest.approx(naive)
        if k < data.instances.n:
            hypothesis.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])


def test_averaging_applies_to_errors_and_losses_of_past_hypotheses():
    plain = run(experiment(learners={"GD": gd(0.05)}, d=D)).curves[0]
    mean = run(experiment(learners={"GD": gd(0.05)}, d=D, protocol={"kind": "one-pass", "average": True}))
    for k in range(1, D + 1):
        assert mean.curves[0].mean("error")[k] == pytest.approx(plain.mean("error")[:k].mean())
        assert mean.curves[0].mean("loss")[k] == pytest.approx(plain.mean("loss")[:k].mean())


@pytest.mark.parametrize("architecture", ["linear", {"kind": "dense", "widths": [3], "activation": "tanh"}])
def test_mini_batches_of_fresh_models_depend_only_on_their_replica(architecture):
    protocol = {"kind": "erm", "every": 3, "steps": 20}
    update = {"kind": "sgd", "lr": [0.01, 0.02], "batch": 2}
    words = {"matrix": "gaussian", "target": "all", "d": D, "protocol": protocol}
    together = experiment(
        learners={"it": {"architecture": architecture, "update": update}}, replicas=3, seed=40, **words
    )
    with torch.no_grad():
        _, (learner_run,) = prepare(plan_run(together))
        batch = learner_run.training_run.advance(10**6).loss
    for replica in range(3):
        for variant, lr in enumerate((0.01, 0.02)):
            learner = {"architecture": architecture, "update": {**update, "lr": lr}}
            alone = run(experiment(learners={"it": learner}, seed=40 + replica, **words)).curves[0]
            np.testing.assert_allclose(alone.mean("loss"), batch[:, replica, variant], rtol=1e-12)


def test_mini_batches_of_fresh_models_are_drawn_from_their_examples():
    protocol = {"kind": "erm", "every": 1, "steps": 1, "tolerance": 0.0}
    learner = {"update": {"kind": "sgd", "lr": 0.01, "batch": 2}}
    described = experiment("gaussian", learners={"it": learner}, d=D, protocol=protocol)
    data, curve = data_of(described), run(described).curves[0]
    x, y = data.instances.rows[0].numpy(), data.labels[0].numpy()
    for k in range(1, D + 1):
        pairs = [(i, j) for i in range(k) for j in range(k)]
        steps = [linear_gd(x[[i, j]], y[[i, j]], np.zeros(D), 0.01) for i, j in pairs]
        possible = [np.mean((x @ w - y) ** 2) for w in steps]
        assert min(abs(np.array(possible) - curve.mean("loss")[k])) < 1e-12


def test_mini_batches_of_fresh_models_do_not_depend_on_the_group_size(monkeypatch):
    learner = {"update": {"kind": "sgd", "lr": 0.01, "batch": 2}}
    protocol = {"kind": "erm", "every": 1, "steps": 20}
    described = experiment("gaussian", learners={"it": learner}, d=D, protocol=protocol, replicas=2)
    in_one_group = run(described).curves[0]
    for models in (1, 3):
        monkeypatch.setattr(erm, "NUMBERS", 2 * D * models)
        np.testing.assert_allclose(
            run(described).curves[0].mean("loss"), in_one_group.mean("loss"), rtol=1e-12
        )


def test_erm_curves_keep_weights_at_a_limited_number_of_records(monkeypatch):
    monkeypatch.setattr(descent, "MOST_WEIGHT_RECORDS", 4)
    protocol = {"kind": "erm", "every": 1, "steps": 3}
    of_few_records = run(experiment("gaussian", learners={"it": gd(0.01)}, d=D, protocol=protocol)).curves[0]
    monkeypatch.undo()
    of_every_record = run(experiment("gaussian", learners={"it": gd(0.01)}, d=D, protocol=protocol)).curves[0]
    assert len(of_every_record.weights) == D + 1
    records_with_weights = [*range(0, D, -(-D // 3)), D]
    assert of_few_records.weights_x.tolist() == records_with_weights
    assert np.array_equal(of_few_records.weights, of_every_record.weights[records_with_weights])


def test_averaged_errors_are_unavailable_if_errors_are_thinned(monkeypatch):
    protocol = {"kind": "one-pass", "average": True}
    described = experiment(learners={"GD": gd(0.05)}, d=D, protocol=protocol)
    assert run(described).curves[0].mean("error") is not None
    monkeypatch.setattr(evaluators, "MOST_CELLS", D * D)
    assert run(described).curves[0].mean("error") is None


def test_rates_of_lists_the_rates_in_the_given_order():
    for lr, rates in ((0.1, (0.1,)), ([0.1, 0.2], (0.1, 0.2)), ("best", GRID)):
        assert rates_of(experiment(learners={"it": gd(lr)}).learners[0]) == rates
    assert rates_of(experiment(learners={"it": LLS}).learners[0]) == (1.0,)


def test_empty_blocks_of_erm_lose_no_losses():
    described = experiment(learners={"it": gd(0.1)}, d=D, protocol={"kind": "erm", "steps": 10})
    _, (learner_run,) = prepare(plan_run(described))
    with torch.no_grad():
        lengths = [len(learner_run.training_run.advance(4).loss) for _ in range(4)]
    assert lengths == [0, 0, 0, 3]
    np.testing.assert_allclose(
        run(described, gate=lambda: 4).curves[0].mean("loss"), losses(described)["it"][:, 0]
    )


SGD = {"architecture": "linear", "update": {"kind": "sgd", "lr": 0.01, "batch": 1}}
IN_PIECES = {
    "one pass in mini-batches": ({"kind": "one-pass", "batch": 4}, LLS),
    "passes to consistency": ({"kind": "to-consistency", "passes": 5}, gd(0.01)),
    "epochs of mini-batches": ({"kind": "epochs", "train": 6, "epochs": 3}, SGD),
    "reshuffled epochs": ({"kind": "epochs", "train": 6, "epochs": 3, "reshuffle": True}, SGD),
    "a solver on training rows": ({"kind": "epochs", "train": 6, "epochs": 3}, {"solver": "basis-pursuit"}),
    "fresh models": ({"kind": "erm", "every": 2, "steps": 3}, gd(0.01)),
    "solvers in the place of fresh models": ({"kind": "erm", "every": 3}, {"solver": "basis-pursuit"}),
}


@pytest.mark.parametrize(("protocol", "learner"), IN_PIECES.values(), ids=IN_PIECES)
def test_advancing_a_run_returns_after_one_update_or_fit(protocol, learner, monkeypatch):
    work = []

    def counted(act):
        def counting(*arguments, **options):
            work.append(act)
            return act(*arguments, **options)

        return counting

    monkeypatch.setattr(Descent, "descend", counted(Descent.descend))
    monkeypatch.setattr(basis_pursuit, "shortest", counted(basis_pursuit.shortest))
    monkeypatch.setattr(lls.LeastSquaresFit, "learn", counted(lls.LeastSquaresFit.learn))
    monkeypatch.setattr(erm, "NUMBERS", 2 * D)
    words = {"learners": {"it": learner}, "d": D, "protocol": protocol}
    _, (learner_run,) = prepare(plan_run(experiment("gaussian", "all", **words)))
    blocks = []
    with torch.no_grad():
        while sum(len(block.loss) for block in blocks) < learner_run.curves[0].capacity:
            done = len(work)
            blocks.append(learner_run.training_run.advance(1))
            assert len(work) <= done + 1
        _, (at_once,) = prepare(plan_run(experiment("gaussian", "all", **words)))
        block_at_once = at_once.training_run.advance(10**6)
    assert work
    np.testing.assert_array_equal(np.concatenate([block.loss for block in blocks]), block_at_once.loss)


def test_no_further_record_starts_after_the_time_limit():
    _, (learner_run,) = prepare(plan_run(experiment(learners={"it": gd(0.1)}, d=D)))
    with torch.no_grad():
        assert [len(learner_run.training_run.advance(100, seconds=0.0).loss) for _ in range(2)] == [1, 1]
        assert len(learner_run.training_run.advance(100).loss) == D - 1


def test_learners_with_quick_records_wait_for_slow_learners():
    protocol = {"kind": "to-consistency", "passes": 5}
    described = experiment("gaussian", learners={"it": gd(0.01), "LLS": LLS}, d=D, protocol=protocol)
    traces, apart = [], []

    def gate():
        lengths = [curve.length for curve in traces[0].trace.curves]
        apart.append(max(lengths) - min(lengths))
        return 2

    run(described, gate, traces.append)
    assert max(apart) == 2
