"""Write docs/reference/judgements.md: symmetries and losses of our update rules and those of libraries.

`python docs/judgements.py [--fresh] [NAME ...]`. Finished rows are in docs/judgements.json, and only missing
ones are computed, so that Ctrl-C loses at most the rules at work. With `--fresh`, all are computed anew, and
with names, these rows are. A row records the seconds of processor time that it took.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import msgspec

from engine.core import catalogue, files, optimizers
from engine.core.parts import BadField, BadInput
from engine.judging.named_rule import named_rule
from engine.judging.rule_judgement import MARKS, PROBLEMS, RATES, REPLICAS, STEPS, D, as_json, judge_rule
from engine.symmetry.rules import GROUPS

ROWS = Path(__file__).parent / "judgements.json"
PAGE = Path(__file__).parent / "reference" / "judgements.md"
SPACING = MARKS[0]
"""Distance between numbers of examples: as few as the page shows, which takes half of the time."""

MISSING = {"not_judged": "not computed yet; `make judgements` computes it"}

PLACES = ", ".join(f"{1 - k / D:g} at k = {k}" for k in MARKS)

HEAD = f"""# Judgements of update rules

`hadamard-tui judge NAME` prints the page of one rule. This is the table of all rules that it knows by name:
ours, those of torch.optim, and those of pytorch-optimizer. `make judgements` writes it.

**Symmetries**: does a transformation of the inputs leave unchanged what the rule learns? A linear neuron and
a small tanh net are trained in float64, on data and on transformed data, with coupled starts. *Unstable*: the
change may be rounding that the rule amplifies. A type in brackets: the rule computes in it although float64
is given.

**Losses** ± standard errors of {REPLICAS} draws: a linear neuron from 0 with d = {D}, {STEPS} steps on the
first k examples, whose labels are one feature. The rate is the best of {len(RATES)} from {RATES[0]:g} to
{RATES[-1]:g} that fit the examples. No rotation-invariant learner has a mean loss below 1 − k/d: {PLACES}."""

AGREEMENT = "No measurement contradicts a verdict that a rule declares by structure."

SOURCES = {"hadamard-tui": "", "torch.optim": "torch", "pytorch-optimizer": "pytorch-optimizer"}
"""Libraries by the headings of their tables."""

OPTIONS: dict[str, dict[str, Any]] = {
    "torch.LBFGS": {"max_iter": 4, "history_size": 10},
    # 20 halvings of an interval below 1 reach 1e-6, far below the precision 0.004 of its bfloat16 numbers.
    "pytorch_optimizer.SpectralSphere": {"solver_max_iterations": 20},
}
"""Options of rules that would take from a quarter of an hour to an hour with their defaults."""

SIGNS = {"invariant": "yes", "not invariant": "no", "unstable": "unstable"}


def rules() -> list[tuple[str, str]]:
    """Return all rules as pairs of the heading of their table, and their name for `judge`.

    A library also publishes optimizers of torch; these are in the table of torch.
    """
    ours = [("hadamard-tui", kind) for kind in catalogue.members("updates") if kind != "torch"]
    theirs = [
        (source, f"{'torch' if library == 'torch' else 'pytorch_optimizer'}.{name}")
        for source, library in SOURCES.items()
        if library
        for name, optimizer in optimizers.optimizers_of(library).items()
        if optimizers.qualified(optimizer).startswith(optimizers.MODULES[library].partition(".")[0] + ".")
    ]
    return ours + theirs


def row(name: str) -> dict[str, Any]:
    """Return the judgement of a rule, or the reason why there is none."""
    warnings.simplefilter("ignore")
    try:
        rule: Any = named_rule(name)
        if name in OPTIONS:
            rule = msgspec.structs.replace(rule, options=OPTIONS[name])
        before = time.process_time()
        judged = as_json(judge_rule(rule, name.rpartition(".")[2], SPACING))
        return {**judged, "processor_seconds": round(time.process_time() - before, 1)}
    except (BadInput, BadField) as error:
        return {"not_judged": error.fault}


def compute(rows: dict[str, Any]) -> None:
    """Compute the missing rows, one process per core, and save each when it is finished."""
    missing = [name for _, name in rules() if name not in rows]
    os.environ["OMP_NUM_THREADS"] = "1"
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        names = {pool.submit(row, name): name for name in missing}
        try:
            for number, future in enumerate(as_completed(names), start=1):
                rows[names[future]] = future.result()
                files.write(ROWS, json.dumps(rows, indent=1, ensure_ascii=False, sort_keys=True).encode())
                seconds = rows[names[future]].get("processor_seconds", 0)
                print(f"{number} of {len(missing)}: {names[future]}, {seconds} s", file=sys.stderr)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def page(rows: dict[str, Any]) -> str:
    """Return the page of all rows."""
    rows = {name: rows.get(name, MISSING) for _, name in rules()}
    judged = [name for name in rows if "not_judged" not in rows[name]]
    disagree = [name for name in judged if not rows[name]["agree"]]
    agreement = f"Structure and measurement disagree: {', '.join(disagree)}." if disagree else AGREEMENT
    lines = [HEAD, "", f"{len(judged)} of {len(rules())} rules have a verdict. {agreement}"]
    for source in SOURCES:
        names = [name for its_source, name in rules() if its_source == source]
        heads = [*GROUPS, *(f"{problem}, k = {k}" for problem in PROBLEMS for k in MARKS)]
        lines += ["", f"## {source}", "", f"| rule | {' | '.join(heads)} |", f"|---{'|---' * len(heads)}|"]
        lines += [line(name, rows[name]) for name in names if "not_judged" not in rows[name]]
        unjudged = [name for name in names if "not_judged" in rows[name]]
        if unjudged:
            lines += ["", "Without a verdict:", ""]
            lines += [f"- {name.rpartition('.')[2]}: {rows[name]['not_judged']}" for name in unjudged]
    return "\n".join(lines) + "\n"


def line(name: str, judged: dict[str, Any]) -> str:
    """Return the line of a rule in its table."""
    precisions = judged["symmetries"][0]["precisions"]
    inside = f" ({', '.join(precisions)})" if precisions else ""
    options = "".join(f", {option} = {setting}" for option, setting in OPTIONS.get(name, {}).items())
    cells = [f"{name.rpartition('.')[2]}{options}{inside}"]
    cells += [SIGNS[symmetry["verdict"]] for symmetry in judged["symmetries"]]
    for problem in PROBLEMS:
        points = {point["k"]: point for point in judged["losses"].get(problem, ())}
        cells += [loss(points[k]) if k in points else "–" for k in MARKS]
    return f"| {' | '.join(cells)} |"


def loss(point: dict[str, Any]) -> str:
    """Return the cell of a loss."""
    if point["loss"] is None:
        return "diverged"
    return f"{point['loss']:.3f} ± {point['stderr']:.3f} {point['place']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="compute all rows anew")
    parser.add_argument("names", nargs="*", metavar="NAME", help="rules to compute anew, such as torch.Adam")
    options = parser.parse_args()
    rows = {} if options.fresh or not ROWS.exists() else json.loads(ROWS.read_text(encoding="utf-8"))
    for name in options.names:
        rows.pop(name, None)
    compute(rows)
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
