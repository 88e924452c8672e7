"""Memory in bytes: the sizes that determine the need of a training run, and the free memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CELLS = 1 << 18
"""Maximum number of predictions that are held together while losses are computed."""

DERIVED = 8
"""Bytes of a number in float64, for solvers, second-order rules and measures of derivatives."""


class Sizes(NamedTuple):
    """Sizes of a learner and its problem."""

    n: int
    """Instances."""

    d: int
    """Features of an instance."""

    item: int
    """Bytes of a number in the run's dtype."""

    replicas: int
    batch: int
    """Weight vectors that learn side by side: one for every replica, rate and target."""

    targets: int = 1
    """Number of targets; the weight vectors of all targets start alike."""

    examples: int = 0
    """Maximum number of examples given to a solver."""

    one_hot: bool = False
    """Whether all labels of an instance are predicted together."""

    models: int = 1
    """Number of models that train side by side, for different numbers of examples."""

    outputs: int = 1
    """Weight vectors that share a net."""

    parameters: int = 0
    """Numbers of a net, trained or fixed."""

    units: int = 0
    """Hidden units of a net."""

    @property
    def nets(self) -> int:
        """Number of nets."""
        return self.models * self.batch // self.outputs

    @property
    def signals(self) -> int:
        """Signals and predictions of a net on all instances."""
        return self.n * (self.outputs + self.units)

    @property
    def predicted(self) -> int:
        """Number of predictions that are held together while losses are computed."""
        return max(CELLS, self.batch * self.n)


UNLIMITED = 1 << 60
"""Value at which a limit means no limit: cgroup v1 writes the largest multiple of a page."""

CGROUPS = {
    "": ("", "memory.max", "memory.current", "inactive_file"),
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""Folder, limit, use, and part of the use that is a cache, by the controller in /proc/self/cgroup. The first
is version 2, the second version 1. Before the kernel refuses memory, it drops pages of files that were not
used for a while, so that these count as free.
"""


def free_bytes() -> int:
    """Return the bytes of main memory that this process can take before the system or a limit refuses."""
    import psutil

    return max(0, min([int(psutil.virtual_memory().available), *_left_to_process(), *left_to_groups()]))


def _left_to_process() -> Iterator[int]:
    """Yield the bytes that RLIMIT_AS and RLIMIT_DATA leave, if they are set."""
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
    """Yield the bytes that the limited control groups of this process leave, in the file system below `root`.

    A group has at most the memory of its parents. In a container, the path of a group may be that on the
    host; the group is then at the mount point of the file system of groups.
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
                if (size := _number(ancestor / limit)) is not None and size < UNLIMITED:
                    yield size - (_number(ancestor / use) or 0) + _listed(ancestor / "memory.stat", cache)
                if ancestor == mounted:
                    break


def _number(file: Path) -> int | None:
    """Return the number in a file; None if it has no number, as for the limit `max`."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def _listed(file: Path, name: str) -> int:
    """Return the number beside a name in a file of names and numbers; 0 if it is missing."""
    try:
        pairs = dict(line.split() for line in file.read_text().splitlines())
        return int(pairs.get(name, 0))
    except (OSError, ValueError):
        return 0


def in_words(size: int) -> str:
    """Return a number of bytes as text."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{max(1, round(size / 2**20))} MiB"
