"""`bench` runs every job, and prints and reports its cost beside the reference."""

import json

import msgspec
import pytest

from engine.spec import reading
from hadamard_tui.headless import bench


@pytest.fixture
def short(monkeypatch):
    """Two fast jobs, one of them with a reference."""
    small = bench.described(8, "all", {"kind": "one-pass"}, {"GD": bench.ALL_TARGETS["GD"]})
    short_jobs = [
        bench.BenchmarkJob("J1", "a short one", small, 1e6),
        bench.BenchmarkJob("J9", "another", small),
    ]
    monkeypatch.setattr(bench, "jobs", lambda: short_jobs)


def test_every_benchmark_job_survives_a_round_trip():
    jobs = bench.jobs()
    expected = ["J1", *["J2"] * len(bench.ALL_TARGETS), *["J3"] * (len(bench.MILLION) + 1), "J4"]
    assert [job.name[:2] for job in jobs] == expected
    for job in jobs:
        assert reading.parse(msgspec.to_builtins(job.experiment)) == job.experiment
    assert set(bench.QUICK) < {job.name for job in jobs}


@pytest.mark.usefixtures("short")
def test_the_benchmark_table_shows_the_reference_beside_the_machine(call):
    code, out, _ = call("bench")
    assert code == 0
    assert "a short one" in out
    assert "1e+06" in out
    assert "0.00" in out
    assert "another" in out


@pytest.mark.usefixtures("short")
def test_quick_runs_the_short_jobs_and_json_reports_their_measurements(call):
    code, out, _ = call("bench", "--quick", "--json")
    assert code == 0
    report = json.loads(out)
    assert [job["job"] for job in report["jobs"]] == ["J1"]
    (job,) = report["jobs"]
    assert 0 < job["cpu"] < 60
    assert job["peak_mib"] >= 0
    assert job["reference_cpu"] == 1e6
    assert report["environment"]["device"] == "cpu"
