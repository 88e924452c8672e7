"""The checks of the soak fail for wrong input."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import numpy as np
import pytest

from engine.core.journal import MAGIC
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets
from engine.spec.sweep import only
from tests.soak import stores
from tests.soak.keyboard import QUITTING, Keyboard, action_keys
from tests.soak.long_runs import Sample, growth
from tests.soak.sessions import FRAMES, innermost
from tests.soak.terminal_modes import left_behind
from tests.soak.whole_files import torn

ENTER = b"\x1b[?1049h\x1b[?1003h\x1b[?25l\x1b[?7l\x1b[>1u"
LEAVE = b"\x1b[?1003l\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h"


def test_a_restored_terminal_is_reported_as_clean():
    assert left_behind(ENTER + b"words" + LEAVE) == []


@pytest.mark.parametrize("lacking", [b"\x1b[?1049l", b"\x1b[?1003l", b"\x1b[?25h", b"\x1b[?7h", b"\x1b[<u"])
def test_every_terminal_mode_left_on_is_reported(lacking: bytes):
    assert len(left_behind(ENTER + LEAVE.replace(lacking, b""))) == 1


def test_the_same_seed_presses_the_same_keys_and_omits_quitting_keys():
    first, again = ([Keyboard(Random(3)).press() for _ in range(50)] for _ in range(2))
    assert first == again
    keys = action_keys()
    assert len(keys) > 40
    assert not {key.encode() for key in keys} & set(QUITTING)


def test_many_pastes_contain_escape_sequences_and_quitting_keys():
    keyboard = Keyboard(Random(3))
    pastes = [press.sent for _ in range(5000) if (press := keyboard.press()).kind == "paste"]
    assert all(paste.count(b"\x1b[201~") == 1 for paste in pastes)
    assert sum(b"\x1b" in paste[6:-6] for paste in pastes) > len(pastes) / 3
    for key in QUITTING:
        assert any(b"\x1b[" + key in paste for paste in pastes)


@pytest.mark.parametrize("held", ["mib", "descriptors", "threads"])
def test_growth_is_distinguished_from_a_steady_state(held: str):
    steady = [Sample(300.0, 20, 6)] * 100
    growing = [
        sample._replace(**{held: getattr(sample, held) + number}) for number, sample in enumerate(steady)
    ]
    assert growth(steady) == []
    assert [held in line for line in growth(growing)] == [True]


def test_a_truncated_file_is_torn(tmp_path: Path):
    contents = {
        "curves.csv": b"a,b\n1,2\n3,4\n",
        "chart.svg": b"<svg></svg>\n",
        "result.json": b'{"pictures": [{"curves": [1]}], "points": [1]}\n',
    }
    for file_name, content in contents.items():
        (tmp_path / file_name).write_bytes(content)
        assert torn(tmp_path / file_name) == ""
        (tmp_path / file_name).write_bytes(content[:-2])
        assert torn(tmp_path / file_name)


def test_the_innermost_calls_of_every_thread_are_reported():
    thread = ["Thread 0x1 (most recent call first):", *(f"  File {call}" for call in range(30)), ""]
    told = innermost("\n".join(thread * 2))
    assert told.count("Thread") == 2
    assert told.count("File") == 2 * FRAMES
    assert told.count("  File 0") == 2


@pytest.fixture
def point(tmp_path: Path) -> Path:
    changes = ["problem.matrix.d=16", "learners.GD.update.lr=0.03125", "run.device=cpu", "claims=[]"]
    run_sweep(only(presets.load("hadamard-128", changes)), writer=RunWriter(Store(tmp_path)))
    return next(tmp_path.rglob("*.run"))


def test_a_truncated_stored_run_is_complete_unless_its_head_is_cut(point: Path):
    assert torn(point) == ""
    content = point.read_bytes()
    for end in (1, 40):
        point.write_bytes(content[:end])
        assert point.name in torn(point)
    for end in (0, len(MAGIC), len(content) // 2, len(content) - 1):
        point.write_bytes(content[:end])
        assert torn(point) == "", "a killed writer leaves all that it had written"


def test_a_stored_point_with_a_flipped_bit_is_torn(point: Path):
    content = bytearray(point.read_bytes())
    content[40] ^= 1
    point.write_bytes(content)
    assert point.name in torn(point)


def test_a_sweep_result_is_complete_with_points_and_curves(tmp_path: Path):
    path, result = tmp_path / "it.json", {"points": [{}], "pictures": [{"curves": [{}]}]}
    path.write_text(json.dumps(result))
    assert torn(path) == ""
    for less in ({"points": []}, {"pictures": [{"curves": []}]}):
        path.write_text(json.dumps(result | less))
        assert torn(path)
    path.write_text(json.dumps(result)[:-1])
    assert torn(path)


def test_an_index_is_judged_together_with_its_leftover_journal(tmp_path: Path):
    path, killed = tmp_path / "index.sqlite", tmp_path / "killed"
    killed.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as index:
        index.execute("create table runs (file unique)")
        index.executemany("insert into runs values (?)", [(str(number) * 400,) for number in range(100)])
        index.execute("pragma cache_size = 1")
        index.execute("begin immediate")
        index.execute("delete from runs where rowid % 3")
        for part in tmp_path.glob("index.sqlite*"):
            shutil.copy(part, killed)
    assert {part.name for part in killed.iterdir()} == {"index.sqlite", "index.sqlite-journal"}
    assert [torn(part) for part in sorted(killed.iterdir())] == ["", ""]
    (killed / "index.sqlite-journal").unlink()
    assert torn(killed / "index.sqlite"), "half of a transaction is no index"


def test_the_ledger_of_a_store_reports_lost_and_truncated_runs(tmp_path: Path):
    read, write = os.pipe()
    stores._store_runs(tmp_path, range(3, 6), write)
    acknowledged = np.frombuffer(os.read(read, 100), np.uint32).tolist()
    os.close(read)
    os.close(write)
    assert acknowledged == [3, 4, 5]
    assert stores.Ledger(tmp_path).losses(acknowledged, Random(0)) == []
    assert stores.Ledger(tmp_path).losses([*acknowledged, 6], Random(0)) == ["the run with seed 6 is lost"]
    paths = {run.document["run"]["seed"]: Path(run.path) for run in Store(tmp_path).runs(details=True)}
    paths[4].write_bytes(paths[4].read_bytes()[:-20])
    (tmp_path / "index.sqlite").unlink()
    assert stores.Ledger(tmp_path).losses([4], Random(0)) == ["the run with seed 4 is lost"]
