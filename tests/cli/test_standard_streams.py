"""With closed, full or unread standard streams, the program prints at most one line and loses no result."""

from __future__ import annotations

import io
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import pytest

from engine.core import files
from engine.results import tables
from engine.spec import presets
from hadamard_tui.headless import verifying
from hadamard_tui.state.launch import begin
from hadamard_tui.terminal import standard_streams
from hadamard_tui.terminal.ascii_text import to_ascii

from .conftest import Answer

Call = Callable[..., Answer]
PROGRAM = f"{sys.executable} -m hadamard_tui"
SAVES = ("--out", "r.json", "--export", "c.csv")


def shell(command: str) -> tuple[int, str, str]:
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=os.getcwd())
    return done.returncode, done.stdout, done.stderr


def test_a_closed_standard_output_causes_no_error() -> None:
    assert shell(f"{PROGRAM} parts list losses <&- >&-") == (0, "", "")


def test_the_exit_code_survives_with_every_stream_closed() -> None:
    assert shell(f"{PROGRAM} lst <&- >&- 2>&-") == (2, "", "")


@pytest.mark.parametrize("command", ["--help", "config --default"])
def test_a_full_standard_output_is_reported_on_one_line(command: str) -> None:
    full = "error: standard output: cannot be written: No space left on device\n"
    assert shell(f"{PROGRAM} {command} > /dev/full") == (2, "", full)


@pytest.mark.slow
def test_a_reader_that_exits_before_any_output_causes_no_error() -> None:
    assert shell(f"set -o pipefail; {PROGRAM} parts list updates | sleep 0") == (0, "", "")


@pytest.fixture(params=["full", "gone"])
def lost(request: pytest.FixtureRequest) -> Iterator[TextIO]:
    """Stream that accepts no output, because it is full or has no reader."""
    end: str | int = "/dev/full"
    if request.param == "gone":
        reader, end = os.pipe()
        os.close(reader)
    with open(end, "w") as stream:
        yield stream


@pytest.mark.parametrize("as_json", [True, False])
def test_files_are_saved_even_if_nothing_can_be_printed(
    as_json: bool, small: Path, call: Call, lost: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", lost)
    code, _, err = call("run", "small.toml", *SAVES, *(["--json"] if as_json else []))
    assert json.loads(Path("r.json").read_text())["schema"] == 2
    assert Path("c.csv").read_text().startswith("series,name")
    if lost.name == "/dev/full":
        assert (code, err) == (2, "error: standard output: cannot be written: No space left on device\n")
    else:
        assert (code, err) == (0, "")


def test_a_report_is_saved_even_if_nothing_can_be_printed(
    small: Path, call: Call, lost: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", lost)
    code, _, _ = call("verify", "small.toml", "--report", "r.md")
    assert code == (2 if lost.name == "/dev/full" else 0)
    assert "After half the examples" in Path("r.md").read_text()


def test_verify_stops_once_its_output_is_lost(
    small: Path, call: Call, lost: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", lost)
    done = []
    real = verifying.compute_all
    monkeypatch.setattr(verifying, "compute_all", lambda *a, **k: done.append(1) or real(*a, **k))
    call("verify", "small.toml", "small.toml")
    assert done == [1]


def failing_for(*names: str) -> Callable[..., None]:
    """Replacement for `saving.write` that reports a full disk for some files."""
    really = files.write

    def write(path: Path, content: bytes, option: str = "--out") -> None:
        if path.name in names:
            raise files.BadInput(f"{option} {path}", "cannot be written: No space left on device")
        really(path, content, option)

    return write


def test_an_unsaved_result_is_printed_and_other_files_are_saved(
    small: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "write", failing_for("r.json", "a.csv"))
    code, out, err = call("run", "small.toml", *SAVES, "--export", "a.csv", "--export", "b.csv")
    assert code == 2
    assert "✓ holds" in out
    full = "cannot be written: No space left on device"
    assert err == f"error: --out r.json: {full}; --export a.csv: {full}\n"
    assert sorted(os.listdir()) == ["b.csv", "c.csv", "small.toml"]


def test_an_unsaved_report_is_printed(small: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "write", failing_for("r.md"))
    code, out, err = call("verify", "small.toml", "--json", "--report", "r.md")
    assert (code, json.loads(out)["holds"]) == (2, True)
    assert err == "error: --report r.md: cannot be written: No space left on device\n"


def test_a_failing_export_does_not_prevent_other_files(
    small: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> bytes:
        raise RuntimeError("no table")

    monkeypatch.setattr(tables, "as_csv", broken)
    code, out, err = call("run", "small.toml", "--export", "c.csv", "--out", "r.json")
    assert code == 3
    assert "✓ holds" in out
    assert "RuntimeError: no table" in err
    assert sorted(os.listdir()) == ["r.json", "small.toml"]


def test_a_full_standard_error_does_not_change_the_exit_code(small: Path) -> None:
    assert shell(f"{PROGRAM} lst 2> /dev/full") == (2, "", "")


SMALL = "hadamard-128 --set run.device=cpu --set problem.matrix.d=16 --set claims=[]"


def printed(command: str, encoding: str) -> bytes:
    """Output of a command on both streams, in an environment with this encoding."""
    done = subprocess.run(
        f"{PROGRAM} {command}".split(), capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("command", [f"run {SMALL} --bounds --notes", "parts list losses", "presets"])
def test_a_stream_without_the_required_letters_gets_ascii(command: str, encoding: str) -> None:
    drawn, in_utf_8 = printed(command, encoding), printed(command, "utf-8").decode()
    assert drawn.count(b"?") == in_utf_8.count("?")
    assert len(drawn.decode("latin-1").splitlines()) == len(in_utf_8.splitlines())
    if command.startswith("run"):
        assert b"A --  GD" in drawn
        assert ("±".encode("latin-1") in drawn) == (encoding == "latin-1"), "what a stream has stays"


@pytest.mark.slow
def test_the_ascii_option_prints_only_ascii() -> None:
    assert printed(f"run {SMALL} --ascii", "utf-8").isascii()


@pytest.mark.parametrize(
    ("line", "in_ascii"),
    [
        ("GD: (1 − k/d)² ≥ ½, all of ±1", "GD: (1 - k/d)^2 >=1/2, all of +-1"),
        ("Σ_{j≤k}", "S_{j<=k}"),
        ("of 10⁻³", "of 10^-3"),
        ("a = 2·10⁻³ ± 0.1", "a = 2*1e-3 +-0.1"),
        ("(…) a bound", "( ) a bound"),
        ("±1│±1 │", "~1|~1 |"),
        ("±1  ", "+-1 "),
        ("first ±1\nsecond ±1\n", "first +-1\nsecond +-1\n"),
    ],
)
def test_ascii_replacements_of_signs_may_lengthen_a_printed_line(line: str, in_ascii: str) -> None:
    standard_streams.prepare()
    assert line.encode("ascii", standard_streams.DRAWN).decode() == in_ascii


@pytest.mark.slow
def test_json_is_independent_of_the_encoding_of_the_stream() -> None:
    schema, in_ascii = (printed("schema", encoding) for encoding in ("utf-8", "ascii"))
    assert schema == in_ascii
    assert not schema.isascii()


def test_the_app_draws_in_ascii_on_an_ascii_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, in_ascii in (("utf-8", False), ("ascii", True)):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
        assert begin(None, "hadamard-128", False, True, None, False).config.ascii is in_ascii


@pytest.mark.slow
def test_every_letter_of_presets_and_messages_has_an_ascii_replacement() -> None:
    script = runpy.run_path(str(Path(presets.__file__).parents[2] / "docs" / "messages.py"))
    texts = [presets.path_of(preset_name).read_text() for preset_name in presets.names()]
    letters = {letter for text in [*texts, script["page"]()] for letter in text}
    assert {letter for letter in letters if not letter.isascii() and "?" in to_ascii(letter)} == set()
