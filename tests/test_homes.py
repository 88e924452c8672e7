"""Every test has an empty home folder, whatever earlier tests left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

used_homes: list[Path] = []


@pytest.mark.parametrize("number", range(3))
def test_every_test_begins_with_an_empty_home(number: int):
    home = Path.home()
    assert list(home.iterdir()) == []
    assert home not in used_homes
    (home / "left").touch()
    used_homes.append(home)


def test_an_unused_home_is_reused(own_folders: Path, homes: object):
    assert own_folders == Path.home() == homes.empty()  # type: ignore[attr-defined]
