"""The spectrum of the weights across targets: against numpy's, and the ranks that theory gives."""

import numpy as np
import pytest
from building import curve, experiment, gd, spectrum_of, weights

from engine.core.linear_algebra import DENSE_RECORDS, looked_at
from engine.core.parts import BadInput
from engine.results import views
from engine.results.report import picture_of_spectra, spectra
from engine.results.results import of_one
from engine.runtime.run import run

D = 16
ALL_TARGETS = {"d": D, "target": "all", "spectrum": True}
HALF = {"kind": "dense", "widths": [D], "activation": "identity", "scale": 0.5}


@pytest.mark.parametrize("rule", ["gd", "egu", "egu-pm", "momentum"])
def test_singular_values_match_the_weights_of_the_first_replica(rule):
    learners = {"it": {"update": {"kind": rule, "lr": 1 / 64}}}
    described = experiment(learners=learners, replicas=2, **ALL_TARGETS)
    spectrum = spectrum_of(run(described).curves[0])
    expected = np.linalg.svd(weights(described)[:, :D], compute_uv=False)
    assert spectrum.x.tolist() == list(range(D + 1))
    np.testing.assert_allclose(spectrum.values, expected, rtol=0, atol=1e-12)
    threshold = D * np.finfo(np.float64).eps * expected[:, :1]
    np.testing.assert_array_equal(spectrum.rank, (expected > threshold).sum(1))


def test_the_rank_of_gradient_descent_is_k():
    spectrum = spectrum_of(curve(learners={"GD": gd(1 / (2 * D))}, **ALL_TARGETS))
    np.testing.assert_array_equal(spectrum.rank, spectrum.x)


def test_the_largest_rank_of_two_linear_layers_is_2k_plus_1():
    described = {"learners": {"two": gd(0.01, **HALF)}, "target": "all", "spectrum": True, "d": 32}
    spectrum = spectrum_of(curve(**described))
    assert (spectrum.rank <= 2 * spectrum.x + 1).all()
    np.testing.assert_array_equal(spectrum.rank[4:12], 2 * spectrum.x[4:12] + 1)


@pytest.mark.parametrize("learner", [{"update": {"kind": "egu", "lr": 0.15}}, gd(0.04, kind="spindly")])
def test_the_rank_of_multiplicative_learners_doubles_with_every_example(learner):
    described = {"learners": {"it": learner}, "target": "all", "spectrum": True, "d": 64}
    spectrum = spectrum_of(curve(**described))
    np.testing.assert_array_equal(spectrum.rank[:7], 2 ** np.arange(7))
    assert (spectrum.rank[7:] == 64).all()


def test_ranks_in_float32_use_float32_rounding():
    spectrum = spectrum_of(curve(learners={"GD": gd(0.01)}, dtype="float32", **ALL_TARGETS))
    np.testing.assert_array_equal(spectrum.rank, spectrum.x)


def test_every_rate_and_the_best_rate_have_their_own_spectrum():
    described = experiment(learners={"GD": {"update": {"kind": "gd", "lr": [1e-18, 1 / 32]}}}, **ALL_TARGETS)
    small, large = map(spectrum_of, run(described).curves)
    np.testing.assert_allclose(small.values[1:, 0], 2e-18 * np.sqrt(D) * np.sqrt(D), rtol=1e-9)
    np.testing.assert_array_equal(large.rank, large.x)
    best = curve(learners={"GD": {"update": {"kind": "gd", "lr": "best"}}}, **ALL_TARGETS)
    np.testing.assert_array_equal(spectrum_of(best).rank, spectrum_of(best).x)


def test_erm_models_have_one_spectrum_each():
    protocol = {"kind": "erm", "every": 4, "steps": 50}
    spectrum = spectrum_of(curve(learners={"GD": gd(1 / (2 * D))}, protocol=protocol, **ALL_TARGETS))
    assert spectrum.x.tolist() == [0, 4, 8, 12, 16]
    assert spectrum.rank.tolist() == [0, 4, 8, 12, 16]


def test_nonlinear_nets_have_no_spectrum():
    net = {"kind": "dense", "widths": [4], "activation": "relu"}
    assert spectrum_of(curve(learners={"net": gd(0.01, **net)}, **ALL_TARGETS)) is None


def test_the_spectrum_is_computed_only_on_request():
    assert spectrum_of(curve(d=D, target="all")) is None


def test_a_diverged_learner_keeps_its_earlier_spectra():
    grown = curve("rademacher", learners={"GD": gd(1.0)}, **ALL_TARGETS)
    assert grown.diverged_at is not None
    assert np.isfinite(spectrum_of(grown).values).all()
    assert spectrum_of(grown).x[-1] < grown.diverged_at


def test_the_spectrum_requires_several_targets():
    with pytest.raises(BadInput) as caught:
        run(experiment(d=D, spectrum=True))
    assert caught.value.where == "run.measures[0]"
    assert "several targets" in caught.value.fault


def test_records_are_thinned_by_octaves():
    looked = np.flatnonzero([looked_at(record) for record in range(1 << 12)])
    assert looked[: 1 << DENSE_RECORDS].tolist() == list(range(1 << DENSE_RECORDS))
    for octave in range(DENSE_RECORDS, 12):
        records_of_octave = looked[(looked >= 1 << octave) & (looked < 1 << (octave + 1))]
        assert len(records_of_octave) == 1 << (DENSE_RECORDS - 1)
        assert (np.diff(records_of_octave) == 1 << (octave - DENSE_RECORDS + 1)).all()


def test_the_fast_view_of_spectra_matches_the_recorded_values(monkeypatch):
    described = experiment(learners={"GD": gd(0.01), "EGU": {"update": "egu"}}, **ALL_TARGETS)
    trace = run(described)
    picture, results = picture_of_spectra(described), of_one(described, trace)
    spectra_view = views.view(picture, results)
    monkeypatch.setattr(views, "_recorded_cells", lambda steps, arguments: None)
    for quick, slow in zip(spectra_view.heats, views.view(picture, results).heats, strict=True):
        for axis in ("x", "y", "z"):
            np.testing.assert_array_equal(getattr(quick, axis), getattr(slow, axis))
        assert quick.stderr is slow.stderr is None
    for curve_of_run in trace.curves:
        expected = spectrum_of(curve_of_run).values
        np.testing.assert_array_equal(spectra(spectra_view)[curve_of_run.name].values, expected)
