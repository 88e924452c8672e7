"""Files are written completely or not at all, after kills and on full disks too."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

from engine.core import files
from engine.core.parts import BadInput
from hadamard_tui.state import state_file

KILLS = 30

KILLING = f"""
import os, random, signal, sys, time
from pathlib import Path
from engine.core import files

file, moment = Path(sys.argv[1]), random.Random(7)
whole = [bytes([letter]) * 400_000 for letter in b"ab"]
files.write(file, whole[0])
torn = 0
for _ in range({KILLS}):
    writer = os.fork()
    if not writer:
        while True:
            for content in whole:
                files.write(file, content)
    time.sleep(0.001 + 0.01 * moment.random())
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    torn += file.read_bytes() not in whole
print(torn, len(os.listdir(file.parent)) <= 2)
files.write(file, whole[0])
print(*os.listdir(file.parent))
"""


def test_a_file_is_complete_after_every_kill_and_leftovers_are_removed(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLING, str(tmp_path / "result.json")], capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["0 True", "result.json"]


def test_the_unfinished_file_of_a_live_writer_is_left_alone(tmp_path: Path) -> None:
    live, dead, foreign = (
        tmp_path / name
        for name in (
            f".1{files.UNFINISHED}",
            f".2{files.UNFINISHED}",
            f"mine{files.UNFINISHED}",
        )
    )
    for file in (live, dead, foreign):
        file.write_bytes(b"half")
    with live.open("wb") as file:
        flock(file, LOCK_EX)
        files.write(tmp_path / "result.json", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {live.name, foreign.name, "result.json"}


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = tmp_path / "result.json"
    files.write(file, b"old")
    if step == "write":
        full_file = Path("/dev/full").open("wb")  # noqa: SIM115 - the writer closes it
        monkeypatch.setattr(files, "open", lambda *_: full_file, raising=False)
    else:
        monkeypatch.setattr(*{"fsync": (os, "fsync"), "replace": (Path, "replace")}[step], full)
    with pytest.raises(BadInput, match=r"result\.json: cannot be written: No space left on device"):
        files.write(file, b"new")
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["result.json"]


BAD_PATHS = {
    "300 letters": "x" * 300,
    "NUL": "a\0b",
    "a link to itself": "loop",
    "a folder that is a file": "file/x.json",
    "a folder that is missing": "no/x.json",
    "a folder": ".",
    "a pipe": "pipe",
    "a link to a pipe": "piped",
}
"""Paths that cannot be written. A pipe stands for devices, which a faulty writer as root would replace."""


@pytest.mark.parametrize("file_name", BAD_PATHS)
def test_an_invalid_path_is_reported_on_one_line(
    file_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    os.mkfifo("pipe")
    Path("piped").symlink_to("pipe")
    Path("file").write_text("")
    before = sorted(os.listdir())
    for act in (files.check, lambda path: files.write(path, b"content")):
        with pytest.raises(BadInput) as caught:
            act(Path(BAD_PATHS[file_name]))
        assert str(caught.value).startswith("--out ")
        assert str(caught.value).isprintable()
    assert sorted(os.listdir()) == before
    assert Path("pipe").is_fifo()


def test_a_folder_without_permission_is_reported_on_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o000)
    root = os.geteuid() == 0
    try:
        if root:
            tmp_path.parent.parent.chmod(0o755)
            tmp_path.parent.chmod(0o755)
            tmp_path.chmod(0o755)
            os.seteuid(65534)
        for path in (folder / "x.json", folder / "deeper" / "x.json"):
            with pytest.raises(BadInput, match=r"cannot be written: Permission denied|is not writable"):
                files.check(path)
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o700)


def test_every_broken_file_is_kept_under_a_numbered_name(tmp_path: Path) -> None:
    def broken(content: bytes) -> None:
        raise ValueError("it makes no sense")

    file = tmp_path / "last.json"
    for content in (b"1", b"2", b"3"):
        file.write_bytes(content)
        _, told = state_file.read_or_set_aside(lambda: file, broken, None, "the app starts fresh")
    assert told == f"{file}: it makes no sense; it was renamed to last.json.broken-3; the app starts fresh"
    contents_by_name = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert contents_by_name == {
        "last.json.broken": b"1",
        "last.json.broken-2": b"2",
        "last.json.broken-3": b"3",
    }
