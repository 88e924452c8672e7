"""Isolation: no test reads or writes the configuration and state of the person who runs it."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

import crossing
import pytest
from dealing import dealt_evenly

from engine.core.compiled_code import CompiledCode

# Tests that run side by side, and the programs that they start, would fight over the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The workers of xdist would rewrite all tests anew, and every program that tests start compile all of ours.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

FOLDERS = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="all crossed cases, not only every two values once")


def pytest_configure(config: pytest.Config) -> None:
    crossing.all_combinations = config.getoption("--whole")
    gc.disable()


@pytest.hookimpl(trylast=True)  # after the tests that -m leaves out are gone
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start the long tests first: at the end, one of them would run alone.

    Xdist gives each worker an equal share of the tests, in their order. The first worker begins with tests of
    the app, which wait half of their time. The others begin with the long tests, dealt evenly.
    """
    workers = getattr(config, "workerinput", {"workercount": 1})["workercount"]
    long_tests = [test for test in items if test.get_closest_marker("lasts")]
    seconds = [test.get_closest_marker("lasts").args[0] for test in long_tests]
    dealt = dealt_evenly(long_tests, seconds, hands=max(workers - 1, 1))
    short_tests = [test for test in items if not test.get_closest_marker("lasts")]
    start, ordered = 0, list[pytest.Item]()
    for worker, long_share in enumerate([[]] * (workers > 1) + dealt):
        size = (len(items) - len(ordered)) // (workers - worker)
        end = start + max(size - len(long_share), 0)
        ordered += [*long_share, *short_tests[start:end]]
        start = end
    items[:] = ordered + short_tests[start:]


def pytest_collection_finish() -> None:
    """Exempt the tests and their imports from garbage collection, since they live to the end.

    Collections are as rare as in the app: at the default rate they took a tenth of the time of its tests.
    """
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


class Homes:
    """Empty home folders. A folder is used again unless a test left files in it."""

    def __init__(self, make: Callable[[], Path]) -> None:
        self._make, self._last = make, make()

    def empty(self) -> Path:
        if any(self._last.iterdir()):
            self._last = self._make()
        return self._last


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Homes:
    return Homes(lambda: tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def own_folders(homes: Homes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty home folder for the process of the test and its child processes."""
    home = homes.empty()
    monkeypatch.setenv("HOME", str(home))
    for name in FOLDERS:
        monkeypatch.setenv(name, str(home / name.lower()))
    for name in ("SSH_CONNECTION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture(autouse=True)
def no_waiting_for_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile in the process of the test: no other process compiles, and no slower backend replaces it."""
    monkeypatch.setattr(CompiledCode, "is_there", True)
