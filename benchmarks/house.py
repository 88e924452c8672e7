"""Figures about the maintainability of the code: `python benchmarks/house.py` prints them.

Counts are of the working tree and of one run of hadamard-128. Nothing is timed.
"""

from __future__ import annotations

import ast
import re
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from inspect import getmembers
from pathlib import Path
from types import FrameType
from typing import Any

from private_names import private_uses

from engine.backends import Backend, backends
from engine.core import catalogue
from engine.core.lazy import load_torch
from engine.core.parts import Part
from engine.planning.run_plan import plan_run
from engine.runtime.run import run
from engine.spec import presets
from engine.spec.documents import sweep_of
from engine.spec.experiment import Setup

ROOT = Path(__file__).parents[1]
ROOMS = ("engine", "hadamard_tui")

PRESET = "hadamard-128"

DECISIONS = (
    "plan_run",
    "recorded_measures",
    "lines_along_runs",
    "missing",
    "on_learner",
    "backend_choice",
    "rates_of",
    "verdict",
)
"""Functions that decide something about a run."""

DECIDING = ("engine/planning/", "engine/spec/")
"""Rooms whose functions may receive the experiment without limit."""

REPEATED = {
    "experiment.problem.matrix.shape()": r"experiment\.problem\.matrix\.shape\(\)",
    'catalogue.make("losses", …)': r'catalogue\.make\(\s*"losses"',
    'getattr(update, "lr", …)': r'getattr\(\s*[\w.]*update,\s*"lr"',
    "assert … is not None": r"\bassert [^,\n]+ is not None",
}
"""Expressions that show a decision made in many places."""

FAMILIES = {
    "matrices": "Matrix",
    "protocols": "Protocol",
    "architectures": "Architecture",
    "updates": "Update",
    "measures": "Measure",
    "theory": "Line",
    "solvers": "Solver",
    "targets": "Target",
    "losses": "Loss",
}

WIDE = {
    "engine.pictures.view": ("View", "CurveView"),
    "engine.results.trace": ("TheoryLine",),
    "hadamard_tui.panels.panel": ("PanelContext",),
    "hadamard_tui.running.session": ("Session",),
}
"""Classes outside the families that many files read."""


def calls_in_a_run() -> tuple[Counter[str], int]:
    """Calls of each decision in one run, and calls outside DECIDING that receive the experiment."""
    decisions: Counter[str] = Counter()
    receiving = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal receiving
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(ROOT / "engine")):
            return
        if code.co_name in DECISIONS:
            decisions[code.co_name] += 1
        if code.co_filename.startswith(tuple(str(ROOT / room) for room in DECIDING)):
            return
        parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        receiving += any(isinstance(frame.f_locals.get(parameter), Setup) for parameter in parameters)

    experiment = presets.load(PRESET, ["run.device=cpu"])
    load_torch()
    threading.setprofile(count)
    sys.setprofile(count)
    try:
        run(experiment)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return decisions, receiving


@cache
def sources(*rooms: str) -> dict[str, str]:
    """Text of every module in some rooms, by its dotted name."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text(encoding="utf-8")
        for room in rooms
        for path in sorted((ROOT / room).rglob("*.py"))
    }


def is_part(module: str) -> bool:
    """Whether a module holds a member of a family, a backend or a panel, one to a file."""
    folder, _, name = module.rpartition(".")
    folders = {*catalogue.FOLDERS.values(), "engine.backends", "hadamard_tui.panels"}
    if folder not in folders or name == "__init__":
        return False
    text = sources(*ROOMS)[module]
    return bool(re.search(r'^class .*\btag="|^(?:BACKEND|PANEL)\b', text, re.MULTILINE))


def imports(module: str, text: str, modules: frozenset[str]) -> Iterator[str]:
    """Modules of ours that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
        for name in names:
            for candidate in (name, f"{name}.__init__"):
                if candidate in modules and candidate != module:
                    yield candidate


def importers() -> dict[str, set[str]]:
    """The modules that import each module."""
    texts = sources(*ROOMS)
    modules = frozenset(texts)
    by_module: dict[str, set[str]] = defaultdict(set)
    for module, text in texts.items():
        for imported in imports(module, text, modules):
            by_module[imported].add(module)
    return by_module


def public_names(base: type) -> set[str]:
    """Public names of a class, inherited ones included, those of every part left out."""
    return {name for name in dir(base) if not name.startswith("_")} - set(dir(Part))


def rarely_overridden(base: type, family: list[type]) -> int:
    """Public names of a base class that at most one member defines anew."""
    definers: Counter[str] = Counter()
    for member in family:
        ancestors = [
            ancestor for ancestor in member.__mro__ if ancestor is not base and issubclass(ancestor, base)
        ]
        definers.update({name for ancestor in ancestors for name in vars(ancestor)})
    return sum(definers[name] <= 1 for name in public_names(base))


def base_classes() -> Iterator[tuple[str, int, int, int]]:
    """Each base class with its number of members, public names, and names that at most one overrides."""
    for family, name in FAMILIES.items():
        package = import_module(catalogue.FOLDERS[family])
        base = next(value for key, value in getmembers(package) if key == name)
        classes = list(catalogue.members(family).values())
        yield name, len(classes), len(public_names(base)), rarely_overridden(base, classes)
    names = {name for name in dir(Backend) if not name.startswith("_")}
    yield "Backend", len(backends()), len(names | set(getattr(Backend, "__struct_fields__", ()))), 0


def sizes_of_classes() -> Iterator[tuple[str, int]]:
    """Fields and methods without underscore of the WIDE classes."""
    for module, names in WIDE.items():
        for name in names:
            wide = getattr(import_module(module), name)
            annotated = {
                field for ancestor in wide.__mro__ for field in getattr(ancestor, "__annotations__", {})
            }
            defined = {field for ancestor in wide.__mro__[:-1] for field in vars(ancestor)}
            yield name, sum(not field.startswith("_") for field in annotated | defined)


def learners_by_backend() -> Counter[str]:
    """Learners of the shipped presets by the backend that serves them at the first point."""
    served: Counter[str] = Counter()
    for name in presets.names():
        experiment = sweep_of(presets.document(name)).experiment
        served.update(planned_learner.backend.name for planned_learner in plan_run(experiment).learners)
    return served


def print_table(title: str, rows: list[tuple[Any, ...]]) -> None:
    print(f"\n{title}")
    for name, *figures in rows:
        print(f"  {name:44}" + "".join(f"{figure:>9}" for figure in figures))


def print_calls() -> None:
    decisions, receiving = calls_in_a_run()
    rows = [(name, decisions[name]) for name in DECISIONS]
    print_table(f"Calls in one run of {PRESET}", [*rows, ("calls that receive the experiment", receiving)])


def print_expressions(texts: dict[str, str]) -> None:
    counts = [
        (name, sum(len(re.findall(form, text)) for text in texts.values())) for name, form in REPEATED.items()
    ]
    print_table("Expressions in the code", counts)


def print_modules(texts: dict[str, str]) -> None:
    by_module = importers()
    other_modules = [module for module in texts if not is_part(module)]
    modules = frozenset(texts)
    imported = {name for module, text in sources("tests").items() for name in imports(module, text, modules)}
    private = private_uses(texts)
    rows = [
        ("all (modules, lines)", len(texts), lines_of(texts.values())),
        (
            "that are no part (modules, lines)",
            len(other_modules),
            lines_of(texts[module] for module in other_modules),
        ),
        (
            "that are no part, with a single importer",
            sum(len(by_module[module]) == 1 for module in other_modules),
        ),
        ("that tests import", len(imported)),
        ("file names used twice or more", repeated(file_names(other_modules))),
        ("class names used twice or more", repeated(class_names(texts))),
        ("uses of private names of Textual or numba", len(private)),
        ("that have such uses", len({use.module for use in private})),
    ]
    print_table("Modules", rows)


def main() -> None:
    texts = sources(*ROOMS)
    print_calls()
    print_expressions(texts)
    print_table("Base classes: members, public names, of these overridden at most once", [*base_classes()])
    print_table("Other wide classes: public fields and methods", [*sizes_of_classes()])
    print_modules(texts)
    served = learners_by_backend()
    rows = [(name, served[name]) for name in sorted(backends())]
    print_table("Backends: learners of the presets that each serves", rows)


def lines_of(texts: Iterable[str]) -> int:
    """Lines of all texts together."""
    return sum(text.count("\n") for text in texts)


def repeated(names: Counter[str]) -> int:
    """Number of names with two or more bearers."""
    return sum(count > 1 for count in names.values())


def file_names(modules: list[str]) -> Counter[str]:
    """Number of modules by file name."""
    return Counter(module.rpartition(".")[2] for module in modules if not module.endswith("__init__"))


def class_names(texts: dict[str, str]) -> Counter[str]:
    """Number of public classes by name."""
    return Counter(
        name for text in texts.values() for name in re.findall(r"^class ([A-Z]\w*)", text, re.MULTILINE)
    )


if __name__ == "__main__":
    main()
