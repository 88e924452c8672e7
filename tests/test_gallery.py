"""The gallery has charts of shipped presets only, and runs no preset twice."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from engine.spec import presets
from engine.spec.document_expressions import without_defaults
from engine.spec.documents import sweep_of
from engine.spec.experiment import SUBJECTS, Experiment
from engine.spec.preset_index import PresetEntry, entry_of, index
from hadamard_tui.browsing import preview
from hadamard_tui.browsing.preview import Thumbnail
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.colours import palette
from hadamard_tui.running import stored

DOCS = Path(__file__).resolve().parent.parent / "docs"
LARGEST = 40_000
"""Most bytes of a picture of the gallery, since pictures are in the repository."""


LARGEST_STORED = 1_000_000
"""Bytes of all stored curves, which come with the program."""


def gallery():
    """The script that makes the gallery."""
    spec = importlib.util.spec_from_file_location("gallery", DOCS / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["gallery"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Gallery script that writes to a temporary folder and fakes runs; `ran` lists the presets it ran."""
    module = gallery()
    module.ran = []

    def make(entry: PresetEntry, errors: Console) -> Thumbnail:
        module.ran.append(entry.name)
        module.PICTURES.mkdir(exist_ok=True)
        stored.write(entry.name, stored.StoredPictures(stored.digest(presets.document(entry.name))))
        (module.PICTURES / f"{entry.name}.svg").write_text("<svg/>")
        return Thumbnail(entry.digest, 2.0, "A caption.", ("text",), ("....",))

    monkeypatch.setattr(module, "make", make)
    monkeypatch.setattr(module, "PICTURES", tmp_path / "gallery")
    monkeypatch.setattr(module, "PAGE", tmp_path / "gallery.md")
    monkeypatch.setattr(stored, "file_of", lambda name: tmp_path / f"{name}.json")
    monkeypatch.setattr(preview, "FILE", tmp_path / "thumbnails.json")
    monkeypatch.setattr(module, "index", lambda: tuple(map(entry_of, ("eg-128", "rank-64", "vaw-128"))))
    monkeypatch.setattr(sys, "argv", ["gallery.py"])
    return module


def test_every_shipped_chart_belongs_to_a_preset_and_the_gallery_page():
    thumbnails = preview.read_file(preview.FILE)
    page = (DOCS / "reference" / "gallery.md").read_text(encoding="utf-8")
    assert thumbnails.keys() <= set(presets.names())
    assert {file.stem for file in (DOCS / "gallery").glob("*.svg")} == thumbnails.keys()
    assert set(re.findall(r"\]\(\.\./gallery/(.+?)\.svg\)", page)) == thumbnails.keys()
    assert set(re.findall(r"\]\(#(.+?)\)", page)) == set(re.findall("^### (.+)$", page, re.MULTILINE))
    for file in (DOCS / "gallery").glob("*.svg"):
        assert file.stat().st_size <= LARGEST, file.name


def test_most_presets_have_a_current_chart():
    thumbnails = preview.shipped()
    fresh = [
        entry
        for entry in index()
        if entry.name in thumbnails and thumbnails[entry.name].digest == entry.digest
    ]
    assert len(fresh) >= 0.8 * len(index()), "make update runs the others"


@pytest.mark.slow
def test_every_preset_has_current_stored_curves():
    files = list(stored.file_of("").parent.glob("*.json"))
    assert {file.stem for file in files} == set(presets.names())
    assert sum(file.stat().st_size for file in files) <= LARGEST_STORED
    pictures = {file.stem: stored.read(file.stem) for file in files}
    stale = [
        name
        for name, picture in pictures.items()
        if picture is None or picture.digest != stored.digest(presets.document(name))
    ]
    assert stale == [], "make update runs them"


def test_retitling_a_preset_updates_its_chart_without_a_run(script):
    script.main()
    (chart := script.PICTURES / "rank-64.svg").write_text(
        "<svg><title>A &lt; B</title><text>A &lt; B</text></svg>"
    )
    title = presets.load("rank-64").pictures[0].title
    script.main()
    assert chart.read_text() == f"<svg><title>{title}</title><text>{title}</text></svg>"
    assert len(script.ran) == 3
    assert gallery()._with_title("<title>Loss: GD</title>", "Loss") == "<title>Loss: GD</title>"


@pytest.mark.parametrize("name", ["order-and-chaos", "hadamard-d", "critical-line", "catapult"])
def test_a_stored_chart_has_the_current_title_of_its_preset(name: str):
    chart = (DOCS / "gallery" / f"{name}.svg").read_text(encoding="utf-8")
    assert gallery()._with_title(chart, presets.load(name).pictures[0].title) == chart
    assert gallery()._with_title(chart, "Another").count("Another") == 2


def test_a_stored_curve_is_within_half_a_dot_of_the_curve():
    x = np.linspace(0, 100, 3001)
    curve = Series("GD", x, np.exp(-x / 20), palette.LIGHT.of_learners[0], mark="A")
    axes = Axes("", "", "", (0, 100), (0, 1))
    points = gallery()._in_few_points(curve, axes, 0)
    assert len(points.x) < 40
    drawn = np.interp(x, np.array(points.x, float), np.array(points.y, float))
    assert np.abs(drawn - curve.y).max() <= 0.5 / 160


def test_presets_are_run_once_and_again_after_a_change(script, capsys):
    script.main()
    assert script.ran == ["eg-128", "rank-64", "vaw-128"]
    assert "3 of 3  vaw-128" in capsys.readouterr().err
    script.main()
    assert len(script.ran) == 3
    before, *later = script.index()
    script.index = lambda: (replace(before, digest="another"), *later)
    script.main()
    assert script.ran[3:] == ["eg-128"]
    script.index = lambda: (replace(before, digest="another", story="another", title="another"), *later)
    script.main()
    assert len(script.ran) == 4
    assert "**another**" in script.PAGE.read_text()


def test_a_preset_with_outdated_stored_curves_is_run_again(script):
    script.main()
    stored.write("rank-64", stored.StoredPictures("another"))
    script.main()
    assert script.ran[3:] == ["rank-64"]


def test_an_interrupted_gallery_run_continues_with_the_remaining_presets(script, monkeypatch):
    make = script.make

    def interrupted(entry, errors):
        if entry.name == "rank-64":
            raise KeyboardInterrupt
        return make(entry, errors)

    monkeypatch.setattr(script, "make", interrupted)
    with pytest.raises(KeyboardInterrupt):
        script.main()
    monkeypatch.setattr(script, "make", make)
    script.main()
    assert script.ran == ["eg-128", "rank-64", "vaw-128"]


def test_only_the_named_presets_are_run_and_stale_presets_are_listed(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gallery.py", "rank-64"])
    script.main()
    script.main()
    assert script.ran == ["rank-64", "rank-64"]
    assert "without a chart of what they say now: eg-128, vaw-128" in capsys.readouterr().err


def test_a_digest_depends_on_the_computation_but_not_on_words(tmp_path: Path):
    text = presets.path_of("rank-64").read_text(encoding="utf-8")
    digests = []
    for number, changed in enumerate(
        (text, text.replace("title = ", "title = 'x'#", 1), text.replace("64", "32"))
    ):
        (file := tmp_path / f"{number}.toml").write_text(changed, encoding="utf-8")
        digests.append(entry_of(str(file)).digest)
    assert digests[0] == digests[1] == entry_of("rank-64").digest
    assert digests[0] != digests[2]


@pytest.mark.parametrize("preset_name", ["hadamard-128", "shaped-start", "plane-cells"])
def test_writing_out_default_fields_does_not_change_the_digest(preset_name: str):
    document = presets.document(preset_name)
    short = {**without_defaults(Experiment, document), "pictures": document["pictures"]}
    assert len(str(short)) < len(str(document))
    points, points_of_short = (sweep_of(described).points for described in (document, short))
    assert [point.experiment for point in points] == [point.experiment for point in points_of_short]
    assert stored.digest(document) == stored.digest(short)
    assert stored.digest(document) != stored.digest({**document, "run": {**document["run"], "seed": 7}})


def test_a_preset_without_a_subject_belongs_to_other(tmp_path: Path):
    assert presets.load("rank-64").subject == entry_of("rank-64").subject == "Many targets and rank"
    text = presets.path_of("rank-64").read_text(encoding="utf-8")
    (file := tmp_path / "mine.toml").write_text(re.sub("(?m)^subject.*$", "", text), encoding="utf-8")
    assert presets.load(str(file)).subject == entry_of(str(file)).subject == "Other"
    assert {entry.subject for entry in index()} <= set(SUBJECTS)
