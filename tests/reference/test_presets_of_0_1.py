"""The presets of version 0.1 are read for ever, and twenty of them measure what they measured then.

Their files and numbers stay as they are. A word that is renamed goes into engine/spec/upgrade.py.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from digest import differences, digest, read

from engine.core.parts import BadInput
from engine.spec import documents, reading

FOLDER = Path(__file__).resolve().parent / "presets-0.1"
NUMBERS = Path(__file__).resolve().parent / "presets-0.1-numbers"

FILES = sorted(FOLDER.glob("*.toml"))
CONTENT = "785836ae1d08729c85bda64cb55199acc9c5806dc056167ee033ed480df4a71c"
"""Hash of the names and contents of all files."""


def numbers(preset_name: str) -> dict[str, Any]:
    """Digest of a preset without its bounds and backends, which may improve."""
    contents = digest(preset_name, str(FOLDER / f"{preset_name}.toml"))
    curves = [{key: value for key, value in curve.items() if key != "path"} for curve in contents["curves"]]
    return {**contents, "curves": curves, "bounds": []}


def test_the_presets_of_0_1_are_unchanged():
    content = hashlib.sha256()
    for file in FILES:
        content.update(f"{file.name}\n".encode() + file.read_bytes())
    assert (len(FILES), content.hexdigest()) == (162, CONTENT)


@pytest.mark.slow
def test_every_preset_of_0_1_is_accepted():
    refused = {}
    for file in FILES:
        try:
            documents.first(reading.read_raw(file))
        except BadInput as error:
            refused[file.name] = str(error)
    assert refused == {}


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_preset_of_0_1_is_accepted_at_all_points_of_its_axes(file: Path):
    assert documents.sweep_of(reading.read_raw(file)).points


@pytest.mark.parametrize("preset_name", sorted(file.stem for file in NUMBERS.glob("*.json")))
@pytest.mark.slow
def test_a_preset_of_0_1_measures_its_former_numbers(preset_name: str):
    assert differences(read(preset_name, NUMBERS), numbers(preset_name)) == []


def test_numbers_of_twenty_presets_are_stored():
    assert len(list(NUMBERS.glob("*.json"))) == 20
