"""A sweep that is spread over devices of one kind has the results of one device of that kind."""

import os
import signal
from pathlib import Path

import numpy as np
import psutil
import pytest
from building import gd
from fake_cuda import fake_cuda

from engine.core.parts import BadInput
from engine.planning.run_plan import plan_run
from engine.results.measure_series import MeasureSeries
from engine.results.outcomes import judge
from engine.results.report import encode
from engine.results.trace import Curve
from engine.runtime import spreading
from engine.runtime.run_reader import opened
from engine.runtime.run_writer import RunWriter
from engine.runtime.spreading import groups, joined, serve, serve_on_cuda
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.spec.documents import sweep_of

NETS = {
    "problem": {"matrix": {"kind": "gaussian", "n": 12, "d": 8}, "target": "feature"},
    "protocol": {"kind": "steps", "steps": 6, "records": 4},
    "learners": [
        {"name": "GD", **gd("best")},
        {
            "name": "net",
            "architecture": {"kind": "dense", "widths": [4]},
            "update": {"kind": "adam", "lr": 0.01},
        },
    ],
    "run": {
        "replicas": 5,
        "device": "cuda",
        "seed": 7,
        "measures": [{"kind": "loss", "rows": "train"}, "jacobian-spectrum"],
    },
}
SIZES = [6, 7, 8]
SWEEP = {
    **NETS,
    "axes": [{"name": "size", "values": SIZES}],
    "problem": {"matrix": {"kind": "gaussian", "n": 12, "d": "size"}, "target": "feature"},
    "pictures": [{"x": "size", "measure": "loss"}],
}


def serve_on_fake_card(connection):
    with fake_cuda():
        serve(connection)


def serve_and_die(connection):
    connection.recv_bytes()
    os.kill(os.getpid(), signal.SIGKILL)


CARDS = [serve_on_fake_card, serve_on_fake_card]


def spread(words, devices=CARDS, **more):
    with fake_cuda():
        return run_sweep(sweep_of(words), devices=devices, **more)


def check_equal(computed, expected, rtol):
    """Check that all curves of two results are equal up to rounding, with measures, arrays and errors."""
    assert computed.finished == expected.finished
    for number, trace in expected.traces.items():
        assert computed.traces[number].environment == {**trace.environment, "devices": 2}
        for curve, curve_alone in zip(computed.traces[number].curves, trace.curves, strict=True):
            assert (curve.name, curve.best, curve.ended) == (
                curve_alone.name,
                curve_alone.best,
                curve_alone.ended,
            )
            arrays, arrays_alone = curve.as_arrays(), curve_alone.as_arrays()
            assert arrays.keys() == arrays_alone.keys()
            for name, array in arrays.items():
                if array.dtype.kind != "f":
                    np.testing.assert_array_equal(array, arrays_alone[name], name)
                else:
                    np.testing.assert_allclose(array, arrays_alone[name], rtol, rtol, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "rtol"), [(SWEEP, 0.0), (NETS, 1e-6)], ids=["points", "groups of replicas"]
)
def test_spread_results_match_a_single_device(words, rtol, tmp_path, monkeypatch):
    """Points are equal bit by bit; groups of replicas are up to rounding, which depends on a batch's size.

    Every device computes a share, and its process has ended afterwards.
    """
    expected = spread(words, ())
    writer = RunWriter(Store(tmp_path), words)
    submitted = []
    submit = spreading.Device.submit

    def recorded(self, number, experiment):
        submitted.append((self.process.pid, experiment.run.seed, experiment.run.replicas))
        submit(self, number, experiment)

    with monkeypatch.context() as patch:
        patch.setattr("engine.runtime.run.Undrawn", None)  # this process trains nobody
        patch.setattr(spreading.Device, "submit", recorded)
        computed = spread(words, writer=writer)
    pids = {pid for pid, *_ in submitted}
    assert len(pids) == len(CARDS), "every device computes a share"
    if words is NETS:
        assert {tuple(share) for _, *share in submitted} == {(7, 2), (9, 3)}
    assert not pids & {child.pid for child in psutil.Process().children()}
    assert not any(curve.is_restored for trace in computed.traces.values() for curve in trace.curves)
    check_equal(computed, expected, rtol)
    run = Store(tmp_path).run(writer.run)
    assert run.state == "finished"
    _, again = opened(Path(run.path))
    assert encode({}, again, judge(again)) == encode({}, computed, judge(computed))
    with monkeypatch.context() as patch:
        patch.setattr(spreading.Device, "submit", None)  # no device gets work that is stored
        restored = spread(words, writer=RunWriter(Store(tmp_path), {**words, "title": "again"}))
    assert all(curve.is_restored for trace in restored.traces.values() for curve in trace.curves)


@pytest.mark.slow
def test_a_refusal_a_crash_and_a_stop_end_all_processes():
    before = {child.pid for child in psutil.Process().children()}
    with pytest.raises(BadInput, match=r"--on local:cuda: a worker process ended with exit code -9"):
        spread(SWEEP, [serve_and_die, serve_and_die])
    stops = iter([False] * 3 + [True] * 10**6)
    stopped_early = spread(SWEEP, stopped=lambda: next(stops))
    assert not stopped_early.complete
    with pytest.raises(BadInput, match="cuda"):
        run_sweep(sweep_of(SWEEP), devices=[serve, serve])
    assert {child.pid for child in psutil.Process().children()} <= before


def plan(**more):
    return plan_run(sweep_of({**NETS, **more}).experiment)


@pytest.mark.parametrize(("count", "shares"), [(1, [5]), (2, [2, 3]), (3, [2, 3]), (9, [2, 3])])
def test_groups_cover_each_replica_once_with_at_least_two_per_group(count, shares):
    runs = groups(plan(), count)
    assert [run.replicas for run in runs] == shares
    seeds = [seed for run in runs for seed in range(run.seed, run.seed + run.replicas)]
    assert seeds == list(range(7, 12))


def test_dependent_replicas_stay_in_one_group():
    change = {"kind": "change", "group": "rotations"}
    assert len(groups(plan(run={**NETS["run"], "measures": [change]}), 2)) == 1
    until = {"kind": "to-consistency", "examples": 4, "most_steps": 6}
    del until["examples"], until["most_steps"]
    schedule = plan(protocol=until).experiment.protocol.schedule()
    assert (schedule.ends_early is not None) == (len(groups(plan(protocol=until), 2)) == 1)


def curve_of(losses, divergences):
    """A curve of losses [S, R] up to the last divergence, as the engine leaves it."""
    series = MeasureSeries(*losses.shape)
    series.fill(0, losses)
    arrays = {
        "divergences": divergences,
        "backends": np.array(["dense"]),
        "clock/k": np.arange(float(len(losses))),
        "values/loss": losses,
        "mean/loss": series.mean,
    }
    return arrays | ({} if series.stderr is None else {"stderr/loss": series.stderr})


def test_joined_groups_are_nan_after_an_early_divergence():
    losses = np.random.default_rng(0).random((5, 4))
    losses[2:, 0] = losses[3:, 1] = np.nan
    divergences = np.array([2.0, 3.0, np.nan, np.nan])
    unsplit = curve_of(losses, divergences)
    parts = [curve_of(losses[:3, :2], divergences[:2]), curve_of(losses[:, 2:], divergences[2:])]
    merged = joined(parts, [2, 2])
    assert merged.keys() == unsplit.keys()
    for name, array in unsplit.items():
        np.testing.assert_array_equal(merged[name], array, name)
    curve = Curve("GD", 5, 4, plan().learners[0].verdict)
    curve.restore(merged)
    assert (curve.length, curve.diverged) == (5, 2)


def test_only_visible_cuda_devices_are_used(monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 5,7")
    assert [begin.args[0] for begin in spreading.cuda_devices()] == ["3", "5"]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    devices = spreading.cuda_devices()
    assert [(begin.func, begin.args[0]) for begin in devices] == [(serve_on_cuda, "0"), (serve_on_cuda, "1")]
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(BadInput, match="no CUDA device"):
        spreading.cuda_devices()
