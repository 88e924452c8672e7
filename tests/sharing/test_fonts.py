"""Letters that the default font lacks are drawn by another font or named in a sentence."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager
from PIL import Image

from hadamard_tui.charts.plots.series_builder import LETTERS
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.cli import main
from hadamard_tui.colours import palette
from hadamard_tui.sharing import animation, rendering
from hadamard_tui.sharing.rendering import pdf, png
from hadamard_tui.sharing.svg import chart
from hadamard_tui.sharing.svg_page import SvgPage

X = np.array([0.0, 1.0])
PRESET = """
[problem]
matrix = { kind = "hadamard", d = 8 }
target = "feature"

[protocol]
kind = "one-pass"

[run]
device = "cpu"

[[learners]]
name = "学習"
architecture = "linear"
update = { kind = "gd", lr = 0.0625 }
"""


def font_file(file: Path, family: str, letters: str) -> Path:
    """Write a font in which each letter is a full square."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 1000), (1000, 1000), (1000, 0)):
        pen.lineTo(corner)
    pen.closePath()
    square = pen.glyph()
    glyphs = {".notdef": square} | {f"u{ord(letter):X}": square for letter in letters}
    builder = FontBuilder(1000)
    builder.setupGlyphOrder(list(glyphs))
    builder.setupCharacterMap({ord(letter): f"u{ord(letter):X}" for letter in letters})
    builder.setupGlyf(glyphs)
    builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (1000, 0)))
    builder.setupHorizontalHeader(ascent=1000, descent=0)
    builder.setupNameTable({"familyName": family, "styleName": "Regular", "psName": family.replace(" ", "")})
    builder.setupOS2()
    builder.setupPost()
    builder.save(file)
    return file


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Font files installed beside DejaVu Sans after matplotlib wrote its list."""
    files: list[str] = []
    manager = font_manager.fontManager
    monkeypatch.setattr(manager, "ttflist", [font for font in manager.ttflist if font.name == "DejaVu Sans"])
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: files)
    monkeypatch.setattr(animation, "FRAMES", 2)
    rendering._fonts_for.cache_clear()
    yield files
    rendering._fonts_for.cache_clear()


def page(name: str) -> SvgPage:
    axes = Axes("", "x", "y", (0.0, 1.0), (0.0, 1.0))
    return chart([Series(name, X, X, palette.LIGHT.theory, mark="A")], axes)


def dark_pixels(png: bytes) -> int:
    with Image.open(io.BytesIO(png)) as picture:
        return int((np.asarray(picture.convert("L")) < 128).sum())


@pytest.mark.slow
def test_a_newly_installed_font_draws_the_letters(installed: list[str], tmp_path: Path) -> None:
    without = dark_pixels(png(page("学習")))
    rendering._fonts_for.cache_clear()
    installed.append(str(font_file(tmp_path / "a.ttf", "Squares A", "学習")))
    assert dark_pixels(png(page("学習"))) > without + 1000, "two full squares"
    assert rendering.fonts_for("A 学習 ±") == (("Squares A",), (installed[0],), "")


def test_the_family_with_the_most_letters_comes_first_and_useless_families_are_omitted(
    installed: list[str], tmp_path: Path
) -> None:
    letters = {"Squares B": "学", "Squares C": "学習者", "Squares D": "者名", "Last Resort": "学習者名前"}
    installed += [str(font_file(tmp_path / f"{name}.ttf", name, letters[name])) for name in letters]
    families, files, missing = rendering.fonts_for("学習者の名前")
    assert (families, missing) == (("Squares C", "Squares D"), "の前")
    assert [Path(file).stem for file in files] == ["Squares C", "Squares D"]


def test_a_family_without_serifs_is_preferred(installed: list[str], tmp_path: Path) -> None:
    for name in ("Mincho E", "Sans E"):
        installed.append(str(font_file(tmp_path / f"{name}.ttf", name, "学")))
    assert rendering.fonts_for("学").families == ("Sans E",)


def test_a_broken_font_has_no_letters(installed: list[str], tmp_path: Path) -> None:
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    gone = font_file(tmp_path / "gone.ttf", "Squares F", "学")
    font_manager.fontManager.addfont(gone)
    gone.unlink()
    installed.append(str(tmp_path / "broken.ttf"))
    assert rendering.fonts_for("学") == ((), (), "学")


def test_letters_of_other_fonts_are_embedded_as_outlines_in_a_pdf(
    installed: list[str], tmp_path: Path
) -> None:
    installed.append(str(font_file(tmp_path / "g.ttf", "Squares G", "学")))
    assert b"/Subtype /Type3" in pdf(page("学"))
    assert b"/Subtype /Type3" not in pdf(page("GD ±"))


def test_controls_blanks_and_selectors_do_not_count_as_missing_letters() -> None:
    assert rendering.boxes("a\n\u3000\u200d\ufe0f\U000e0100é") == ""


def test_missing_letters_are_named_in_one_sentence() -> None:
    assert rendering.boxes("学") == "shows boxes for 学: no font on this machine has it"
    assert rendering.boxes("a習a学習") == "shows boxes for 習, 学: no font on this machine has them"
    assert rendering.boxes("\u0e31") == "shows boxes for ◌\u0e31: no font on this machine has it"


@pytest.mark.slow
def test_letters_missing_from_all_fonts_cause_no_warning() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        png(page("学習"))
        pdf(page("学習"))
    assert [str(warning.message) for warning in caught] == []


def test_the_fonts_of_the_program_have_the_letters_of_its_legends() -> None:
    marks = "".join(LETTERS) + "≡≈−±≤∞η²…└→←″ₖ"
    assert set(marks) <= rendering.shipped_letters()
    assert rendering.REGULAR.with_name("LICENSE").exists()


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".gif"])
@pytest.mark.slow
def test_an_export_is_written_and_names_missing_letters_on_standard_error(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(PRESET, encoding="utf-8")
    assert main(["run", "mine.toml", "--export", f"a{suffix}", "--export", "a.svg"]) == 0
    assert capsys.readouterr().err == f"a{suffix} shows boxes for 学, 習: no font on this machine has them\n"
    assert Path(f"a{suffix}").stat().st_size > 1000


def test_libraries_are_silent_about_fonts() -> None:
    rendering.fonts_for("学")
    for library in ("matplotlib.font_manager", "fontTools.subset"):
        assert not logging.getLogger(library).isEnabledFor(logging.ERROR)


@pytest.mark.slow
def test_standard_error_stays_empty_without_a_matplotlib_folder_and_font(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.toml").write_text(PRESET.replace("学習", "GD ±"), encoding="utf-8")
    (tmp_path / "matplotlibrc").write_text("font.family: No Such Font, sans-serif\n")
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "mine.toml"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    program = [sys.executable, "-m", "hadamard_tui", "run", "mine.toml"]
    exports = ["--export", "a.png", "--export", "a.pdf"]
    done = subprocess.run([*program, *exports], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
