"""`python -m tests.soak [PART] [--seed N] [--count N] [--hours N]`: one part, or all of them with a table."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path

import msgspec

from tests.soak import campaign
from tests.soak.outcome import Outcome

PARTS = {
    "keys": ("random keys, clicks, pastes and resizes", campaign.KEYS),
    "presets": ("generated and mutated presets", campaign.PRESETS),
    "kills": ("kills of runs, exports and saves", campaign.KILLS),
    "stores": ("kills and other harm of stores of runs", campaign.STORES),
    "runs": ("minutes of runs one after another", campaign.MINUTES),
}


MODULES = {"keys": "sessions", "presets": "generated_presets", "kills": "kills", "stores": "stores"}
"""Module of every part that counts; one alone is imported, because forks of a small process are fast."""


def run(part: str, seed: int, count: float) -> Outcome:
    """One part, in this process."""
    if part == "runs":
        from tests.soak import long_runs

        return long_runs.run(seed, count)
    outcome: Outcome = import_module(f"tests.soak.{MODULES[part]}").run(seed, round(count))
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parts = "; ".join(f"{name}: {subject} ({count:,})" for name, (subject, count) in PARTS.items())
    parser.add_argument("part", nargs="?", choices=PARTS, help=f"{parts}; all if not given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=float, help="how much of a part; minutes of runs")
    parser.add_argument(
        "--share", type=float, default=1.0, help="for a trial: how much of the usual, of all parts"
    )
    parser.add_argument("--hours", type=float, help="of runs beside all other parts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what came out, too")
    parser.add_argument(
        "--page", action="store_true", help="put one part into the table of docs/explanation/reliability.md"
    )
    options = parser.parse_args()
    from tests.soak import table

    begun = time.monotonic()
    if options.part is None:
        outcomes = campaign.all_parts(options.seed, options.share, options.hours)
    else:
        count = PARTS[options.part][1] if options.count is None else options.count
        outcomes = [run(options.part, options.seed, count)]
    if options.json:
        options.json.write_bytes(msgspec.json.encode(outcomes[0] if options.part else outcomes))
    text = table.markdown(outcomes, (time.monotonic() - begun) / 60)
    failures = [failure for outcome in outcomes for failure in outcome.failures]
    if options.part is None:
        for failure in failures:
            print(f"{failure.kind}: {failure.what}\n  again: {failure.again}")
        if options.share == 1:
            table.write(text)
    elif options.page:
        table.replace_rows(outcomes[0], (time.monotonic() - begun) / 60)
    print(text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
