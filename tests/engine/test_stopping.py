"""Long solvers end soon after a stop, whatever library they wait for."""

import threading

import numpy as np
import pytest
import torch
from building import experiment

from engine import solvers
from engine.core.stopping import Stopped, aside, go_on, stopped_by
from engine.problems.data import Data
from engine.problems.instances import DenseInstances
from engine.runtime.worker import Worker
from engine.solvers import min_divergence, min_q, nuclear, one_by_one
from engine.solvers.l1_logistic import L1Logistic
from engine.solvers.l2_logistic import L2Logistic
from engine.solvers.lasso import Lasso
from engine.solvers.lp_margin import shortest as widest
from engine.spec.sweep import only

PATIENCE = 60


def after(count):
    """Stop condition that is true after `count` calls, and the list of its calls."""
    asked = []
    return lambda: asked.append(0) or len(asked) > count, asked


def test_work_outside_stopped_by_is_never_stopped():
    go_on()
    assert aside(lambda: threading.current_thread()) is threading.current_thread()
    with stopped_by(lambda: True), pytest.raises(Stopped):
        go_on()
    go_on()


def test_results_and_errors_of_a_side_thread_are_passed_on():
    with stopped_by(lambda: False):
        assert aside(lambda: 3) == 3
        with pytest.raises(ArithmeticError, match="no solution"):
            aside(lambda: (_ for _ in ()).throw(ArithmeticError("no solution")))


def test_aside_runs_one_call_at_a_time_and_drops_stopped_calls():
    begun, let_go, wanted = threading.Semaphore(0), threading.Event(), [True]
    at_work, counts_at_work = [], []

    def long():
        at_work.append(0)
        counts_at_work.append(len(at_work))
        begun.release()
        let_go.wait(PATIENCE)
        at_work.pop()

    def asking():
        with stopped_by(lambda: not wanted[0]), pytest.raises(Stopped):
            aside(long)

    threads = [threading.Thread(target=asking) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.acquire(timeout=PATIENCE)
    wanted[0] = False
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "it is left behind"
    let_go.set()
    with stopped_by(lambda: False):
        assert aside(lambda: 4) == 4, "once the last one is over"
    assert counts_at_work == [1]


def test_a_run_stopped_within_a_solution_ends_immediately(monkeypatch):
    begun, let_go = threading.Event(), threading.Event()

    def long(X, y):
        begun.set()
        let_go.wait(PATIENCE)
        return np.zeros(X.shape[1])

    monkeypatch.setattr(solvers, "QUICK", 0)
    monkeypatch.setattr("engine.solvers.min_infinity.flattest", long)
    described = experiment(learners={"it": {"solver": "min-infinity"}}, d=8)
    worker = Worker(only(described), lambda event: None, threads=1)
    worker.start()
    try:
        assert begun.wait(PATIENCE)
        worker.stop()
        assert worker.join(1.0), "within one second, though the program goes on"
    finally:
        let_go.set()


def test_stopping_a_run_ends_a_long_min_divergence_search(monkeypatch):
    begun, search_ended, nearest = threading.Event(), threading.Event(), min_divergence.nearest

    def noted(X, y, dual):
        begun.set()
        try:
            return nearest(X, y, dual)
        except Stopped:
            search_ended.set()
            raise

    monkeypatch.setattr(min_divergence, "nearest", noted)
    learners = {"it": {"solver": "min-divergence"}}
    described = experiment("rademacher", learners=learners, d=220, protocol="at-init")
    worker = Worker(only(described), lambda event: None, threads=1)
    worker.start()
    assert begun.wait(PATIENCE)
    worker.stop()
    assert worker.join(1.0), "this search takes longer"
    assert search_ended.wait(PATIENCE)


X = np.random.default_rng(0).standard_normal((24, 36))
Y = X @ np.random.default_rng(1).standard_normal(36)
INSTANCES, LABELS = DenseInstances(torch.from_numpy(X)[None]), torch.from_numpy(Y)[None]


def fitted(solver, instances, labels):
    """Weights of a solver that learned all examples at once."""
    fit = solver.begin(Data(instances, labels, 1, 1))
    fit.learn(instances, labels)
    return fit.weights()


LOOPS = {
    "one example after the other": lambda: [*one_by_one(INSTANCES, LABELS)],
    "min-divergence": lambda: min_divergence.nearest(X, Y, min_divergence.Power(7.0)),
    "min-q": lambda: min_q.Path(X, Y, 3, np.ones(36)).at(0.01),
    "nuclear": lambda: nuclear.least(X, Y, (6, 6)),
    "lp-margin": lambda: widest(X, np.sign(Y), "fourier"),
    "lasso": lambda: fitted(Lasso(lam=1e-5), INSTANCES, LABELS),
    "l1-logistic": lambda: L1Logistic().solve(X, np.sign(Y)),
    "l2-logistic": lambda: L2Logistic().solve(X, np.sign(Y)),
}


@pytest.mark.parametrize("solver", LOOPS)
def test_iterative_solvers_check_for_a_stop_between_steps(solver):
    stopped, asked = after(2)
    with stopped_by(stopped), pytest.raises(Stopped):
        LOOPS[solver]()
    assert len(asked) == 3
