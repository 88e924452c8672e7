"""The drift along a valley, against its equation and against walkers that are simulated by loops."""

from math import sqrt

import numpy as np
import pytest
from building import experiment, gd
from scipy.integrate import solve_ivp

from engine.core import catalogue
from engine.core.streams import Streams
from engine.runtime.run import run

RATE, SIGMA = 0.05, sqrt(0.5)


def valley(n, rate=RATE, replicas=2, v0=1.0):
    return experiment(
        {"kind": "rademacher", "n": n},
        "zero",
        {"it": gd(rate, kind="valley", v0=v0)},
        d=2,
        noise=SIGMA,
        replicas=replicas,
        dtype="float64",
        measures=[{"kind": "layer-mean"}],
    )


@pytest.mark.parametrize(("rate", "v0"), [(0.05, 1.0), (0.01, 3.0), (0.2, 0.5)])
def test_the_valley_line_solves_its_differential_equation(rate, v0):
    trace = run(valley(200, rate, v0=v0))
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "valley-drift")

    def drift(_, v):
        return -(rate**2) * SIGMA**2 * 2 * v / (1 - rate * (1 + v**2))

    solution = solve_ivp(drift, (0, 200), [v0], t_eval=np.arange(201), rtol=1e-11, atol=1e-13)
    places = line.of_curves["it"].values.reshape(-1, 2)
    np.testing.assert_allclose(places[:, 1], solution.y[0], rtol=1e-8)
    assert (places[:, 0] == 0).all()


@pytest.mark.slow
def test_walkers_have_the_moments_of_a_direct_simulation():
    rng, draws, steps = np.random.default_rng(3), 4000, 100
    u, v = np.zeros(draws), np.ones(draws)
    for _ in range(steps):
        gain, y = np.sqrt(1 + v**2), SIGMA * rng.standard_normal(draws)
        slope = 2 * (gain * u - y)
        u, v = u - RATE * slope * gain, v - RATE * slope * u * v / gain
    measured = run(valley(steps, replicas=1000)).curves[0].array("layer-mean").values[-1]
    for simulated, walkers in zip((u, v, u**2), (*measured.T, measured[:, 0] ** 2), strict=True):
        error = sqrt(simulated.var() / draws + walkers.var() / len(walkers))
        assert abs(simulated.mean() - walkers.mean()) < 4 * error
    spread = RATE * SIGMA**2 / (1 - RATE * (1 + v.mean() ** 2))
    assert (u**2).mean() == pytest.approx(spread, abs=4 * (u**2).std() / sqrt(draws))


def test_layer_mean_is_the_mean_of_the_layer_entries():
    net = gd(0.1, kind="dense", widths=[3])
    measures = [{"kind": "layer-mean"}, {"kind": "layer-mean", "square": True}]
    words = {"measures": measures, "protocol": "at-init", "dtype": "float64"}
    measured = run(experiment("gaussian", "coin", {"it": net}, d=4, **words)).curves[0]
    start = catalogue.make("architectures", "dense", widths=[3]).start(Streams([0])("init"), 4)
    for name, power in (("layer-mean", 1), ("layer-mean-square", 2)):
        expected = [(start["W1"] ** power).mean(), (start["W2"] ** power).mean()]
        np.testing.assert_allclose(measured.array(name).values[0, 0], expected, rtol=1e-12)
