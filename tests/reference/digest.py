"""Digests of what every shipped preset measures. They show that a change of the engine changes no figure.

`python tests/reference/digest.py [NAME…]` runs presets and SMALL ones, all if none is named, and compares
their digests with the files `digests/NAME.json` beside this one. `--write` writes these files instead, and
`--missing` only those that do not exist. Write them only where a figure is meant to change, and say in the
commit which and why.

A digest holds for every curve the backend, where it diverged, and for every measure the values at SAMPLES
records, denser at the start, with minimum, maximum and mean of the whole curve. It holds the same for every
bound, with the learners that it binds, and the outcome of every claim.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.core import catalogue
from engine.core.lazy import load_torch
from engine.pictures.view import ROUNDING
from engine.planning.run_plan import plan_run
from engine.results.outcomes import judge
from engine.results.report import Spectrum, claim, encode, number, numbers, picture_of_spectra, spectra
from engine.results.results import of_one
from engine.results.trace import Curve, TheoryLine
from engine.results.views import view
from engine.runtime.compiling import compile_first
from engine.runtime.run import run
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets
from engine.spec.documents import sweep_of

FOLDER = Path(__file__).resolve().parent / "digests"

PLAIN = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "OPENBLAS_CORETYPE": "Nehalem",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "NUMBA_CPU_NAME": "generic",
}
"""Environment that restricts torch, MKL, OpenBLAS, numpy and numba to the instructions of every x86-64.

Other instructions round otherwise, and runs at the edge of stability magnify the difference."""

EGU = 'learners=[{name="EGU", architecture={kind="linear"}, update={kind="egu", lr=0.05}}]'
GD = 'learners=[{name="GD", architecture={kind="linear"}, update={kind="gd", lr=0.0078125}}]'
WILD = 'learners=[{name="GD", architecture={kind="linear"}, update={kind="gd", lr=[0.01, 0.4]}}]'
SLOW = "learners.GD.update.lr=0.00390625"

SMALL = {
    "small-compiled": ("hadamard-128", [EGU, "problem.matrix.d=64", "run.path=compiled", "run.replicas=2"]),
    "small-consistency": ("consistency-128", [SLOW, "problem.matrix.d=8", "protocol.passes=20"]),
    "small-diverging": ("gaussian-128", [WILD, "problem.matrix.d=16", "run.replicas=1"]),
    "small-one-by-one": (
        "hadamard-128",
        [GD, "problem.matrix.d=64", "run.path=one-by-one", "run.replicas=2"],
    ),
    "small-erm": ("deep-nets-64", ["problem.matrix.d=8", "run.replicas=2", "protocol.steps=50"]),
}
"""Small presets with overrides and without claims. They cover what no quick preset covers."""

QUICK = ("hadamard-128", "rates-128", "rank-64", "hard-64", "vaw-128", *SMALL)
"""Presets of the quick test, about half a second each.

They cover every protocol and backend, solvers, replicas, several rates and the best rate, losses over seen
and unseen rows, spectra and divergence."""

ARBITRARY = {
    "gradient-share": ("net, C = 3, s = 1.5, b = 120, eta = 6",),
    "optimizers-judged": ("SOAP", "K-FAC"),
    "optimizers-borderline": ("Muon by SVD", "SOAP as released"),
}
"""Curves that differ between processors, because steps magnify rounding or singular vectors are arbitrary.

Their digest has their names only, and the claims of their presets without measured numbers."""

MAGNIFIED = {
    "digits-agd": 2e-4,
    "digits-rotated": 1e-4,
    "fit-anything-parameters": 1e-10,
    "optimizers-best-rate-hadamard": 2e-3,
    "optimizers-best-rate-matrices": 2e-3,
    "optimizers-best-rate-nets": 2e-3,
    "optimizers-hadamard": 3e-5,
    "optimizers-hadamard-matrices": 2e-2,
    "optimizers-hadamard-nets-axes": 1e-2,
    "optimizers-lamb-sophia": 3e-6,
    "optimizers-lamb-sophia-hadamard": 1e-3,
}
"""How far the numbers of presets may move whose steps magnify rounding: about three times the largest
difference between two processors that ran the same commit with the PLAIN instructions.

Division by small second moments, and thresholds of entries that are nearly equal, magnify it most."""

EXPERIMENTAL = {kind for kind, line in catalogue.members("theory").items() if line.experimental}
"""Lines that digests leave out until they are stable."""

SAMPLES = 16
"""Most records of a curve in its digest."""

MEASURES = ("loss", "stderr", "error", "train", "unseen")

DIGITS = {"float32": 8, "float64": 13}
"""Digits of a number in a digest: more than rounding leaves exact."""

MEASURED = {**ROUNDING, "float64": 1e-8}
"""How far the number that a claim measures may move. In float64 some are slopes of logarithms: the least
value on such a line is 3e-8 (kernel-limit, a difference of vectors of length 1), whose logarithm moves by
7e-9 with one rounding."""

Numbers = Sequence[float | None]


def names() -> list[str]:
    """Names of all digests."""
    return [*SMALL, *presets.names()]


def digest(preset_name: str, preset: str | None = None) -> dict[str, Any]:
    """Digest of a preset or a SMALL one, run on the CPU; `preset` may be its file."""
    preset, overrides = SMALL.get(preset_name, (preset or preset_name, []))
    changes = ["run.device=cpu", *overrides, *(["claims=[]"] if overrides else [])]
    described = presets.load(preset, changes)
    compile_first(plan_run(described))
    if described.axes:
        along = _along_axes(presets.document(preset, changes))
        if preset_name in ARBITRARY:
            along = _without(along, ARBITRARY[preset_name])
        return _shortened(along, DIGITS[described.run.dtype])
    trace = run(described)
    bounds = [
        line for line in trace.lines_of("loss") if not line.per_learner and line.kind not in EXPERIMENTAL
    ]
    spectra_by_name = spectra(view(picture_of_spectra(described), of_one(described, trace)))
    contents = {
        "dtype": described.run.dtype,
        "curves": [_curve(curve, spectra_by_name.get(curve.name)) for curve in trace.curves],
        "bounds": [_bound(bound) for bound in bounds if len(bound.x)],
        "claims": [_claim(claim(outcome)) for outcome in judge(of_one(described, trace))],
    }
    shortened: dict[str, Any] = _shortened(contents, DIGITS[described.run.dtype])
    return shortened


def _along_axes(document: dict[str, Any]) -> dict[str, Any]:
    """Digest of a preset with axes: curves and lines of its pictures, and outcomes of its claims."""
    results = run_sweep(sweep_of(document))
    document_of_results = json.loads(encode(document, results, judge(results)))
    pictures = document_of_results["pictures"]
    return {
        "dtype": document["run"]["dtype"],
        "curves": [
            {"name": curve["name"], "x": _series(curve["x"]), "y": _series(curve["y"])}
            for picture in pictures
            for curve in picture["curves"]
        ],
        "bounds": [
            {"name": line["name"], "x": _series(line["x"]), "y": _series(line["y"])}
            for picture in pictures
            for line in picture["theory"]
            if line["kind"] not in EXPERIMENTAL
        ],
        "claims": [_claim(claim) for claim in document_of_results["claims"]],
    }


def _without(contents: dict[str, Any], arbitrary: Sequence[str]) -> dict[str, Any]:
    """Digest of a preset with axes, without numbers of the `arbitrary` curves and of claims."""
    curves = [
        {"name": curve["name"]} if curve["name"] in arbitrary else curve for curve in contents["curves"]
    ]
    return {
        **contents,
        "curves": curves,
        "claims": [{**claim, "measured": None} for claim in contents["claims"]],
    }


def differences(expected: dict[str, Any], measured: dict[str, Any], magnified: float = 0.0) -> list[str]:
    """Places at which two digests differ by more than rounding, with both values.

    Words, whole numbers and outcomes are compared exactly, what claims measure up to MEASURED of the dtype,
    and other numbers up to ROUNDING; numbers of all kinds at least up to `magnified`.
    """
    dtype = expected["dtype"]
    within = max(MEASURED[dtype], magnified)
    claims = _differences(".claims", expected["claims"], measured["claims"], within)
    numbers_without_claims = (
        {key: value for key, value in contents.items() if key != "claims"}
        for contents in (expected, measured)
    )
    return [*_differences("", *numbers_without_claims, max(ROUNDING[dtype], magnified)), *claims]


def _differences(place: str, expected: Any, measured: Any, within: float) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(measured, dict) and expected.keys() == measured.keys():
        for key in expected:
            yield from _differences(f"{place}.{key}", expected[key], measured[key], within)
    elif isinstance(expected, list) and isinstance(measured, list) and len(expected) == len(measured):
        for number, pair in enumerate(zip(expected, measured, strict=True)):
            yield from _differences(f"{place}[{number}]", *pair, within)
    elif float in (type(expected), type(measured)) and None not in (expected, measured):
        if not abs(measured - expected) <= within * max(1.0, abs(expected)):
            yield f"{place}: {expected!r} became {measured!r}"
    elif type(expected) is not type(measured) or expected != measured:
        yield f"{place}: {expected!r} became {measured!r}"


def _claim(claim: dict[str, Any]) -> dict[str, Any]:
    """The outcome of a claim without its text: another wording changes no figure."""
    return {key: claim[key] for key in ("holds", "measured")}


def _curve(curve: Curve, spectrum: Spectrum | None) -> dict[str, Any]:
    series = {measure_name: curve.mean(measure_name) for measure_name in ("loss", "error", "train", "unseen")}
    series["stderr"] = curve.stderr_of("loss")
    measured = {name: series[name] for name in MEASURES}
    return {
        "learner": curve.learner,
        "rate": number(curve.rate),
        "best": curve.best,
        "grid": [{"rate": rate, "mean_loss": number(mean)} for rate, mean in curve.grid.items()],
        "diverged_at": number(curve.diverged_at),
        "path": curve.backend,
        "invariant": curve.verdict.invariant,
        "k": _series(numbers(curve.x)),
        **{
            measure_name: _series(numbers(along_curve))
            for measure_name, along_curve in measured.items()
            if along_curve is not None
        },
        "spectrum": None if spectrum is None else _spectrum(spectrum),
    }


def _spectrum(spectrum: Spectrum) -> dict[str, Any]:
    """Rank, and the largest and the mean singular value, along the curve."""
    return {
        "k": _series(numbers(spectrum.x)),
        "rank": _series(spectrum.rank.tolist()),
        "largest": _series(numbers(spectrum.values[:, 0])),
        "mean": _series(numbers(spectrum.values.mean(1))),
    }


def _bound(bound: TheoryLine) -> dict[str, Any]:
    head = {"id": bound.kind, "kind": bound.statement.direction, "applies_to": list(bound.applies_to)}
    return head | {"k": _series(numbers(bound.x)), "loss": _series(numbers(bound.values))}


def _series(series: Numbers) -> dict[str, Any]:
    """Counts of present and missing numbers, SAMPLES of them, their extremes and their mean."""
    present = [float(number) for number in series if number is not None]
    summary = (min(present), max(present), math.fsum(present) / len(present)) if present else ()
    return {
        "records": len(series),
        "missing": len(series) - len(present),
        "at": [series[place] for place in _places(len(series))],
        "min, max, mean": list(summary),
    }


def _places(count: int) -> list[int]:
    """At most SAMPLES of `count` places: half at equal distances, half at equal ratios."""
    if count <= SAMPLES:
        return list(range(count))
    even = np.linspace(0, count - 1, SAMPLES // 2)
    growing = np.geomspace(1, count - 1, SAMPLES // 2)
    return np.unique(np.round(np.concatenate([even, growing])).astype(int)).tolist()


def _shortened(value: Any, digits: int) -> Any:
    """Copy of a digest with `digits` digits of every number that is not whole."""
    if isinstance(value, dict):
        return {key: _shortened(member, digits) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(member, digits) for member in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() else float(f"{value:.{digits}g}")
    return value


def read(preset_name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Read a digest. Raises: OSError if there is none."""
    contents: dict[str, Any] = json.loads((folder / f"{preset_name}.json").read_text(encoding="utf-8"))
    return contents


def write(preset_name: str, contents: dict[str, Any], folder: Path = FOLDER) -> None:
    """Write a digest with one line per curve, bound and claim, so that diffs show what changed."""
    lines = [f'{{"dtype": {json.dumps(contents["dtype"])}']
    for part in ("curves", "bounds", "claims"):
        items = ",\n".join(json.dumps(item, ensure_ascii=False) for item in contents[part])
        lines.append(f',\n"{part}": [\n{items}\n]')
    folder.mkdir(exist_ok=True)
    (folder / f"{preset_name}.json").write_text("".join(lines) + "}\n", encoding="utf-8")


def main() -> int:
    """Compare or write digests; 1 if one differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true", help="keep what is found now")
    parser.add_argument("--missing", action="store_true", help="write only the digests that do not exist")
    asked = parser.parse_args()
    if not PLAIN.items() <= os.environ.items():
        # The libraries read their settings when they are loaded, which has happened above.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | PLAIN)
    load_torch(threads=1)
    differ = False
    selected = asked.names or names()
    if asked.missing:
        selected = [preset_name for preset_name in selected if not (FOLDER / f"{preset_name}.json").exists()]
    writes = asked.write or asked.missing
    for name in selected:
        measured = digest(name)
        changed = [] if writes else differences(read(name), measured, MAGNIFIED.get(name, 0.0))
        print(f"{name}: {'written' if writes else 'differs' if changed else 'as it was'}", flush=True)
        for line in changed:
            print(f"  {line}")
        differ = differ or bool(changed)
        if writes:
            write(name, measured)
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
