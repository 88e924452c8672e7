"""No test sees or touches the configuration and the memory of the person who runs it."""

from __future__ import annotations

from pathlib import Path

import crossing
import pytest

FOLDERS = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="all crossed cases, not only every two values once")


def pytest_configure(config: pytest.Config) -> None:
    crossing.whole = config.getoption("--whole")


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home of this test alone, for this process and those that it starts."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in FOLDERS:
        monkeypatch.setenv(name, str(home / name.lower()))
    for name in ("SSH_CONNECTION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return home
