"""Importing the engine loads few modules, and it runs without any terminal library."""

import ast
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import engine
from engine.core.catalogue import FOLDERS

HEAVY = (
    "torch",
    "textual",
    "scipy",
    "sklearn",
    "plotext",
    "rich",
    "typer",
    "hadamard_tui",
    "pandas",
    "pyarrow",
    "psutil",
    "numba",
)
TERMINAL = ("textual", "rich", "plotext", "typer", "hadamard_tui")
COMPILED = {
    "engine.backends.loops",
    "engine.backends.nets.trained_group",
    "engine.backends.passes.compiled_pass",
    "engine.backends.passes.kernels",
}
"""Modules that need numba; a run imports them when it takes their backend."""

MODULES = sorted({module.name for module in pkgutil.walk_packages(engine.__path__, "engine.")} - COMPILED)


def python(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_reading_the_catalogue_and_a_preset_loads_no_heavy_library():
    imports = "; ".join(f"import {module}" for module in MODULES)
    assert len(MODULES) > 40
    assert {"engine", "engine.spec.experiment", "engine.spec.presets"} <= {"engine", *MODULES}
    heavy = f"print(*(name for name in {HEAVY} if name in sys.modules))"
    program = (
        f"import sys; {imports}; {heavy}\n"
        "from engine.core import catalogue; from engine.spec import presets\n"
        "[catalogue.make('theory', kind) for kind in catalogue.members('theory')]\n"
        f"presets.load('hadamard-128'); {heavy}"
    )
    assert python(program) == []


def test_listing_preset_names_imports_no_part():
    program = "import sys; from engine.spec import presets; presets.names(); print(*sys.modules)"
    loaded = python(program)
    assert "engine.spec.presets" in loaded
    assert not {"engine.spec.experiment", *FOLDERS.values()} & {*loaded}


def test_only_the_first_loading_exempts_objects_from_garbage_collection():
    program = (
        "import gc, sys, types, weakref; fake = types.ModuleType('torch'); sys.modules['torch'] = fake\n"
        "fake.set_float32_matmul_precision = print\n"
        "from engine.core.lazy import load_torch; load_torch()\n"
        "assert gc.get_freeze_count() > 0\n"
        "class Cycle: pass\n"
        "it = Cycle(); it.it = it; seen = weakref.ref(it); load_torch(); del it; gc.collect(); print(seen())"
    )
    assert python(program) == ["highest", "highest", "None"]


def test_torch_uses_large_pages_unless_the_environment_sets_another_value():
    program = (
        "import os, sys, types; fake = types.ModuleType('torch'); sys.modules['torch'] = fake\n"
        "fake.__getattr__ = lambda name: os.environ['THP_MEM_ALLOC_ENABLE']\n"
        "from engine.core.lazy import torch; print(torch.zeros)"
    )
    assert python(program) == ["1"]
    assert python(f"import os; os.environ['THP_MEM_ALLOC_ENABLE'] = '0'\n{program}") == ["0"]


@pytest.mark.slow
def test_the_engine_runs_without_any_terminal_library():
    program = (
        "import sys\n"
        f"for name in {TERMINAL}: sys.modules[name] = None\n"
        "from engine import claims; from engine.spec import presets\n"
        "from engine.results import report, results\n"
        "from engine.runtime import run, worker\n"
        "changes = ['problem.matrix.d=16', 'claims=[]', 'run.device=cpu']\n"
        "described = presets.load('hadamard-128', [*changes, 'learners.GD.architecture.kind=dense'])\n"
        "report.encode({}, results.of_one(described, run.run(described)), [])\n"
        "print(*(name in sys.modules for name in ('torch', 'scipy', 'sympy')))"
    )
    assert python(program) == ["True", "False", "False"], "a step of a net needs no sympy, half a second"


def imported(file, modules):
    """Modules of the program that a file imports anywhere, also for types."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in modules else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.fixture(scope="module")
def imports():
    """Modules that each module of the program imports, by module name."""
    root = Path(engine.__file__).parents[1]
    files = {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file
        for package in ("engine", "hadamard_tui")
        for file in (root / package).rglob("*.py")
    }
    assert len(files) > 200
    return {name: {*imported(file, files)} - {name} for name, file in files.items()}


def rooms(imports, package):
    """Imported rooms of every room of a package; single files count as rooms."""
    graph = defaultdict(set)
    for name, used in imports.items():
        if name.startswith(f"{package}."):
            room = name.split(".")[1]
            imported_rooms = {module.split(".")[1] for module in used if module.startswith(f"{package}.")}
            graph[room] |= imported_rooms - {room}
    return graph


@pytest.mark.slow
def test_no_part_imports_a_backend(imports):
    rooms_of_parts = tuple(f"{folder}." for folder in (*FOLDERS.values(), "engine.core"))
    parts = [name for name in imports if f"{name}.".startswith(rooms_of_parts)]
    assert len(parts) > 100
    for part in parts:
        forbidden = [name for name in imports[part] if name.startswith(("engine.backends", "numba"))]
        assert not forbidden, part


def test_files_have_no_import_cycle(imports):
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the files


@pytest.mark.parametrize(
    ("package", "listed_as"),
    [("engine", "The rooms of the engine"), ("hadamard_tui", "Those of the app")],
)
def test_rooms_import_only_rooms_listed_before_them_in_contributing(imports, package, listed_as):
    graph = rooms(imports, package)
    page = (Path(engine.__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (listed,) = re.findall(
        rf"{listed_as} import one way, each only those before it: (.*?)\.\n\n", page, re.DOTALL
    )
    order = re.findall(r"`(\w+)`", listed)
    assert sorted(order) == sorted(graph)
    for number, room in enumerate(order):
        assert graph[room] <= {*order[:number]}, f"{room} imports rooms that come after it"
