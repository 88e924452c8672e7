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
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import msgspec

from engine.core import catalogue, files, optimizers
from engine.core.parts import BadField, BadInput
from engine.core.texts import listed
from engine.judging.named_rule import named_rule
from engine.judging.rule_judgement import (
    MARKS,
    PROBLEMS,
    RATES,
    REPLICAS,
    STEPS,
    D,
    LossBesideBound,
    as_json,
    judge_rule,
)
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

AT_ONE_RATE = (
    "Symmetries are measured at the default rate of a rule. Invariant there, but below the bound at a larger "
    "rate, and so not rotation invariant at that rate: {}."
)

SOURCES = {"hadamard-tui": "", "torch.optim": "torch", "pytorch-optimizer": "pytorch-optimizer"}
"""Libraries by the headings of their tables."""

OPTIONS: dict[str, dict[str, Any]] = {
    "torch.LBFGS": {"max_iter": 4, "history_size": 10},
    # 20 halvings of an interval below 1 reach 1e-6. In bfloat16, the steps equal those of the default of 100.
    "pytorch_optimizer.SpectralSphere": {"solver_max_iterations": 20},
}
"""Options of rules that would take from a quarter of an hour to an hour with their defaults."""

TOO_LONG = {
    "pytorch_optimizer.SpectralSphere": "each of its 40 000 steps takes 7 ms, because it computes about 30 "
    "matrix functions, so that the row alone takes over 5 minutes; "
    "`python docs/judgements.py pytorch_optimizer.SpectralSphere` computes it"
}
"""Reason why a rule has no row unless it is asked for by its name."""

SIGNS = {"invariant": "yes", "not invariant": "no", "unstable": "unstable"}


def rules() -> list[tuple[str, str]]:
    """Return all rules as pairs of the heading of their table, and their name for `judge`.

    A library also publishes optimizers of torch; these are in the table of torch.
    """
    ours = [
        ("hadamard-tui", kind)
        for kind, member in catalogue.members("updates").items()
        if kind != "torch" and not member.experimental
    ]
    theirs = [
        (source, f"{'torch' if library == 'torch' else 'pytorch_optimizer'}.{kind}")
        for source, library in SOURCES.items()
        if library
        for kind, optimizer in optimizers.optimizers_of(library).items()
        if optimizers.qualified(optimizer).startswith(optimizers.MODULES[library].partition(".")[0] + ".")
    ]
    return ours + theirs


def row(kind: str) -> dict[str, Any]:
    """Return the judgement of a rule, or the reason why there is none."""
    warnings.simplefilter("ignore")
    try:
        rule: Any = named_rule(kind)
        if kind in OPTIONS:
            rule = msgspec.structs.replace(rule, options=OPTIONS[kind])
        before = time.process_time()
        judged = as_json(judge_rule(rule, kind.rpartition(".")[2], SPACING))
        return {**judged, "processor_seconds": round(time.process_time() - before, 1)}
    except (BadInput, BadField) as error:
        return {"not_judged": error.fault}


def compute(rows: dict[str, Any], asked: Sequence[str] = ()) -> None:
    """Compute the missing rows, one process per core, and save each when it is finished.

    Rows of TOO_LONG are computed only if their names are in `asked`.
    """
    missing = [kind for _, kind in rules() if kind not in rows]
    rows |= {
        kind: {"not_judged": TOO_LONG[kind]} for kind in missing if kind in TOO_LONG and kind not in asked
    }
    missing = [kind for kind in missing if kind not in rows]
    os.environ["OMP_NUM_THREADS"] = "1"
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        names = {pool.submit(row, kind): kind for kind in missing}
        try:
            for number, future in enumerate(as_completed(names), start=1):
                rows[names[future]] = future.result()
                files.write(ROWS, as_text(rows).encode())
                seconds = rows[names[future]].get("processor_seconds", 0)
                print(f"{number} of {len(missing)}: {names[future]}, {seconds} s", file=sys.stderr)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def as_text(rows: dict[str, Any]) -> str:
    """Return the rows as the text of ROWS."""
    return json.dumps(rows, indent=1, ensure_ascii=False, sort_keys=True)


def page(rows: dict[str, Any]) -> str:
    """Return the page of all rows."""
    rows = {kind: rows.get(kind, MISSING) for _, kind in rules()}
    judged = [kind for kind in rows if "not_judged" not in rows[kind]]
    disagree = [kind for kind in judged if not rows[kind]["agree"]]
    agreement = f"Structure and measurement disagree: {', '.join(disagree)}." if disagree else AGREEMENT
    lines = [HEAD, "", f"{len(judged)} of {len(rules())} rules have a verdict. {agreement}"]
    if at_one_rate := [kind.rpartition(".")[2] for kind in judged if _is_below_though_invariant(rows[kind])]:
        lines += ["", AT_ONE_RATE.format(listed(at_one_rate))]
    for source in SOURCES:
        kinds = [kind for its_source, kind in rules() if its_source == source]
        heads = [*GROUPS, *(f"{problem}, k = {k}" for problem in PROBLEMS for k in MARKS)]
        lines += ["", f"## {source}", "", f"| rule | {' | '.join(heads)} |", f"|---{'|---' * len(heads)}|"]
        lines += [line(kind, rows[kind]) for kind in kinds if "not_judged" not in rows[kind]]
        unjudged = [kind for kind in kinds if "not_judged" in rows[kind]]
        if unjudged:
            lines += ["", "Without a verdict:", ""]
            lines += [f"- {kind.rpartition('.')[2]}: {rows[kind]['not_judged']}" for kind in unjudged]
    return "\n".join(lines) + "\n"


def _is_below_though_invariant(judged: dict[str, Any]) -> bool:
    """Return whether a float64 rule is rotation invariant by measurement, and a loss is below the bound."""
    rotations = next(symmetry for symmetry in judged["symmetries"] if symmetry["group"] == "rotations")
    places = {point["place"] for points in judged["losses"].values() for point in points}
    return rotations["verdict"] == "invariant" and not rotations["precisions"] and "below" in places


def line(kind: str, judged: dict[str, Any]) -> str:
    """Return the line of a rule in its table."""
    precisions = judged["symmetries"][0]["precisions"]
    inside = f" ({', '.join(precisions)})" if precisions else ""
    options = "".join(f", {option} = {setting}" for option, setting in OPTIONS.get(kind, {}).items())
    cells = [f"{kind.rpartition('.')[2]}{options}{inside}"]
    cells += [SIGNS[symmetry["verdict"]] for symmetry in judged["symmetries"]]
    for problem in PROBLEMS:
        points = {point["k"]: point for point in judged["losses"].get(problem, ())}
        cells += [loss(points[k]) if k in points else "–" for k in MARKS]
    return f"| {' | '.join(cells)} |"


def loss(point: dict[str, Any]) -> str:
    """Return the cell of a loss."""
    if point["loss"] is None:
        return "diverged"
    numbers = LossBesideBound(
        point["k"], point["loss"], point["stderr"] or 0.0, point["rate"], point["bound"]
    ).numbers
    return f"{numbers} {point['place']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="compute all rows anew")
    parser.add_argument("names", nargs="*", metavar="NAME", help="rules to compute anew, such as torch.Adam")
    options = parser.parse_args()
    rows = {} if options.fresh or not ROWS.exists() else json.loads(ROWS.read_text(encoding="utf-8"))
    for rule_name in options.names:
        rows.pop(rule_name, None)
    compute(rows, options.names)
    files.write(ROWS, as_text(rows).encode())
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
