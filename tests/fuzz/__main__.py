"""`python -m tests.fuzz [--seconds S] [--seed N] [--count N] [--line KIND]`: search for errors."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # experiments are small, and threads would wait for one another


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=None, help="how long to draw (600 without --count)")
    parser.add_argument("--count", type=int, default=None, help="how many experiments to draw at most")
    parser.add_argument("--seed", type=int, default=1, help="all draws come from it")
    parser.add_argument("--line", action="append", default=[], help="draw for this theory line alone")
    parser.add_argument(
        "--folder", type=Path, default=Path("fuzz-findings"), help="where presets are written"
    )
    options = parser.parse_args()
    from tests.fuzz.presets import lines
    from tests.fuzz.search import Campaign
    from tests.fuzz.table import summary

    by_kind = {line.kind: line for line in lines()}
    if unknown := [kind for kind in options.line if kind not in by_kind]:
        parser.error(f"--line: there is no {unknown[0]}; the lines are {', '.join(by_kind)}")
    seconds = options.seconds if options.seconds is not None else 600.0 if options.count is None else None
    campaign = Campaign(
        options.folder,
        number=options.seed * 1_000_000,
        seconds=float("inf") if seconds is None else seconds,
        count=float("inf") if options.count is None else options.count,
        about=[by_kind[kind] for kind in options.line],
        notify=lambda text: print(text, file=sys.stderr, flush=True),
    )
    try:
        campaign.run()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    print(summary(campaign))
    for report in campaign.reports:
        print(report.line)
    return 1 if campaign.reports else 0


if __name__ == "__main__":
    sys.exit(main())
