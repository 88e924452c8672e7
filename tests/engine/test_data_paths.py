"""Paths of data files keep their meaning wherever a preset is read, changed and saved."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from engine.core.parts import BadInput
from engine.spec import documents, presets, reading
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.sharing.exporting import as_toml

PRESET = """
[problem]
matrix = {{ kind = "file", path = "{path}" }}
target = "constant"

[protocol]
kind = "one-pass"

[[learners]]
name = "LLS"
solver = "lls"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, a working folder and a folder of presets, each with an X.npy of other numbers."""
    for number, name in enumerate(("home", "work", "mine"), start=1):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "X.npy", np.full((2, 3), number / 2))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def preset(home: Path, path: str) -> Path:
    (home / "mine" / "it.toml").write_text(PRESET.format(path=path))
    return home / "mine" / "it.toml"


PATHS = {"X.npy": "mine", "./X.npy": "mine", "../work/X.npy": "work", "~/X.npy": "home"}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("named", ["../mine/it.toml", "absolute"])
def test_preset_paths_are_relative_to_the_preset_file_or_home_folder(
    path: str, named: str, home: Path
) -> None:
    file = preset(home, path)
    read = presets.load(str(file) if named == "absolute" else named).problem.matrix
    assert Path(read.path).resolve() == home / PATHS[path] / "X.npy"
    assert Path(read.path).is_absolute()


@pytest.mark.parametrize(
    ("path", "folder"), [("X.npy", "work"), ("~/X.npy", "home"), ("../mine/X.npy", "mine")]
)
def test_a_typed_path_is_relative_to_the_working_folder(path: str, folder: str, home: Path) -> None:
    file = preset(home, "X.npy")
    changed = presets.load(str(file), [f"problem.matrix.path={path}"])
    assert Path(changed.problem.matrix.path).resolve() == home / folder / "X.npy"
    editable = EditableExperiment.of(str(file))
    editable.put("problem.matrix.path", path)
    assert Path(editable.experiment.problem.matrix.path).resolve() == home / folder / "X.npy"


@pytest.mark.parametrize("path", PATHS)
def test_saved_presets_name_the_same_data_file_from_any_folder(
    path: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset(home, path)
    document = presets.document("../mine/it.toml")
    editable = EditableExperiment(document, "../mine/it.toml")
    saved = [as_toml(document), as_toml(editable.document)]
    editable.put("problem.matrix.path", "X.npy")
    saved.append(as_toml(editable.document))
    monkeypatch.chdir("/")
    folders = [PATHS[path], PATHS[path], "work"]
    for text, folder in zip(saved, folders, strict=True):
        (home / "home" / "saved.toml").write_text(text)
        read = presets.load(str(home / "home" / "saved.toml")).problem.matrix
        assert Path(read.path).resolve() == home / folder / "X.npy"
        assert Path(tomllib.loads(text)["problem"]["matrix"]["path"]).is_absolute()


def test_axis_paths_are_relative_to_the_preset_file_and_labelled_as_written(
    home: Path,
) -> None:
    file = preset(home, "X.npy")
    axis = '[[axes]]\nname = "data"\nset = "problem.matrix.path"\nvalues = ["X.npy", "~/X.npy"]\n'
    file.write_text(PRESET.format(path="X.npy") + axis)
    points = documents.sweep_of(reading.read_raw(Path("../mine/it.toml"))).points
    read = [Path(point.experiment.problem.matrix.path).resolve() for point in points]
    assert read == [home / "mine" / "X.npy", home / "home" / "X.npy"]
    assert [point.label for point in points] == ["data = X.npy", "data = ~/X.npy"]


def test_an_unknown_home_folder_is_refused_in_one_line(home: Path) -> None:
    with pytest.raises(BadInput) as caught:
        presets.load(str(preset(home, "~nosuchuser/X.npy")))
    assert "problem.matrix.path: cannot be found" in str(caught.value)
    assert str(caught.value).isprintable()


def test_the_digits_images_path_expands_the_home_folder(home: Path) -> None:
    described = {"kind": "digits", "images": "~/images", "labels": "~/labels"}
    with pytest.raises(BadInput, match=f"there is no file {home / 'home' / 'images'}"):
        presets.load("digits-agd", [f"problem.matrix.{name}={path}" for name, path in described.items()])
