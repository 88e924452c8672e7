"""Loops on disk, and the private names of numba by which they are kept: see engine/backends/loops."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import njit

from engine.backends.loops import keep, kept_at

pytestmark = pytest.mark.slow

LOOP = """
from pathlib import Path
from numba import njit
from engine.backends.loops import keep, kept_at
from included import FACTOR

@njit
def scaled(x):
    return FACTOR * x

keep(scaled, Path("included.py"))
"""

CALL = (
    "from loop import kept_at, scaled\n"
    "print(scaled(2), sum(scaled.stats.cache_hits.values()), *kept_at(scaled), sep='\\n')"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "loop.py").write_text(LOOP)
    include(tmp_path, 3, seconds=1000)
    return tmp_path


def include(folder: Path, factor: int, seconds: int) -> None:
    """Write the constant of the loop with a given modification time."""
    (folder / "included.py").write_text(f"FACTOR = {factor}")
    os.utime(folder / "included.py", (seconds, seconds))


def call(folder: Path) -> list[str]:
    """Value of the loop in another process, its cache hits, and its cache folder."""
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, str(folder)])}
    done = subprocess.run(
        [sys.executable, "-c", CALL], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_processes_share_a_cached_loop_until_an_included_file_changes(folder: Path) -> None:
    first, second = call(folder), call(folder)
    assert first[:2] == ["6", "0"], "the first process compiles it"
    assert second[:2] == ["6", "1"]
    (file,) = first[2:]
    assert second[2:] == [file]
    assert Path(file).is_file()
    assert "loop.scaled" in file
    include(folder, 4, seconds=2000)
    assert call(folder) == ["8", "0", file], "the value of the former file would be 6"


OF_A_CLASS = """
from pathlib import Path
from typing import NamedTuple
from numba import njit
from engine.backends.loops import keep, kept_at

class Point(NamedTuple):
    x: float

@njit
def of_point(point):
    return 3 * point.x

keep(of_point)

def scaled(x):
    return of_point(Point(x))

scaled.stats, scaled._cache = of_point.stats, of_point._cache
"""


def test_a_cached_loop_is_recompiled_if_its_class_is_renamed(folder: Path) -> None:
    (folder / "loop.py").write_text(OF_A_CLASS)
    first, second = call(folder), call(folder)
    assert (first[:2], second[:2]) == (["6", "0"], ["6", "1"])
    (folder / "loop.py").write_text(OF_A_CLASS.replace("Point", "Place"))
    assert call(folder) == ["6", "0", first[2]], "an AttributeError would end the program"


def test_a_loop_is_not_cached_by_default() -> None:
    loop = njit(lambda x: x)
    assert kept_at(loop) == ()
    keep(lambda x: x)  # what stands in place of a loop where numba is switched off
    assert kept_at(lambda x: x) == ()
