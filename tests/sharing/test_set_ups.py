"""Set-ups that leave the program come back the same: as a preset file and as a command line."""

from __future__ import annotations

import os
import shlex
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from looping import looped

from engine.spec import presets, reading
from engine.spec.reading import Raw
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.editing.typed_text import inline_toml
from hadamard_tui.sharing.command_line import BASE, command_line, overrides
from hadamard_tui.sharing.exporting import as_toml

SMALL = [
    "problem.matrix.d=16",
    "learners.GD.update.lr=0.03125",
    'learners.EGU.name="quoted \\"name\\" with $HOME and é"',
    "run.seed=7",
    "claims=[]",
]


document = cache(presets.document)
"""What a shipped preset says, read once for all that is compared with it."""


def changed(edit: str) -> Raw:
    """hadamard-128 edited in the app, as it is written."""
    editable = EditableExperiment.of("hadamard-128")
    match edit:
        case "another matrix":
            editable.put("problem.matrix.kind", "gaussian")
        case "one learner less":
            editable.remove_learner(1)
        case "one learner more":
            editable.copy_learner(2)
        case "a learner that solves":
            editable.put_method(0, "solver")
        case "an expression":
            editable.put("learners[0].update.lr", "1/(4d)")
            editable.put("problem.matrix.d", "2^6")
        case "several expressions":
            editable.put("learners[0].update.lr", ["1/(2d)", "1/d", 0.125])
        case "a value that is gone":
            editable = EditableExperiment(
                presets.document("hadamard-128", ["problem.matrix.repeat=2", "claims=[]"]), None
            )
        case "several rates":
            editable.put("learners[0].update.lr", [0.001, 1e-05])
        case "several values":
            editable = EditableExperiment(presets.document("hadamard-128", SMALL), None)
    assert editable.error is None
    return editable.document


EDITS = ["another matrix", "one learner less", "one learner more", "a learner that solves",
         "a value that is gone", "several rates", "several values", "nothing",
         "an expression", "several expressions"]  # fmt: skip


@pytest.mark.slow
@looped("preset_name", presets.names())
def test_every_preset_survives_being_saved(preset_name: str, tmp_path: Path) -> None:
    file = tmp_path / "saved.toml"
    file.write_text(as_toml(document(preset_name)), encoding="utf-8")
    assert presets.document(str(file)) == document(preset_name)


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_set_up_survives_being_saved(edit: str) -> None:
    saved = tomllib.loads(as_toml(changed(edit)))
    assert reading.in_full(saved, reading.parse(saved)) == changed(edit)


@pytest.mark.parametrize("edit", EDITS)
def test_the_command_line_reproduces_the_set_up(edit: str) -> None:
    name, option, preset, *rest = shlex.split(command_line(changed(edit), "hadamard-128", "--run"))
    assert (name, option, preset, rest[-1]) == ("hadamard-tui", "--preset", "hadamard-128", "--run")
    assert set(rest[:-1:2]) <= {"--set"}
    assert presets.document(preset, rest[1:-1:2]) == changed(edit)


def test_a_single_changed_value_is_a_single_set_option() -> None:
    for change in ("run.seed=7", 'learners[0].update.lr="1/(4d)"'):
        assert overrides("hadamard-128", presets.document("hadamard-128", [change])) == [change]
    same = presets.document("hadamard-128")
    assert command_line(same, "hadamard-128") == "hadamard-tui --preset hadamard-128"


@pytest.mark.slow
@looped("preset_name", presets.names())
def test_a_set_up_is_expressed_as_changes_of_the_base_preset(preset_name: str) -> None:
    assert presets.document(BASE, overrides(BASE, document(preset_name))) == document(preset_name)


def test_a_set_up_of_a_missing_preset_is_expressed_as_without_a_preset() -> None:
    changes = [part for change in overrides(BASE, document("zero-one-128")) for part in ("--set", change)]
    words = shlex.split(command_line(document("zero-one-128"), "no-longer-there.toml"))
    assert words == ["hadamard-tui", "--preset", BASE, *changes]


def test_a_saved_set_up_has_absolute_paths_of_data_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "X.npy", np.eye(4))
    raw = tomllib.loads(as_toml(changed("nothing")))
    raw["problem"]["matrix"] = {"kind": "file", "path": "X.npy"}
    raw["claims"] = []
    monkeypatch.chdir(tmp_path)
    saved = tomllib.loads(as_toml(reading.parse(raw)))
    assert saved["problem"]["matrix"]["path"] == os.path.join(tmp_path, "X.npy")


@pytest.mark.parametrize(
    "value", [True, 3, 0.1, 1e-30, 1e22, 'a "b" \\ \n \x7f é', [1, [2.5]], {"a b": {"c": 1}}]
)
def test_a_value_on_one_line_survives_a_round_trip(value: object) -> None:
    text = inline_toml(value)
    assert "\n" not in text
    assert tomllib.loads(f"value = {text}")["value"] == value
