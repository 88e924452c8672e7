"""The exact posterior of deep linear nets: closed forms of one layer, and sampled weights."""

from math import lgamma, log, pi

import numpy as np
import pytest
from building import data_of, experiment, weights

from engine.core.parts import BadInput
from engine.formulas.deep_linear_posterior import DeepPrior, posterior
from engine.runtime.run import run


@pytest.mark.parametrize(("d", "count", "norm", "variance"), [
    (200, 50, 1.0, 1.7), (12, 10, 0.3, 0.5), (12, 1, 2.0, 1.0), (9, 0, 0.0, 3.0), (300, 270, 1.0, 1.0),
])  # fmt: skip
def test_one_layer_has_the_posterior_of_a_gaussian_prior(d, count, norm, variance):
    spread, evidence = posterior(DeepPrior(0, 5, variance), d, count, norm)
    assert spread == pytest.approx(variance * (d - count) / d, rel=1e-8)
    expected = count / 2 * log(d / (2 * pi * variance)) - d * norm**2 / (2 * variance)
    assert evidence == pytest.approx(expected, abs=1e-7)


def sampled(prior, d, count, norm, draws=400_000):
    """Spread and log evidence by draws of R from the prior, weighted by (t/R)^(m−2) R^(−P), and errors."""
    rng, squares = np.random.default_rng(1), np.full(draws, prior.variance ** (prior.depth + 1))
    for units in (*[prior.width] * prior.depth, d):
        squares *= rng.chisquare(units, draws) / units
    beyond = np.maximum(squares - norm**2, 0)
    shares = (beyond > 0) * (beyond / squares) ** ((d - count - 2) / 2) * squares ** (-count / 2)
    mean = shares.mean()
    spread = (shares * beyond).mean() / mean
    errors = np.std(shares * (beyond - spread)) / mean, np.std(shares) / mean
    evidence = log(mean) + lgamma(d / 2) - lgamma((d - count) / 2) - count / 2 * log(pi)
    return spread, evidence, np.array(errors) / np.sqrt(draws)


@pytest.mark.parametrize(("prior", "d", "count", "norm"), [
    (DeepPrior(3, 5, 1.0), 12, 4, 0.3),
    (DeepPrior(2, 6, 1.3), 8, 6, 0.5),
    (DeepPrior(1, 40, 0.8), 30, 10, 0.7),
])  # fmt: skip
def test_deep_posteriors_agree_with_sampled_lengths(prior, d, count, norm):
    spread, evidence, errors = sampled(prior, d, count, norm)
    exact = posterior(prior, d, count, norm)
    assert abs(exact.spread - spread) < 4 * errors[0]
    assert abs(exact.log_evidence - evidence) < 4 * errors[1]


def test_cumulants_agree_with_lengths_of_gaussian_matrix_products():
    rng, prior = np.random.default_rng(0), DeepPrior(2, 4, 1.5)
    lengths = []
    for _ in range(4000):
        first, second = (rng.normal(0, np.sqrt(1.5 / fan_in), (4, fan_in)) for fan_in in (6, 4))
        lengths.append(np.linalg.norm(rng.normal(0, np.sqrt(1.5 / 4), 4) @ second @ first))
    logs = np.log(lengths)
    assert logs.mean() == pytest.approx(prior.cumulants(0.0, 6, 1), abs=4 * logs.std() / np.sqrt(4000))
    assert logs.var() == pytest.approx(prior.cumulants(0.0, 6, 2), rel=4 * np.sqrt(2 / 4000) + 0.05)
    assert np.mean(np.square(lengths)) == pytest.approx(float(np.exp(prior.cumulants(2.0, 6))), rel=0.15)


def test_with_a_fitting_prior_depth_lowers_evidence_and_hardly_changes_spread():
    for ratio in (0.25, 0.5):
        deep = [
            posterior(DeepPrior(depth, 200, 1.0), 200, int(200 * ratio), ratio**0.5) for depth in (0, 4, 64)
        ]
        assert np.diff([member.log_evidence for member in deep]).max() < 0
        assert np.ptp([member.spread for member in deep]) < 0.02


def test_spread_is_zero_with_all_directions_known_and_nan_with_one_unknown():
    assert posterior(DeepPrior(2, 4, 1.0), 6, 6, 1.0).spread == 0
    assert np.isnan(posterior(DeepPrior(2, 4, 1.0), 6, 5, 1.0).spread)


def test_measured_posteriors_use_the_least_norm_solution_of_the_seen_rows():
    learners = {"it": {"solver": {"kind": "deep-linear-bayes", "depth": 2, "width": 7, "variance": 0.8}}}
    kinds = [{"kind": kind} for kind in ("posterior-spread", "log-evidence")]
    words = {"replicas": 2, "dtype": "float64", "measures": kinds}
    described = experiment({"kind": "gaussian", "n": 5}, "feature", learners, d=9, **words)
    solutions, drawn = weights(described), data_of(described)
    curve = run(described).curves[0]
    measured = np.stack([curve.values(kind["kind"]) for kind in kinds], -1)
    for replica, (rows, labels) in enumerate(
        zip(drawn.instances.rows.numpy(), drawn.labels.numpy(), strict=True)
    ):
        for k in np.flatnonzero(np.isfinite(measured[:, replica, 0])):
            solution = np.linalg.pinv(rows[:k]) @ labels[:k] if k else np.zeros(9)
            np.testing.assert_allclose(solutions[k, replica], solution, atol=1e-12)
            expected = posterior(DeepPrior(2, 7, 0.8), 9, int(k), float(np.linalg.norm(solution)))
            np.testing.assert_allclose(measured[k, replica], expected, rtol=1e-7)


def test_posterior_measures_require_a_learner_with_a_posterior():
    with pytest.raises(BadInput, match="has a posterior"):
        experiment("gaussian", "coin", {"it": {"solver": "lls"}}, measures=[{"kind": "posterior-spread"}])
