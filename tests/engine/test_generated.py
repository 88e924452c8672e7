"""Random and spoilt documents are valid or refused in one line, and small ones run to their end."""

import time
from itertools import islice

import crossing
import msgspec
import numpy as np
import pytest
from discovery import PARTS
from generated import generate, mutate

from engine.core.parts import BadInput
from engine.planning import memory_estimate
from engine.planning.run_plan import plan_run
from engine.results import report
from engine.results.outcomes import judge
from engine.results.results import of_one
from engine.runtime.run import run
from engine.spec import reading
from engine.spec.experiment import Experiment

GENERATED, MUTATED, RUN = (600, 300, 60) if crossing.all_combinations else (240, 150, 30)

OF_ONE, RUN_OF_ONE = 300, 8
"""Draws that may include an experimental part, and the most of them that are run."""

SECONDS = 0.5
"""Processor time for reading, checking and estimating; a fiftieth of it is usual."""


@pytest.fixture
def files(tmp_path):
    tables = [np.random.default_rng(0).standard_normal((5, 3)), [[1.0]], [[1.0, -1], [-1, 1]], [[0.0], [1.0]]]
    for number, table in enumerate(tables):
        np.save(tmp_path / f"{number}.npy", table)
    return [str(tmp_path / f"{number}.npy") for number in range(len(tables))]


def outcome(raw):
    """Experiment that fits into memory, or the lines of its refusal."""
    began = time.process_time()
    try:
        experiment = reading.parse(raw)
        memory_estimate.check(plan_run(experiment), "cpu")
    except BadInput as error:
        return str(error).splitlines()
    finally:
        assert time.process_time() - began < SECONDS
    return experiment


def refusals(outcomes):
    """Number of refusals, each of which has one line."""
    refused = [outcome for outcome in outcomes if not isinstance(outcome, Experiment)]
    assert all(len(lines) == 1 for lines in refused)
    return len(refused)


@pytest.mark.slow
def test_an_experiment_made_from_the_catalogue_is_read_or_refused_in_one_line(files):
    outcomes = [outcome(generate(seed, files=files)) for seed in range(GENERATED)]
    assert GENERATED / 5 < refusals(outcomes) < GENERATED * 4 / 5, "there are many of both"


def test_a_mutated_experiment_is_read_or_refused_in_one_line(files):
    outcomes = [outcome(mutate(generate(seed, files=files), seed)) for seed in range(MUTATED)]
    assert refusals(outcomes) > MUTATED / 2


def test_generated_experiments_depend_only_on_their_seed(files):
    for seed in range(5):
        assert generate(seed) == generate(seed)
        assert generate(seed) != generate(seed + 5)
        assert mutate(generate(seed), 1) == mutate(generate(seed), 1) != generate(seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_small_generated_experiments_run_and_are_read_back_from_their_report(files):
    seed = ended = 0
    while ended < RUN:
        seed += 1
        ended += runs(generate(seed, small=True, files=files))


def runs(raw):
    """Whether a document is valid; then it runs to its end and is read back from its report."""
    try:
        experiment = reading.parse(raw)
        with np.errstate(all="raise", under="ignore"):
            trace = run(experiment)
    except BadInput:
        return False
    for curve in trace.curves:
        assert curve.complete or curve.diverged_at is not None
    results = of_one(experiment, trace)
    written = msgspec.json.decode(report.encode({}, results, judge(results)))
    assert reading.parse(written["experiment"]["resolved"]) == experiment
    return True


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for _, kind, member in PARTS if member.experimental])
@pytest.mark.filterwarnings("error")
def test_generated_experiments_with_experimental_parts_are_read_or_refused(kind, files):
    def drawn(**words):
        raws = (generate(seed, files=files, part=kind, **words) for seed in range(OF_ONE))
        return (raw for raw in raws if named_in(raw, kind))

    outcomes = [outcome(raw) for raw in drawn()]
    assert outcomes
    refusals(outcomes)
    assert list(islice(filter(runs, drawn(small=True)), RUN_OF_ONE))


def named_in(raw, kind):
    """Whether a document contains a kind anywhere."""
    within = raw.values() if isinstance(raw, dict) else raw if isinstance(raw, list) else ()
    return raw == kind or any(named_in(part, kind) for part in within)
