"""One run after another in one process of the app: memory, descriptors and threads stay as they are."""

from __future__ import annotations

import statistics
import time
from typing import NamedTuple

import psutil

from benchmarks.tui import SMALL, app
from tests.soak.outcome import Outcome

MOST_MIB, MOST_SHARE = 16.0, 0.05
"""Allowed growth of memory from the second tenth of the time to the last, in MiB and as a share."""

VIEWS = "v1234567890"


class Sample(NamedTuple):
    """Resources of the process between two runs."""

    mib: float
    descriptors: int
    threads: int


def growth(samples: list[Sample]) -> list[str]:
    """Sentences about resources that grew from the second tenth of the samples to the last."""
    tenth = max(1, len(samples) // 10)
    early, late = samples[tenth : 2 * tenth] or samples[:1], samples[-tenth:]
    wrong = []
    for name in Sample._fields:
        before, after = (
            statistics.median(getattr(sample, name) for sample in part) for part in (early, late)
        )
        allowed = max(MOST_MIB, MOST_SHARE * before) if name == "mib" else 0
        if after > before + allowed:
            wrong.append(f"{name} grew from {before:.0f} to {after:.0f} in {len(samples)} runs")
    return wrong


def run(seed: int, minutes: float) -> Outcome:
    """Run for some minutes, each run on another panel. The seed is recorded and has no effect."""
    outcome = Outcome("runs", seed)
    again = f"python -m tests.soak runs --count {minutes:g}"
    samples: list[Sample] = []
    with app(*SMALL) as (terminal, noted):
        process = psutil.Process(terminal.pid)
        terminal.press("f")
        end = time.monotonic() + 60 * minutes
        try:
            while time.monotonic() < end:
                terminal.press(VIEWS[len(samples) % len(VIEWS)] + "r")
                terminal.until(lambda: len(noted("Finished")) > len(samples))
                time.sleep(0.2)
                samples.append(
                    Sample(process.memory_info().rss / 2**20, process.num_fds(), process.num_threads())
                )
                del terminal.written[:-65536]
        except (TimeoutError, psutil.Error) as error:
            outcome.fail("hang", f"after {len(samples)} runs: {error}", again)
            if terminal.gone() is None:
                process.kill()
        else:
            terminal.quit()
    for wrong in growth(samples):
        outcome.fail("growth", wrong, again)
    outcome.did = {"minutes": minutes, "runs": len(samples)}
    if samples:
        tenth = len(samples) // 10
        outcome.did |= {
            f"{name} early": value for name, value in zip(Sample._fields, samples[tenth], strict=True)
        }
        outcome.did |= {
            f"{name} late": value for name, value in zip(Sample._fields, samples[-1], strict=True)
        }
    return outcome
