"""The constraints pin, with hashes, all packages that the program and its tests install."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
FILES = {
    "program": ROOT / "constraints.txt",
    "test": ROOT / "tests" / "constraints.txt",
    "bench": ROOT / "benchmarks" / "constraints.txt",
    "docs": ROOT / "docs" / "constraints.txt",
}
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
TORCH = re.search(r"^TORCH := torch==(\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)


CUDA = ("nvidia-", "cuda-", "triton")
"""Beginnings of the names of the libraries of a CUDA build of torch."""

PURE = "nvidia-ml-py"
"""Package that asks the driver of GPUs; it is pure Python, and no build of torch needs it."""


def of_cuda(name: str) -> bool:
    """Whether a package is a library of a CUDA build of torch."""
    return name.startswith(CUDA) and name != PURE


def entries(file: Path) -> dict[str, tuple[str, list[str]]]:
    """Version and hashes by name."""
    lines = [line for line in file.read_text().replace("\\\n", "").splitlines() if not line.startswith("#")]
    pins = {}
    for line in lines:
        requirement, *hashes = line.split(" --hash=")
        wanted = Requirement(requirement)
        (pin,) = wanted.specifier
        assert pin.operator == "==", line
        pins[canonicalize_name(wanted.name)] = (pin.version, [digest.strip() for digest in hashes])
    return pins


def required(wanted: Requirement, versions: dict[str, str]) -> dict[str, str]:
    """Add the installed versions of a requirement and of its dependencies to `versions`."""
    name = canonicalize_name(wanted.name)
    if name in versions and not wanted.extras:
        return versions
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return versions
    versions[name] = str(Version(package.version).public)
    for line in package.requires or []:
        next_one = Requirement(line)
        extras = wanted.extras or {""}
        needed = next_one.marker is None or any(
            next_one.marker.evaluate({"extra": extra}) for extra in extras
        )
        if needed and not of_cuda(next_one.name):
            required(next_one, versions)
    return versions


@pytest.mark.parametrize("part", ["program", "test"])
def test_every_installed_package_is_pinned_at_its_version(part: str) -> None:
    groups = PROJECT["dependency-groups"]
    wanted = PROJECT["project"]["dependencies"] + groups["build"] if part == "program" else groups[part]
    versions: dict[str, str] = {}
    for line in wanted:
        required(Requirement(line), versions)
    versions.pop("torch", None)
    pinned = {name: version for name, (version, _) in entries(FILES[part]).items()}
    assert len(versions) > 3
    assert {name: pinned.get(name) for name in versions} == versions


@pytest.mark.parametrize("part", FILES)
def test_every_pin_has_the_hashes_of_its_files_and_no_address(part: str) -> None:
    text = FILES[part].read_text()
    assert "://" not in text
    assert "--index" not in text
    for name, (_, hashes) in entries(FILES[part]).items():
        assert hashes, name
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest) for digest in hashes), name


def test_compiled_packages_have_hashes_for_many_platforms_and_pythons() -> None:
    pinned = entries(FILES["program"])
    for name in ("numpy", "scipy", "msgspec", "pyarrow", "matplotlib", "numba"):
        assert len(pinned[name][1]) >= 12, name


def test_the_constraint_files_agree() -> None:
    program = entries(FILES["program"])
    for part in ("test", "bench", "docs"):
        for name, entry in entries(FILES[part]).items():
            assert program.get(name, entry) == entry


def test_torch_is_pinned_without_hash_and_with_its_requirements() -> None:
    assert TORCH is not None
    torch = distribution("torch")
    (metadata,) = PROJECT["tool"]["uv"]["dependency-metadata"]
    assert TORCH[1] == metadata["version"] == Version(torch.version).public
    assert "torch" not in entries(FILES["program"])
    needed = [Requirement(line) for line in torch.requires or []]
    plain = {str(requirement) for requirement in needed if requirement.marker is None}
    assert plain <= {str(Requirement(line)) for line in metadata["requires-dist"]}


@pytest.mark.parametrize("part", FILES)
def test_no_pin_requires_cuda_libraries(part: str) -> None:
    """They take several GB. A CPU build does not use them, and a CUDA build brings its own."""
    assert not [name for name in entries(FILES[part]) if of_cuda(name)]


@pytest.mark.parametrize("name", ["numba", "matplotlib", "pyarrow", "textual-serve"])
def test_imports_of_the_readme_example_are_plain_dependencies(name: str) -> None:
    assert name in {canonicalize_name(Requirement(line).name) for line in PROJECT["project"]["dependencies"]}
