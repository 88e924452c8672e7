"""Multiply a line of theory by a factor near 1, and see which tests fail: a program and a plugin of pytest.

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
"""Environment variable that has the kind and the factor: noise=1.01."""


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
    return [kind for kind, line in members if line.direction in ("lower", "upper", "exact")]


def modules(kind: str, named: bool) -> list[str]:
    """Test modules of twins, or all that name the kind."""
    if not named:
        return sorted(str(path) for path in HERE.glob("test_twins_of_*.py"))
    return sorted(str(path) for path in HERE.glob("test_*.py") if f'"{kind}"' in path.read_text())


def survives(kind: str, factor: float, named: bool) -> bool:
    """Whether no test fails when the line is multiplied by the factor; prints the last line of pytest."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        "0",
        "-p",
        "mutated_line",
        "-k",
        kind if not named else "",
    ]
    environment = os.environ | {
        VARIABLE: f"{kind}={factor}",
        "PYTHONPATH": f"{HERE}:{os.environ.get('PYTHONPATH', '')}",
    }
    done = subprocess.run([*command, *modules(kind, named)], env=environment, capture_output=True, text=True)
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    print(f"{kind} × {factor}: {failures[0] if failures else 'survives'}", flush=True)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--all", action="store_true", help="run all test modules that name the kind")
    words = parser.parse_args()
    survivors = [
        (kind, factor)
        for kind in words.kinds or kinds()
        for factor in FACTORS
        if survives(kind, factor, words.all)
    ]
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
