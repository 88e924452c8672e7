"""Free memory of a process: bounded by its limits and those of its control groups."""

import subprocess
import sys

import psutil
import pytest

from engine.core.memory import free_bytes, left_to_groups

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are told of in /proc and /sys")

LIMITED = """
import resource, psutil
from engine.planning import memory_estimate
from engine.spec import reading
from engine.core.parts import BadInput
from engine.planning.run_plan import plan_run
taken = psutil.Process().memory_info().{used}
resource.setrlimit(resource.{limit}, (taken + (200 << 20), resource.RLIM_INFINITY))
free = memory_estimate.available("cpu")
assert 100 << 20 < free <= 200 << 20, free
words = {{"problem": {{"matrix": {{"kind": "gaussian", "d": 8192}}, "target": {{"kind": "feature"}}}},
         "protocol": {{"kind": "one-pass"}}, "learners": [{{"name": "LLS", "solver": {{"kind": "lls"}}}}]}}
try:
    memory_estimate.check(plan_run(reading.parse(words)), "cpu")
except BadInput as error:
    print(error)
"""


@pytest.mark.parametrize(("limit", "used"), [("RLIMIT_AS", "vms"), ("RLIMIT_DATA", "data")])
@pytest.mark.slow
def test_process_limits_reduce_the_free_memory(limit, used):
    child = subprocess.run(
        [sys.executable, "-c", LIMITED.format(limit=limit, used=used)], capture_output=True, text=True
    )
    assert not child.stderr
    assert "8192 × 8192 matrix needs" in child.stdout
    assert "MiB free; take problem.matrix.d = " in child.stdout


def write(root, files):
    for file_name, content in files.items():
        (root / file_name).parent.mkdir(parents=True, exist_ok=True)
        (root / file_name).write_text(f"{content}\n")


SECOND = {
    "proc/self/cgroup": "0::/user/session/run",
    "sys/fs/cgroup/user/memory.max": 3000,
    "sys/fs/cgroup/user/memory.current": 2500,
    "sys/fs/cgroup/user/memory.stat": "anon 2000\ninactive_file 400",
    "sys/fs/cgroup/user/session/memory.max": "max",
    "sys/fs/cgroup/user/session/memory.current": 2400,
    "sys/fs/cgroup/user/session/run/memory.max": 2000,
    "sys/fs/cgroup/user/session/run/memory.current": 500,
}
FIRST = {
    "proc/self/cgroup": "12:cpu,cpuacct:/other\n4:memory:/jobs/7\n1:name=systemd:/\n0::/",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": 9223372036854771712,
    "sys/fs/cgroup/memory/memory.usage_in_bytes": 90000,
    "sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes": 5000,
    "sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes": 4000,
    "sys/fs/cgroup/memory/jobs/7/memory.stat": "cache 900\ntotal_inactive_file 300",
}
CONTAINER = {
    "proc/self/cgroup": "4:memory:/docker/0123",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": 700,
    "sys/fs/cgroup/memory/memory.usage_in_bytes": 100,
}


@pytest.mark.parametrize(
    ("files", "free_bytes"),
    [
        (SECOND, [1500, 900]),
        (FIRST, [1300]),
        (CONTAINER, [600]),
        ({"proc/self/cgroup": "0::/"}, []),
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": "soon"}, []),
        ({}, []),
    ],
    ids=["second version", "first version", "container", "no limit", "no number", "no groups"],
)
def test_free_memory_of_control_groups_follows_all_parent_limits(files, free_bytes, tmp_path):
    write(tmp_path, files)
    assert list(left_to_groups(tmp_path)) == free_bytes


def test_free_memory_is_the_smallest_remaining_amount_and_never_negative(monkeypatch):
    monkeypatch.setattr("engine.core.memory.left_to_groups", lambda: [1 << 20, 1 << 19])
    assert free_bytes() == 1 << 19
    monkeypatch.setattr("engine.core.memory.left_to_groups", lambda: [-5])
    assert free_bytes() == 0
    monkeypatch.setattr("engine.core.memory.left_to_groups", list)
    assert 0 < free_bytes() <= psutil.virtual_memory().total
