"""Letters that the default font lacks: another font draws them, or a sentence names them."""

from __future__ import annotations

import logging
import math
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
from matplotlib.figure import Figure
from matplotlib.text import Text

from hadamard_tui.charts.heat_map import Contour, HeatMap, Point
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.cli import main
from hadamard_tui.looks import palette
from hadamard_tui.sharing import animation, figure, fonts

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
    """Files of fonts that were installed beside DejaVu Sans since matplotlib wrote its list."""
    files: list[str] = []
    manager = font_manager.fontManager
    monkeypatch.setattr(manager, "ttflist", [font for font in manager.ttflist if font.name == "DejaVu Sans"])
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: files)
    monkeypatch.setattr(animation, "FRAMES", 2)
    monkeypatch.setattr(animation, "HELD", 0)
    fonts._fonts_for.cache_clear()
    yield files
    fonts._fonts_for.cache_clear()


def chart(name: str) -> tuple[list[Series], Axes]:
    axes = Axes("", "x", "y", (0.0, 1.0), (0.0, 1.0))
    return [Series(name, X, X, palette.LIGHT.theory, mark="A")], axes


def warnings_of_drawing(name: str) -> list[str]:
    """What matplotlib would print while it draws a chart."""
    series, axes = chart(name)
    with (
        figure.settings(figure.text_of_chart(series, axes, "")),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        sheet, _ = figure.drawn(series, axes, "")
        sheet.draw_without_rendering()
    return [str(warning.message) for warning in caught]


def test_a_font_that_was_installed_since_draws_the_letters(installed: list[str], tmp_path: Path) -> None:
    assert any("CJK UNIFIED IDEOGRAPH-5B66" in warning for warning in warnings_of_drawing("学習"))
    fonts._fonts_for.cache_clear()
    installed.append(str(font_file(tmp_path / "a.ttf", "Squares A", "学習")))
    assert warnings_of_drawing("学習") == []
    assert fonts.fonts_for("A 学習 ±") == (("Squares A",), "")


def test_the_family_with_the_most_letters_comes_first_and_none_comes_in_vain(
    installed: list[str], tmp_path: Path
) -> None:
    letters = {"Squares B": "学", "Squares C": "学習者", "Squares D": "者名", "Last Resort": "学習者名前"}
    installed += [str(font_file(tmp_path / f"{name}.ttf", name, letters[name])) for name in letters]
    assert fonts.fonts_for("学習者の名前") == (("Squares C", "Squares D"), "の前")


def test_a_family_without_serifs_is_preferred(installed: list[str], tmp_path: Path) -> None:
    for name in ("Mincho E", "Sans E"):
        installed.append(str(font_file(tmp_path / f"{name}.ttf", name, "学")))
    assert fonts.fonts_for("学").families == ("Sans E",)


def test_a_broken_font_has_no_letters(installed: list[str], tmp_path: Path) -> None:
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    gone = font_file(tmp_path / "gone.ttf", "Squares F", "学")
    font_manager.fontManager.addfont(gone)
    gone.unlink()
    installed.append(str(tmp_path / "broken.ttf"))
    assert fonts.fonts_for("学") == ((), "学")


def test_other_fonts_are_drawn_as_outlines_in_a_page(installed: list[str], tmp_path: Path) -> None:
    installed.append(str(font_file(tmp_path / "g.ttf", "Squares G", "学")))
    assert b"/Subtype /Type3" in figure.figure(*chart("学"), "pdf")
    assert b"/Subtype /Type3" not in figure.figure(*chart("GD ±"), "pdf")


def test_controls_blanks_and_selectors_are_no_missing_letters() -> None:
    assert fonts.boxes("a\n\u3000\u200d\ufe0f\U000e0100é") == ""


def test_missing_letters_are_named_in_one_sentence() -> None:
    assert fonts.boxes("学") == "shows boxes for 学: no font on this machine has it"
    assert fonts.boxes("a習a学習") == "shows boxes for 習, 学: no font on this machine has them"
    assert fonts.boxes("\u0e31") == "shows boxes for ◌\u0e31: no font on this machine has it"


def letters_drawn(sheet: Figure) -> set[str]:
    return {letter for text in sheet.findobj(Text) for letter in text.get_text() if not letter.isascii()}


def test_the_text_of_a_chart_has_every_letter_that_is_drawn() -> None:
    axes = Axes("一", "二", "三", (0.0, 1.0), (0.0, 1.0), x_names=((0.5, "四"),))
    series = [
        Series("五", X, X, "#000000", mark="六"),
        Series("七", X, X / 2, "#000000", style="dashed", formula="八"),
    ]
    text = figure.text_of_chart(series, axes, "九")
    with figure.settings(text):
        sheet, _ = figure.drawn(series, axes, "九")
        sheet.draw_without_rendering()
    assert letters_drawn(sheet) == set(text) == set("一二三四五六七八九")


def test_the_text_of_a_heat_map_has_every_letter_that_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    sheets: list[Figure] = []
    monkeypatch.setattr(figure, "_written", lambda sheet, kind: sheets.append(sheet))
    z = np.array([[1.0, 2.0], [3.0, math.nan]])
    heat = HeatMap(
        X,
        X,
        z,
        x_label="一",
        y_label="二",
        z_label="三",
        title="四",
        contours=(Contour("五", np.array([[0.0, 0.0], [1.0, 1.0]])),),
        points=(Point("六", 0.0, 0.0),),
        missing="七",
    )
    figure.heat_map_figure(heat, "png", "八")
    assert letters_drawn(sheets[0]) == set(figure.text_of_heat_map(heat, "八")) == set("一二三四五六七八")


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".gif"])
@pytest.mark.slow
def test_an_export_names_missing_letters_on_standard_error_and_is_written(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(PRESET, encoding="utf-8")
    assert main(["run", "mine.toml", "--export", f"a{suffix}", "--export", "a.svg"]) == 0
    assert capsys.readouterr().err == f"a{suffix} shows boxes for 学, 習: no font on this machine has them\n"
    assert Path(f"a{suffix}").stat().st_size > 1000


def test_libraries_are_silent_about_fonts() -> None:
    animation.gif(*chart("GD"))
    for library in ("matplotlib.font_manager", "fontTools.subset"):
        assert not logging.getLogger(library).isEnabledFor(logging.ERROR)


@pytest.mark.slow
def test_standard_error_is_empty_where_matplotlib_has_no_folder_and_a_family_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.toml").write_text(PRESET.replace("学習", "GD ±"), encoding="utf-8")
    (tmp_path / "matplotlibrc").write_text("font.family: No Such Font, sans-serif\n")
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "mine.toml"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    program = [sys.executable, "-m", "hadamard_tui", "run", "mine.toml"]
    exports = ["--export", "a.gif", "--export", "a.pdf"]
    done = subprocess.run([*program, *exports], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
