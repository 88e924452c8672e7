"""Parts of the user's own: --parts, the configuration, and what the results say of them."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.core import catalogue
from engine.core.outside import Outside
from hadamard_tui import panels
from hadamard_tui.headless.part_files import SINGULAR, write_new

from .conftest import SMALL, Answer

RULE = '''"""A rule and a line of my own."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.updates.gd import GD


class Mine(GD, frozen=True, tag="mine"):
    """Gradient descent by another name. Source: none."""


class Coins(Line, frozen=True, tag="my-coins"):
    """1. Source: none."""

    title: ClassVar[str] = "flipping coins"
    measure: ClassVar[str] = "loss"
    formula: ClassVar[str] = "1"
    source: ClassVar[str] = "none needed"

    def structure(self) -> LineStructure:
        return LineStructure(direction="reference")

    def holds(self, experiment: Setup) -> Finding:
        return Finding(True, "labels are ±1, and their squares are 1")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return Finding(True, f"{learner.name} can be compared with predictions of 0")

    def value(self, at: At) -> Floats:
        return np.ones(len(at.k))
'''

PRESET = SMALL.replace('kind = "gd"', 'kind = "mine"')


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(RULE)
    Path("mine.toml").write_text(PRESET)


def program(*arguments: str) -> Answer:
    """Call the program in a process of its own, because parts are loaded once per process."""
    done = subprocess.run(
        [sys.executable, "-m", "hadamard_tui", *arguments], capture_output=True, text=True, timeout=120
    )
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("configured", [False, True])
def test_a_preset_runs_with_parts_of_a_file_named_with_its_hash(own_folders: Path, configured: bool):
    if configured:
        folder = own_folders / "xdg_config_home" / "hadamard-tui"
        folder.mkdir(parents=True)
        Path("mine.py").rename(folder / "mine.py")
        (folder / "config.toml").write_text('parts = ["mine.py"]\n')
        file, options = folder / "mine.py", []
    else:
        file, options = Path("mine.py").absolute(), ["--parts", "mine.py"]
    code, out, err = program("run", "mine.toml", "--json", *options)
    assert (code, err) == (0, "")
    environment = json.loads(out)["environment"]
    origin = {"file": str(file), "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    assert environment["parts"] == [origin]
    assert "flipping coins" in out
    assert program("run", "mine.toml", "--no-parts").code == 2


@pytest.mark.slow
def test_an_unknown_kind_points_to_the_option():
    code, _, err = program("run", "mine.toml")
    assert code == 2
    assert "learners[0].update.kind: 'mine' is unknown" in err
    assert err.endswith("; --parts FILE.py loads your own parts\n")


@pytest.mark.slow
def test_a_fault_in_a_file_of_parts_is_one_line_about_the_file():
    Path("mine.py").write_text("\n1 / 0\n")
    assert program("run", "mine.toml", "--parts", "mine.py") == Answer(
        2, "", f"error: {Path('mine.py').absolute()}:2: ZeroDivisionError: division by zero\n"
    )


@pytest.mark.slow
def test_a_script_can_load_parts_only_before_its_presets():
    load = "import hadamard_tui as ht\nht.load_parts('mine.py')\ntrace = ht.run('mine.toml')\n"
    late = "try:\n    ht.load_parts('other.py')\nexcept ht.BadInput as error:\n    print(error.fault)\n"
    Path("other.py").write_text(RULE)
    done = subprocess.run([sys.executable, "-c", load + late], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == (
        "this process has already loaded its parts; restart it to load others\n",
        "",
    )


@pytest.mark.slow
def test_a_configured_parts_setting_other_than_a_list_is_refused(own_folders: Path):
    folder = own_folders / "xdg_config_home" / "hadamard-tui"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("parts = 3\n")
    code, out, err = program("run", "mine.toml")
    assert (code, out) == (2, "")
    fault = "parts: this is not a list of files; write parts = ['~/my_rule.py']"
    assert err == f"error: {folder}/config.toml: {fault}\n"


@pytest.mark.slow
def test_parts_of_a_file_are_listed_and_stand_in_the_schema():
    code, out, _ = program("parts", "list", "updates", "--parts", "mine.py")
    assert code == 0
    assert "\nmine\n  Gradient descent by another name." in out
    assert '"Mine"' in program("schema", "--parts", "mine.py").out


SOURCES = "option", "configuration", "entry point"


@pytest.fixture(params=SOURCES)
def templates(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Outside:
    """Outside code of a new process: the template of each family, from one of three sources."""
    for family in catalogue.FOLDERS:
        catalogue.members(family)
    assert panels.PANELS, "they are loaded before the parts from outside"
    stems = [f"of_{request.param.replace(' ', '_')}_{word}" for word in SINGULAR.values()]
    written = [tmp_path / f"{stem}.py" for stem in stems]
    for word, file in zip(SINGULAR.values(), written, strict=True):
        write_new(word, file)
    fresh = Outside()
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(catalogue, "outside", fresh)
    monkeypatch.setattr(panels, "outside", fresh)
    match request.param:
        case "option":
            fresh.request(written)
        case "configuration":
            fresh.configure(lambda: written)
        case _:
            monkeypatch.syspath_prepend(tmp_path)
            information = tmp_path / "templates-1.0.dist-info"
            information.mkdir()
            (information / "METADATA").write_text("Metadata-Version: 2.1\nName: templates\nVersion: 1.0\n")
            points = "".join(f"{stem} = {stem}\n" for stem in stems)
            (information / "entry_points.txt").write_text(f"[hadamard_tui.parts]\n{points}")
    yield fresh
    for stem in stems:
        sys.modules.pop(stem, None)


def test_options_configuration_and_entry_points_load_every_kind_of_part(templates: Outside):
    for family in catalogue.FOLDERS.keys() & SINGULAR.keys():
        added = catalogue.members.__wrapped__(family).keys() - catalogue.members(family).keys()
        assert len(added) == 1, family
        assert added.pop().endswith(SINGULAR[family])
    (added_panel,) = {panel.name for panel in panels._all_panels()} - {panel.name for panel in panels.PANELS}
    assert added_panel.endswith("panel")
    origins = templates.origins()
    assert len(origins) == len(SINGULAR)
    assert all(len(origin["sha256"]) == 64 for origin in origins)


def test_a_preset_cannot_name_a_file_of_parts(call, small: Path):
    small.write_text('parts = ["mine.py"]\n' + small.read_text())
    code, out, err = call("run", str(small))
    assert (code, out) == (2, "")
    assert "parts" in err


def test_results_without_outside_parts_name_no_parts(call, small: Path):
    assert "parts" not in json.loads(call("run", "small.toml", "--json").out)["environment"]


@pytest.mark.parametrize("arguments", [["serve", "--parts", "mine.py"], ["--parts", "mine.py", "serve"]])
@pytest.mark.slow
def test_serve_refuses_parts(arguments: list[str]):
    code, out, err = program(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: --parts: serve loads no parts from files")


@pytest.mark.slow
def test_a_changed_file_of_parts_causes_points_to_be_computed_anew(own_folders: Path):
    axis = """
[[axes]]
name = "s"
set = "run.seed"
values = [0, 1]

[[pictures]]
x = "k"
measure = "loss"
curves = "s"
"""
    Path("axis.toml").write_text(PRESET.partition("[[claims]]")[0] + axis)

    def stored() -> int:
        code, _, err = program("run", "axis.toml", "--parts", "mine.py")
        assert code == 0, err
        return len([*own_folders.rglob("*.run")])  # a run that computes nothing is kept once

    points = stored()
    assert points > 0
    assert stored() == points
    Path("mine.py").write_text(f"{RULE}\n# another version\n")
    assert stored() == 2 * points
