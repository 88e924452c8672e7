"""Generated and mutated presets: each is understood, or refused in one line, and a sample of them is run."""

from __future__ import annotations

import faulthandler
import json
import resource
import signal
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from engine.core.parts import BadInput
from engine.core.stopping import Stopped, stopped_by
from engine.results.outcomes import judge
from engine.results.report import encode
from engine.results.results import of_one
from engine.runtime.run import run as compute
from engine.runtime.worker import ROUND_SECONDS
from engine.spec import reading
from engine.spec.experiment import Experiment
from hadamard_tui.sharing.exporting import as_toml
from tests.soak.outcome import Outcome

MUTATIONS = 3
"""Number of mutated presets among four."""

RUN_EVERY = 10
SECONDS = 2.0
"""Most seconds for reading a preset; a run of the sample is stopped after as many."""

STUCK = 120
"""Seconds after which a call that cannot be interrupted ends the part, with a traceback."""

MEMORY = 12 * 2**30
LONGEST_LINE = 1000

Raw = dict[str, Any]


def generator() -> tuple[Callable[[int], Raw], Callable[[Raw, int], Raw]]:
    """Generator of presets and mutations, the same as in the test suite."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))
    from generated import generate, mutate  # type: ignore[import-not-found, unused-ignore]

    return generate, mutate


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raises: TimeoutError."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"it took more than {seconds:.0f} s of processor time")

    signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def check_refusal(error: BadInput) -> None:
    """Check that a refusal is one printable line. Raises: AssertionError."""
    line = str(error)
    assert line.isprintable(), f"a refusal with control characters: {line!r}"
    assert len(line) <= LONGEST_LINE, f"a refusal of {len(line)} characters"


def read(raw: Raw) -> Experiment | None:
    """Read an experiment and check that it survives writing; None if it is refused in one line."""
    try:
        with interrupted_after(SECONDS):
            experiment = reading.parse(raw)
    except BadInput as error:
        check_refusal(error)
        return None
    assert reading.parse(msgspec.to_builtins(experiment)) == experiment, (
        "another one comes back from its raw values"
    )
    assert reading.parse(tomllib.loads(as_toml(experiment))) == experiment, (
        "another one comes back from its file"
    )
    return experiment


def run_briefly(experiment: Experiment) -> bool:
    """Run for a short time; whether it was not refused. The report is JSON without NaN.

    It is stopped as the app stops a run, within a round and within a solution; that must not take long.
    """
    end = time.monotonic() + SECONDS

    def over() -> bool:
        return time.monotonic() > end

    try:
        with stopped_by(over):
            trace = compute(experiment, lambda: 0 if over() else 64, turn=ROUND_SECONDS)
    except Stopped:
        return True
    except BadInput as error:
        check_refusal(error)
        return False

    def refuse(constant: str) -> None:
        raise AssertionError(f"the report says {constant}")

    results = of_one(experiment, trace)
    document = msgspec.to_builtins(experiment)
    json.loads(encode(document, results, judge(results)), parse_constant=refuse)
    return True


def run(seed: int, count: int) -> Outcome:
    """Try `count` presets; the n-th comes from the seed `seed` + n."""
    outcome = Outcome("presets", seed)
    generate, mutate = generator()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(seed, seed + count):
        faulthandler.dump_traceback_later(STUCK, exit=True)
        raw: object = None
        try:
            raw = generate(number)
            mutated = number % 4 < MUTATIONS
            if mutated:
                raw = mutate(raw, number)
            experiment = read(raw)
            outcome.count("mutated" if mutated else "generated")
            if experiment is None:
                outcome.count("refused in one line")
                continue
            outcome.count("understood")
            if number // 4 % RUN_EVERY == 0:  # by its seed, so that a preset alone is run, too
                outcome.count("run" if run_briefly(experiment) else "refused to run")
        except Exception as error:
            kind = "hang" if isinstance(error, TimeoutError) else "exception"
            again = f"python -m tests.soak presets --seed {number} --count 1"
            outcome.fail(
                kind, f"preset {number}: {type(error).__name__}: {error}"[:500], again, f"{raw!r}"[:3000]
            )
        finally:
            if (number - seed) % 1000 == 999:
                print(
                    f"presets: {number - seed + 1} of {count}, {len(outcome.failures)} failures", flush=True
                )
    faulthandler.cancel_dump_traceback_later()
    return outcome
