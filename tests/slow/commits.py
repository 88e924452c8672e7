"""The number of the commit under test: what the slow tests draw changes from commit to commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def commit_number() -> int:
    """Number of commits that lead to HEAD; 0 outside a git repository."""
    count = subprocess.run(
        ["git", "-C", str(ROOT), "rev-list", "--count", "HEAD"], capture_output=True, text=True
    )
    return int(count.stdout) if count.returncode == 0 else 0
