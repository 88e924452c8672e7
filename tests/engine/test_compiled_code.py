"""Compiled code: its notes on disk, the process that makes it, and the backend used meanwhile."""

import json
import os
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from building import experiment, gd, planned

from engine.backends import backends
from engine.core import compiled_code
from engine.core.compiled_code import CompiledCode
from engine.runtime import compiling
from engine.runtime.run import run, run_json
from engine.spec.experiment import Experiment
from engine.training.recorder import Block

IS_THERE = CompiledCode.is_there


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Code of a source that is nowhere compiled, noted in the folders of this test alone."""
    monkeypatch.setattr(CompiledCode, "is_there", IS_THERE)
    source = tmp_path / "sources" / "kernels.py"
    source.parent.mkdir()
    source.write_text("x = 1")
    return CompiledCode("passes", (source,))


def compiled_file(code):
    file = code.sources[0].with_name("kernels.nbi")
    file.write_bytes(b"")
    return file


def test_a_note_is_valid_while_its_files_exist_and_sources_are_unchanged(code):
    assert not code.is_there
    file = compiled_file(code)
    code.note(file)
    assert code.is_there
    file.unlink()
    assert not code.is_there
    file.write_bytes(b"")
    assert code.is_there
    os.utime(code.sources[0], (1, 1))
    assert not code.is_there


def test_a_note_depends_on_the_machine_and_the_compiler_settings(code, monkeypatch):
    code.note(compiled_file(code))
    with monkeypatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", "/elsewhere")
        assert not code.is_there
    assert code.is_there
    monkeypatch.setattr(compiled_code, "_machine_description", lambda: ("another",))
    assert not code.is_there


def test_code_without_cached_files_gets_no_note(code):
    code.note()
    assert not code.is_there
    assert not [*code.sources[0].parent.rglob("*.json")]


def test_a_damaged_note_counts_as_missing(code):
    code.note(compiled_file(code))
    (note,) = code.sources[0].parent.rglob("*.json")
    for damaged in (b"", b"[]", b"{}", b"\xff", json.dumps({"of": 1, "files": 2}).encode()):
        note.write_bytes(damaged)
        assert not code.is_there


def test_notes_go_to_the_user_cache_if_the_package_is_read_only(code, own_folders, monkeypatch):
    beside = code.sources[0].parent / "__pycache__"
    write = compiled_code.files.write

    def refused(path, content, option):
        if path.parent == beside:
            raise PermissionError(13, "no")
        write(path, content, option)

    monkeypatch.setattr(compiled_code.files, "write", refused)
    code.note(compiled_file(code))
    assert code.is_there
    assert [file.name for file in Path(os.environ["XDG_CACHE_HOME"]).rglob("*.json")] == ["passes.json"]


def test_code_counts_as_compiled_if_no_folder_is_writable(code, monkeypatch):
    monkeypatch.setattr(compiled_code.os, "access", lambda *arguments: False)
    assert code.is_there


def test_one_background_process_compiles_the_code_once(code, tmp_path, monkeypatch):
    program = tmp_path / "making.py"
    program.write_text("import sys, time; open(sys.argv[1], 'a').write('made\\n'); time.sleep(0.3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for _ in range(2):
        code.make("making", str(tmp_path / "made"))
    code.note(compiled_file(code))
    assert not code.is_there, "its process has not ended"
    code.wait()
    assert code.is_there
    code.make("making", str(tmp_path / "made"))
    assert (tmp_path / "made").read_text() == "made\n"


EGU = {"name": "E", "architecture": {"kind": "linear"}, "update": {"kind": "egu", "lr": [0.05, 0.1]}}
NET = {
    "name": "N",
    "architecture": {"kind": "dense", "widths": [2048], "activation": "relu"},
    "update": {"kind": "gd", "lr": 0.01},
}


def large(learner=EGU, **words):
    """Experiment for which compiling pays; these tests do not run it to its end."""
    words = {"problem": {"matrix": {"kind": "hadamard", "d": 4096}, "target": {"kind": "all"}}} | words
    return msgspec.convert({"learners": [learner], "protocol": {"kind": "one-pass"}} | words, Experiment)


BY_NETS = large(
    NET,
    problem={"matrix": {"kind": "hadamard", "d": 256}, "target": {"kind": "feature"}},
    protocol={"kind": "erm", "steps": 5000},
)


@pytest.mark.parametrize(
    ("described", "fast", "slow"),
    [(large(), "compiled", "structured"), (BY_NETS, "preactivations", "structured")],
)
def test_a_slower_backend_serves_until_the_code_is_compiled(described, fast, slow, monkeypatch):
    learner = described.learners[0]
    assert planned(learner, described).backend.name == fast
    assert planned(learner, described).faster is None
    monkeypatch.setattr(CompiledCode, "is_there", False)
    assert planned(learner, described).backend.name == slow
    assert planned(learner, described).faster[0].name == fast
    forced = msgspec.structs.replace(described, run=msgspec.structs.replace(described.run, path=fast))
    assert planned(learner, forced).backend.name == fast
    assert planned(learner, forced).faster is None


@pytest.mark.slow
@pytest.mark.parametrize("described", [large(), BY_NETS], ids=["passes", "nets"])
def test_a_backend_sample_compiles_the_code_of_its_learner(described, monkeypatch):
    """The sample runs here as in the other process, and notes exactly this code."""
    noted = []
    monkeypatch.setattr(CompiledCode, "note", lambda code, *arguments: noted.append(code))
    requests = []
    monkeypatch.setattr(CompiledCode, "is_there", False)
    monkeypatch.setattr(
        CompiledCode, "make", lambda code, module, words: requests.append((code, module, words))
    )
    compiling.compile_meanwhile(planned(described.learners[0], described))
    ((code, module, words),) = requests
    assert module == run_json.__module__
    monkeypatch.setattr(CompiledCode, "is_there", True)
    run_json(words)
    assert set(noted) == {code}


class Counting:
    """Training run whose records hold its number and their own numbers."""

    def __init__(self, maker):
        self.maker, self.made = maker, 0

    def advance(self, records, seconds):
        numbers = np.arange(self.made, self.made + records, dtype=float)
        self.made += records
        values = np.stack([np.full(records, self.maker), numbers], 1)[:, :, None]
        weights = {number: values[number] for number in range(records) if (numbers[number] % 2) == 0}
        return Block({"k": numbers}, {"loss": values}, weights, {"rank": weights})


@pytest.mark.parametrize("before", [0, 1, 5])
@pytest.mark.parametrize("rounds", [[3, 3, 3, 3, 3], [1, 7, 1, 6], [4, 4, 4, 4]])
def test_evaluation_points_after_a_handover_come_once_from_the_faster_backend(before, rounds):
    calls = 0

    def is_ready():
        return calls > before

    handover = compiling.Handover(Counting(1.0), is_ready, lambda: Counting(2.0))
    blocks, offset, weights = [], 0, {}
    for number in [*rounds, 8]:
        calls += 1
        block = handover.advance(number, 1.0)
        assert len(block.clocks["k"]) == len(block.loss)
        weights |= {offset + record: weight for record, weight in block.weights.items()}
        assert block.arrays["rank"].keys() == block.weights.keys()
        offset += len(block.loss)
        blocks.append(block)
    makers, numbers = np.concatenate([block.loss for block in blocks])[:, :, 0].T
    assert np.array_equal(numbers, np.arange(len(numbers)))
    assert np.array_equal(np.concatenate([block.clocks["k"] for block in blocks]), numbers)
    first = sum([*rounds, 8][:before])
    assert np.array_equal(makers, np.where(numbers < first, 1.0, 2.0))
    assert {record: weight[1, 0] for record, weight in weights.items()} == {
        record: float(record) for record in range(0, len(numbers), 2)
    }


@pytest.mark.slow
def test_a_handed_over_run_equals_the_compiled_run_and_names_both_backends(monkeypatch):
    """EGU on all targets of d = 64, structured up to k = 20 and compiled after that."""
    words = {"problem": {"matrix": {"kind": "hadamard", "d": 64}, "target": {"kind": "all"}}}
    described = large(**words, run={"replicas": 2, "dtype": "float64"})
    compiled = backends()["compiled"]
    monkeypatch.setattr(type(compiled), "pays", lambda *arguments: True)
    compiled_run = run(described)
    assert [curve.backend for curve in compiled_run.curves] == 2 * ["compiled"]
    rounds = 0
    monkeypatch.setattr(CompiledCode, "is_there", property(lambda code: rounds > 20))
    monkeypatch.setattr(CompiledCode, "make", lambda code, *words: None)

    def gate():
        nonlocal rounds
        rounds += 1
        return 1

    parts = run(described, gate)
    assert [curve.backend for curve in parts.curves] == 2 * ["dense then compiled"]
    for curve, other in zip(parts.curves, compiled_run.curves, strict=True):
        assert curve.ended
        np.testing.assert_allclose(curve.values("loss"), other.values("loss"), rtol=1e-9, atol=1e-12)
        assert np.array_equal(curve.weights_x, other.weights_x)
        np.testing.assert_allclose(curve.weights, other.weights, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_a_background_process_compiles_code_for_later_runs(tmp_path, monkeypatch):
    """With an empty cache, a separate process compiles the loops of nets and notes that it did."""
    monkeypatch.setattr(CompiledCode, "is_there", IS_THERE)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    learner = BY_NETS.learners[0]
    code = backends()["preactivations"].code(learner, BY_NETS)
    assert not code.is_there
    started = time.perf_counter()
    compiling.compile_meanwhile(planned(learner, BY_NETS))
    assert time.perf_counter() - started < 1, "nobody waits for it"
    assert planned(learner, BY_NETS).backend.name == "structured"
    code.wait()
    assert code.is_there
    assert planned(learner, BY_NETS).backend.name == "preactivations"
    assert [*tmp_path.rglob("*.nbi")]


def test_the_sources_of_compiled_code_exist():
    learners = {"net": gd(0.01, kind="dense", activation="relu"), "EGU": {"update": "egu"}}
    described = experiment(learners=learners)
    codes = [
        code
        for backend in backends().values()
        for learner in described.learners
        if (code := backend.code(learner, described)) is not None
    ]
    assert codes
    for code in codes:
        assert all(source.is_file() for source in code.sources)
