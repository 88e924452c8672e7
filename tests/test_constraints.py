"""constraints.txt pins whatever an installation of the program and its tests brings with it."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONSTRAINTS = Path(__file__).parent.parent / "constraints.txt"


def pins() -> dict[str, str]:
    """Version by name."""
    lines = re.findall(r"^([\w.-]+)==(\S+)$", CONSTRAINTS.read_text(), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in lines}


def installed(wanted: Requirement, found: dict[str, str]) -> dict[str, str]:
    """Versions of what is required, directly or not, added to `found`, but not of what its user pins."""
    name = canonicalize_name(wanted.name)
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return found
    known = name in found
    found[name] = package.version.partition("+")[0]
    if known and not wanted.extras:
        return found
    for line in package.requires or []:
        next_one = Requirement(line)
        extras = wanted.extras or {""}
        needed = next_one.marker is None or any(
            next_one.marker.evaluate({"extra": extra}) for extra in extras
        )
        if needed and not str(next_one.specifier).startswith("=="):
            installed(next_one, found)
    return found


def test_everything_that_is_installed_is_pinned_at_its_version() -> None:
    versions = installed(Requirement("hadamard-tui[test,bench]"), {})
    del versions["hadamard-tui"]
    pinned = pins()
    assert len(versions) > 20
    assert {name: pinned.get(name) for name in versions} == versions


@pytest.mark.parametrize("name", ["numba", "matplotlib", "pyarrow", "textual-serve"])
def test_what_the_readme_shows_needs_no_extra(name: str) -> None:
    project = tomllib.loads((CONSTRAINTS.parent / "pyproject.toml").read_text())["project"]
    assert name in {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
