"""Script and pytest plugin that multiply a theory line by a factor near 1 and show which tests fail.

    PYTHONPATH=.:tests python tests/engine/mutated_line.py [KIND …]

For each kind, or each lower, upper and exact line, it multiplies by 1.01 and by 0.99, runs the tests of the
twins, and prints the first failure. With `--all` it runs every test module that names the kind. A line that
fails no test survives, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from engine.core import catalogue

HERE = Path(__file__).parent
FACTORS = (1.01, 0.99)
VARIABLE = "MUTATED_LINE"
"""Environment variable with the kind and the factor, such as noise=1.01."""


def pytest_configure() -> None:
    """Multiply the line that the environment names, in this process."""
    if VARIABLE not in os.environ:
        return
    kind, factor = os.environ[VARIABLE].split("=")
    line = catalogue.members("theory")[kind]
    value = line.value

    def multiplied(self: Any, at: Any) -> Any:
        return float(factor) * value(self, at)

    line.value = multiplied


def kinds() -> list[str]:
    """Lower, upper and exact lines."""
    members = catalogue.members("theory").items()
    return [kind for kind, line in members if line().structure().direction in ("lower", "upper", "exact")]


def modules(kind: str, pattern: str) -> list[str]:
    """Test modules that name the kind."""
    return sorted(str(path) for path in HERE.glob(pattern) if f'"{kind}"' in path.read_text())


def survives(kind: str, factor: float, pattern: str) -> bool:
    """Whether all tests pass with the multiplied line; prints the first failure."""
    paths = modules(kind, pattern)
    environment = os.environ | {VARIABLE: f"{kind}={factor}", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "mutated_line", *paths]
    done = subprocess.run(command, env=environment, capture_output=True, text=True) if paths else None
    if done is not None and done.returncode > 1:
        raise RuntimeError(f"the tests of {kind} did not run:\n{done.stdout}{done.stderr}")
    failures = [line for line in done.stdout.splitlines() if line.startswith("FAILED")] if done else []
    print(f"{kind} × {factor}: {failures[0] if failures else 'survives'}", flush=True)
    return not failures


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--all", action="store_true", help="run all test modules that name the kind")
    words = parser.parse_args()
    pattern = "test_*.py" if words.all else "test_twins_of_*.py"
    survivors = [
        (kind, factor)
        for kind in words.kinds or kinds()
        for factor in FACTORS
        if survives(kind, factor, pattern)
    ]
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
