"""`runs` lists, shows, compares, exports and deletes stored runs, and other commands take them."""

import json
import os
import time

import pytest
from fake_cuda import serve_on_cpu

from engine.core import journal
from hadamard_tui.state import run_store

SMALL = ("hadamard-128", "--set", "problem.matrix.d=16", "--set", "run.device=cpu", "--set", "claims=[]")


@pytest.fixture
def two(call):
    """Two stored runs; the second has another seed."""
    before = json.loads(call("run", *SMALL, "--json").out)
    after = json.loads(call("run", *SMALL, "--set", "run.seed=5", "--json").out)
    return before, after


def names():
    return [run.id for run in run_store.needed_store().runs()]


def test_runs_are_listed_newest_first_and_filtered_by_words(call, two):
    newest, oldest = names()
    out = call("runs", "list").out
    assert out.index(newest) < out.index(oldest)
    assert "hadamard-128" in out
    for word in (newest, newest[:4], "@last"):
        assert [run["id"] for run in json.loads(call("runs", "list", word, "--json").out)] == [newest]
    assert len(json.loads(call("runs", "list", "hadamard-128", "--json").out)) == 2
    assert json.loads(call("runs", "list", "@last-1", "--json").out)[0]["id"] == oldest


def test_a_word_without_a_matching_run_is_reported_on_one_line(call, two):
    code, _, err = call("runs", "show", "2001-01-01")
    assert code == 2
    assert err.startswith("error: 2001-01-01: no stored run matches")
    assert err.count("\n") == 1


def test_a_stored_run_shows_and_exports_its_measurements(call, two, tmp_path):
    assert json.loads(call("runs", "show", "@last", "--json").out) == two[1]
    assert json.loads(call("runs", "show", "@last-1", "--json").out) == two[0]
    call("runs", "export", "@last", str(tmp_path / "it.json"), str(tmp_path / "it.csv"))
    assert json.loads((tmp_path / "it.json").read_text()) == two[1]
    assert (tmp_path / "it.csv").read_text().count("\n") > 2


def test_the_difference_of_runs_names_the_changed_fields(call, two):
    out = call("runs", "diff", "@last-1", "@last").out
    assert "seed 0 → 5" in out
    assert all(name in out for name in names())


def test_a_stored_run_can_be_run_and_shared_like_a_preset(call, two, tmp_path):
    newest, _ = names()
    assert json.loads(call("run", newest, "--json").out)["pictures"] == two[1]["pictures"]
    again = json.loads(call("run", "@last", "--json").out)
    assert again["pictures"] == two[1]["pictures"]
    assert len(names()) == 2, "nothing was computed, so nothing is kept twice"
    page = tmp_path / "page.html"
    assert call("share", "@last-1", "-o", str(page)).code == 0
    assert "</html>" in page.read_text()


@pytest.mark.slow
def test_a_shared_page_is_computed_on_the_requested_devices(call, tmp_path, monkeypatch):
    """The device is a process on the CPU."""
    sizes = ("--set", "axes=[{name='size', values=[8, 16]}]", "--set", "problem.matrix.d=size")
    net = "learners=[{name='net', architecture={kind='dense', widths=[4]}, update={kind='adam', lr=0.01}}]"
    monkeypatch.setattr("engine.runtime.spreading.cuda_devices", lambda: [serve_on_cpu])
    monkeypatch.setattr("engine.core.device.resolve", lambda device: "cpu")
    page = tmp_path / "page.html"
    options = ("--set", net, "--set", "claims=[]", "--on", "local:cuda", "-o", str(page))
    with monkeypatch.context() as patch:
        patch.setattr("engine.runtime.run.Undrawn", None)  # this process trains nobody
        answer = call("share", "hadamard-128", *sizes, *options)
    assert answer.code == 0, answer.err
    assert "</html>" in page.read_text()


def test_pinned_runs_cannot_be_deleted_until_unpinned(call, two):
    newest, oldest = names()
    assert call("runs", "pin", "@last-1", "--tag", "paper").code == 0
    assert "pinned" in call("runs", "delete", "paper").err
    assert "1 runs deleted" in call("runs", "prune", "--keep", "0").out
    assert names() == [oldest]
    call("runs", "pin", "paper", "--off")
    assert call("runs", "delete", oldest).code == 0
    assert names() == []
    assert newest not in call("runs", "list").out


def test_a_shortened_list_counts_the_omitted_runs(call, two):
    newest, oldest = names()
    out = call("runs", "list", "--newest", "1").out
    assert newest in out
    assert oldest not in out
    assert "The newest 1 of 2 runs; --newest 0 lists all." in out
    assert oldest in call("runs", "list", "--newest", "0").out
    assert len(json.loads(call("runs", "list", "--newest", "1", "--json").out)) == 1
    assert "code" in json.loads(call("runs", "list", "--json").out)[0]


def test_prune_deletes_only_leftover_files_of_killed_programs(call, two):
    folder, hour_ago = run_store.folder(), time.time() - 3600
    head, newer = journal.MAGIC, journal.FIRST_LINE + b"%3d\n" % (journal.FORMAT + 1)
    contents = {
        "a-1.run": head,
        "a-2.run": head[:5],
        "a-3.run": head + b"head",
        "a-4.run": newer,
        "a-5.run": b"no",
    }
    for file_name, content in {**contents, "a-6.run": head}.items():
        (folder / file_name).write_bytes(content)
        if file_name != "a-6.run":
            os.utime(folder / file_name, (hour_ago, hour_ago))
    assert "3 leftover files of killed programs deleted" in call("runs", "prune").out
    assert {path.name for path in folder.glob("a-*")} == {"a-4.run", "a-5.run", "a-6.run"}
    assert len(names()) == 2


@pytest.mark.slow
def test_a_detached_run_is_stored_when_it_ends(call):
    out = call("run", *SMALL, "--detach").out
    run = out.split()[1]
    end = time.monotonic() + 60
    while (stored := run_store.needed_store().run(run)) is None or stored.ended is None:
        assert time.monotonic() < end
        time.sleep(0.2)
    assert (stored.detached, stored.state) == (True, "finished")
