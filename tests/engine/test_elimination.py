"""Parities by elimination over F₂: of examples, of their means, and labels that examples leave open."""

from itertools import product

import numpy as np
import pytest
import torch
from building import beginning, data_of, experiment, raw

from engine.core.parts import BadInput
from engine.formulas.parities import unknown
from engine.runtime.run import run
from engine.spec import reading

BITS = 5


def described(n=12, d=BITS, replicas=6, **solver):
    learner = {"it": {"solver": {"kind": "elimination", **solver}}}
    return experiment({"kind": "rademacher", "n": n}, "parity", learner, d=d, replicas=replicas)


def fitting(rows, labels):
    """All sets S, as vectors of bits, for which the products over S are the labels of the rows; by trial."""
    all_sets = np.array(list(product([0, 1], repeat=rows.shape[1])))
    products = np.where(all_sets[:, None] == 1, rows, 1).prod(2)  # [2^d, k]
    return all_sets[(products == labels).all(1)]


def test_elimination_predicts_by_a_parity_consistent_with_all_examples():
    fit, data = beginning(described())
    rows, labels = data.instances.rows.numpy(), data.labels.numpy()
    for k in range(1, 13):
        fit.learn(data.instances.at(slice(k - 1, k)), data.labels[:, k - 1 : k])
        predictions = fit.predict(data.instances).numpy()
        for x, y, predicted in zip(rows, labels, predictions, strict=True):
            sets = fitting(x[:k], y[:k])
            allowed = [np.where(bits == 1, x, 1).prod(1) for bits in sets]
            assert any((predicted == labels_of_set).all() for labels_of_set in allowed)
            np.testing.assert_array_equal(predicted[:k], y[:k])


def test_elimination_abstains_exactly_where_consistent_parities_disagree():
    fit, data = beginning(described(abstain=True))
    rows, labels = data.instances.rows.numpy(), data.labels.numpy()
    silent = []
    for k in range(1, 13):
        fit.learn(data.instances.at(slice(k - 1, k)), data.labels[:, k - 1 : k])
        predictions = fit.predict(data.instances).numpy()
        for x, y, predicted in zip(rows, labels, predictions, strict=True):
            fitting_labels = np.stack([np.where(bits == 1, x, 1).prod(1) for bits in fitting(x[:k], y[:k])])
            agree = abs(fitting_labels.mean(0)) == 1
            np.testing.assert_array_equal(predicted, np.where(agree, fitting_labels[0], 0))
            silent.append((~agree).mean())
    assert max(silent) > 0
    assert min(silent) == 0


def test_elimination_ignores_an_example_that_contradicts_earlier_examples():
    fit, data = beginning(described(replicas=1))
    first = data.instances.at(slice(0, 1))
    label = data.labels[:, :1]
    fit.learn(first, label)
    fit.learn(first, -label)
    assert fit.predict(first) == label


def test_batched_elimination_equals_elimination_on_signs_of_sgd_rows():
    batch, memory = 3, torch.zeros(4, BITS + 1, dtype=torch.float64, requires_grad=True)
    _, data = beginning(described(replicas=1))
    told = torch.cat((data.instances.rows[0], data.labels[0, :, None]), 1).double()
    for t in range(4):
        loss = -(memory[t] @ told[t * batch : (t + 1) * batch].T).mean()
        (gradient,) = torch.autograd.grad(loss, memory)
        memory = (memory - gradient).detach().requires_grad_()
    copies = memory.detach().sign()  # of odd batches: no mean is 0
    fit, _ = beginning(described(replicas=1, batch=batch))
    fit.learn(data.instances, data.labels)
    by_hand, _ = beginning(described(replicas=1))
    for row in copies:
        by_hand.learn(
            data_of(described(replicas=1)).instances.__class__(row[None, None, :-1]), row[None, -1:]
        )
    assert torch.equal(
        fit.predict(data.instances), by_hand.predict(data.instances).to(fit.predict(data.instances))
    )


@pytest.mark.parametrize("of", [{"batch": 2}, {"of": "population"}])
def test_elimination_coins_ignore_example_grouping_and_differ_between_replicas(of):
    together, data = beginning(described(n=24, replicas=8, **of))
    one_by_one, _ = beginning(described(n=24, replicas=8, **of))
    together.learn(data.instances, data.labels)
    for k in range(24):
        one_by_one.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
    predictions = together.predict(data.instances)
    assert torch.equal(predictions, one_by_one.predict(data.instances))
    errors = (predictions != data.labels).double().mean(1)
    assert errors.std() > 0
    assert errors.max() > 0.2


def test_the_unknown_share_equals_the_mean_share_outside_the_row_span():
    for bits, examples in ((2, 3), (3, 2), (3, 3)):
        shares = []
        for flat in product([0, 1], repeat=bits * examples):
            rows = np.array(flat).reshape(examples, bits)
            sums = {tuple(np.array(c) @ rows % 2) for c in product([0, 1], repeat=examples)}
            shares.append(1 - len(sums) / 2**bits)
        assert unknown(bits, np.array([examples]))[0] == pytest.approx(np.mean(shares), abs=1e-15)


def test_exact_accuracies_equal_the_printed_values():
    accuracies = 1 - unknown(16, np.array([14, 16, 17, 19, 22])) / 2
    np.testing.assert_allclose(accuracies, [0.610322, 0.805162, 0.889680, 0.969712, 0.996109], atol=5e-7)


def test_elimination_of_copies_attains_the_line_and_means_stay_above_it():
    learners = {
        "copies": {"solver": "elimination"},
        "means": {"solver": {"kind": "elimination", "batch": 2}},
    }
    words = raw(
        {"kind": "rademacher", "n": 72}, "parity", learners, d=6,
        protocol={"kind": "steps", "steps": 1, "train": 8}, replicas=200,
    )  # fmt: skip
    trace = run(reading.parse({**words, "pictures": [{"measure": {"kind": "error", "rows": "test"}}]}))
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "parity-unknown")
    copies, means = (curve.values("test-error")[-1] for curve in trace.curves)
    assert set(line.applies_to) == {"copies", "means"}
    stderr = copies.std(ddof=1) / np.sqrt(len(copies))
    assert abs(copies.mean() - line.values[-1]) < 4 * stderr
    assert means.mean() > line.values[-1] + 0.3


def test_parity_labels_multiply_a_random_set_of_entries_of_given_size():
    for degree in (None, 3):
        target = {"kind": "parity", **({} if degree is None else {"degree": degree})}
        data = data_of(experiment({"kind": "rademacher", "n": 40}, target, d=BITS, replicas=30))
        rows, labels = data.instances.rows.numpy(), data.labels.numpy()
        sizes = []
        for x, y in zip(rows, labels, strict=True):
            (only,) = fitting(x, y)
            sizes.append(only.sum())
        assert set(sizes) == ({3} if degree else set(sizes))
        assert degree or len(set(sizes)) >= 3
    with pytest.raises(BadInput, match="there are only 5 features"):
        experiment("rademacher", {"kind": "parity", "degree": 6}, d=BITS)
    with pytest.raises(BadInput, match="features ±1"):
        experiment("gaussian", "parity", d=BITS)
