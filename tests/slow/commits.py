"""The number of the commit under test: what the slow tests draw changes from commit to commit."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from dealing import dealt_evenly

T = TypeVar("T")

ROOT = Path(__file__).parents[2]


def commit_number() -> int:
    """Number of commits that lead to HEAD; 0 outside a git repository."""
    count = subprocess.run(
        ["git", "-C", str(ROOT), "rev-list", "--count", "HEAD"], capture_output=True, text=True
    )
    return int(count.stdout) if count.returncode == 0 else 0


def turn(cases: Sequence[T], commits: int, seconds: Sequence[float] | None = None) -> Sequence[T]:
    """The cases of this commit: as many commits in a row as `commits` says take all cases.

    With the `seconds` of each case, they take nearly equal time.
    """
    return dealt_evenly(cases, seconds or [1.0] * len(cases), commits)[commit_number() % commits]
