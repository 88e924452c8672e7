"""Rounds grow while they are short and shrink at once when they take too long."""

import pytest
from building import experiment, gd

from engine.runtime import run
from engine.runtime.run import GROWTH, MOST, Pacing

SECONDS = 1 / 16


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is put forward."""
    now = [100.0]
    monkeypatch.setattr(run.time, "perf_counter", lambda: now[0])
    return now


def rounds(clock, per_record: float, count: int, paced: Pacing) -> list[int]:
    """Sizes of some rounds whose records take a given time each."""
    sizes = []
    for _ in range(count):
        sizes.append(paced.records())
        clock[0] += sizes[-1] * per_record
    return sizes


def test_chunks_grow_to_the_requested_duration(clock):
    assert rounds(clock, SECONDS / 128, 4, Pacing(SECONDS)) == [1, GROWTH, GROWTH**2, 128]


def test_quick_chunks_grow_to_the_largest_size(clock):
    assert rounds(clock, 0.0, 6, Pacing(SECONDS)) == [1, GROWTH, GROWTH**2, GROWTH**3, MOST, MOST]


def test_slow_chunks_shrink_immediately_to_at_least_one_record(clock):
    paced = Pacing(SECONDS)
    rounds(clock, 0.0, 4, paced)
    assert rounds(clock, SECONDS / 4, 3, paced) == [MOST, 4, 4]
    assert rounds(clock, 10 * SECONDS, 3, paced) == [4, 1, 1]


def test_a_rest_does_not_change_the_chunk_size(clock):
    paced = Pacing(SECONDS)
    rounds(clock, SECONDS / 128, 4, paced)
    paced.rest()
    clock[0] += 1000.0
    assert paced.records() == 128


def test_a_learner_starts_after_the_first_record_of_the_learner_before_it(monkeypatch):
    traces, lengths = [], []
    begin = run._training_run

    def begin_later(*arguments):
        lengths.append([curve.length for curve in traces[0].curves])
        return begin(*arguments)

    monkeypatch.setattr(run, "_training_run", begin_later)
    described = experiment(d=4, learners={"first": gd(0.1), "second": gd(0.2)})
    run.run(described, lambda: 1, lambda loaded: traces.append(loaded.trace))
    assert lengths == [[0, 0], [1, 0]]
