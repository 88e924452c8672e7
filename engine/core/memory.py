"""Memory in bytes: sizes from which the memory of a training run is estimated, and the free memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CELLS = 1 << 18
"""Number of predictions, usually of several records, that are stored before their losses are computed.

If one record has more predictions, all of them are stored.
"""

DERIVED = 8
"""Bytes of a float64 number, which solvers, second-order rules and measures of derivatives use."""


class Sizes(NamedTuple):
    """Sizes of a learner and its problem."""

    n: int
    """Number of instances."""

    d: int
    """Number of features of an instance."""

    item: int
    """Bytes of a number in the run's dtype."""

    replicas: int
    batch: int
    """Number of weight vectors trained in one batch: replicas times rates times targets.
    """

    targets: int = 1
    """Number of targets. All targets of a replica start with the same weight vector."""

    examples: int = 0
    """Maximum number of examples given to a solver."""

    one_hot: bool = False
    """Whether the targets are one-hot labels of classes, so that an example has the labels of all targets."""

    models: int = 1
    """Number of models that are trained at the same time, on different numbers of examples."""

    outputs: int = 1
    """Number of outputs of a net. In `batch`, each output counts as one weight vector."""

    parameters: int = 0
    """Number of weights of a net, trained or fixed."""

    trained: int = 0
    """Number of trained weights of a net."""

    units: int = 0
    """Number of hidden units of a net."""

    @property
    def nets(self) -> int:
        """Number of neural nets that are trained, and held in memory, at the same time."""
        return self.models * self.batch // self.outputs

    @property
    def signals(self) -> int:
        """Number of values that one net computes on all instances, including its outputs."""
        return self.n * (self.outputs + self.units)

    @property
    def predicted(self) -> int:
        """Number of predictions that are in memory at once while losses are computed.

        Predictions of several evaluation points are collected until there are CELLS predictions.
        """
        return max(CELLS, self.batch * self.n)


UNLIMITED = 1 << 60
"""Limits from this value on mean no limit. cgroup v1 writes such a value if no limit is set."""

CGROUPS = {
    "": ("", "memory.max", "memory.current", "inactive_file"),
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""Folder and names of the files of control groups, by the controller in /proc/self/cgroup.

Each entry has the folder, then the names of three numbers: the limit, the memory in use, and the part of this
memory that caches files. The first entry is for version 2 of control groups, the second for version 1. Before
the kernel refuses memory, it drops cached pages of files that were not used for a while. So these pages count
as free.
"""


def free_bytes() -> int:
    """Return the number of further bytes of main memory that this process may use.

    This is the least of three numbers: the machine's free memory, and what the limits of the process and of
    its control groups leave free.
    """
    import psutil

    return max(0, min([int(psutil.virtual_memory().available), *_bytes_left_to_process(), *left_to_groups()]))


def _bytes_left_to_process() -> Iterator[int]:
    if sys.platform == "win32":
        return
    import resource

    for limit_name, used in (("RLIMIT_AS", "vms"), ("RLIMIT_DATA", "data")):
        limit, _ = resource.getrlimit(getattr(resource, limit_name))
        if limit == resource.RLIM_INFINITY:
            continue
        import psutil

        memory = psutil.Process().memory_info()
        yield limit - int(getattr(memory, used, memory.rss))


def left_to_groups(root: Path = Path("/")) -> Iterator[int]:
    """Yield the free bytes of every control group of this process that has a memory limit.

    The limit of a group also holds for its subgroups, so the groups that contain this process's group count,
    too. In a container, /proc/self/cgroup may show the path of the group on the host. The group's files are
    then directly in the folder where groups are mounted. All files are read below the folder `root`.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = line.split(":", 2)
        for controller in CGROUPS.keys() & set(controllers.split(",")):
            folder, limit, use, cache = CGROUPS[controller]
            mounted = root / "sys/fs/cgroup" / folder
            group = mounted / place.lstrip("/")
            for ancestor in (group, *group.parents):
                if (size := _number_in_file(ancestor / limit)) is not None and size < UNLIMITED:
                    yield (
                        size
                        - (_number_in_file(ancestor / use) or 0)
                        + _listed_number(ancestor / "memory.stat", cache)
                    )
                if ancestor == mounted:
                    break


def _number_in_file(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def _listed_number(file: Path, name: str) -> int:
    try:
        pairs = dict(line.split() for line in file.read_text().splitlines())
        return int(pairs.get(name, 0))
    except (OSError, ValueError):
        return 0


def in_words(size: int) -> str:
    """Return a number of bytes as text in MiB or GiB."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{max(1, round(size / 2**20))} MiB"
