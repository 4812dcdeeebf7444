"""Work that does not fit into memory is refused, before memory is asked for.

Linkage needs the distances of all pairs of points, and a curve some lines for each of
them. An operating system that hands out more memory than there is ends the process when
it is used: too late for an error, and maybe in the middle of something else.
"""

from pathlib import Path

import numpy as np
import psutil
from joblib.parallel import get_active_backend

from ._core.memory import idle_bytes
from ._errors import blame

try:
    import resource
except ImportError:  # not on Windows
    resource = None

# Below this, asking the system takes longer than the work is worth.
_SMALL = 2**26

_GROUP_LIST = Path("/proc/self/cgroup")
_GROUP_ROOT = Path("/sys/fs/cgroup")

_ADVICE = {
    "Learning from": (
        "Learn from a sample of at most {most:,} of the points, for example by "
        "sklearn.utils.resample with replace=False."
    ),
    "Clustering": (
        "Cluster a sample of at most {most:,} of the points, and give each of the "
        "others the cluster of the nearest one, for example by "
        "sklearn.neighbors.KNeighborsClassifier(1)."
    ),
    "Computing losses of": (
        "Labels are counted for every cluster: merge some of them, or take a sample of "
        "at most {most:,} of the points."
    ),
    "Drawing": "Draw a sample of at most {most:,} of them.",
    "Computing distances of": "Take a sample of at most {most:,} of them.",
}


def check_room(n_bytes, work, n_points):
    """Refuse work on an instance that takes more memory than is available.

    Parameters
    ----------
    n_bytes : float
        What it takes, beyond all that is there already.

    work : str
        A key of `_ADVICE`.

    n_points : int
    """
    if n_bytes <= _SMALL:
        return
    available = available_bytes()
    if n_bytes > available:
        most = n_points * (available / n_bytes) ** 0.5
        most = int(float(f"{0.95 * most:.1e}"))
        raise MemoryError(
            f"{work} {n_points:,} points takes about {_shown(n_bytes)} of memory, "
            f"{_shown(available)} are available. {_ADVICE[work].format(most=most)}"
        )


def check_room_for_all(n_bytes, work, instances, n_jobs):
    """Refuse instances that take more memory than is available, alone or at once.

    Parameters
    ----------
    n_bytes : ndarray of shape (n_instances,)
        What work on each of them takes.

    work : str
        A key of `_ADVICE`.

    instances : Instances

    n_jobs : int or None
        The number of instances to work on at once.
    """
    backend, default = get_active_backend(prefer="threads")
    if not getattr(backend, "supports_sharedmem", False):
        # Other processes check for themselves, maybe on other machines.
        return
    largest = int(np.argmax(n_bytes))
    with blame(instances.names[largest]):
        check_room(float(n_bytes[largest]), work, instances.sizes[largest])
    n_jobs = backend.effective_n_jobs(default if n_jobs is None else n_jobs)
    at_once = np.cumsum(np.sort(n_bytes)[::-1][:n_jobs])
    if at_once[-1] <= _SMALL:
        return
    available = available_bytes()
    if at_once[-1] > available:
        raise MemoryError(
            f"n_jobs={n_jobs}: {work} {len(at_once)} instances at once, "
            f"{instances.names[largest]} among them, takes about "
            f"{_shown(at_once[-1])} of memory, {_shown(available)} are available. Use "
            f"n_jobs={max(np.count_nonzero(at_once <= available), 1)}."
        )


def available_bytes():
    """Return how much memory this process can still take, without swapping."""
    rooms = psutil.virtual_memory().available, *_group_rooms(), *_address_rooms()
    return max(min(rooms), 0) + idle_bytes()


def _group_rooms():
    """Yield what is left of the limits of Linux control groups, as of containers."""
    try:
        lines = _GROUP_LIST.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, names = _GROUP_ROOT, ("memory.max", "memory.current", "")
        elif "memory" in controllers.split(","):
            root = _GROUP_ROOT / "memory"
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"
        else:
            continue
        # Groups above count too. In a container, that of the path may be the root.
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(root):
                yield from _group_room(folder, *names)


def _group_room(folder, limit, usage, prefix):
    try:
        limit = (folder / limit).read_text().strip()
        if limit == "max":
            return
        used = int((folder / usage).read_text())
        statistics = dict(
            line.split() for line in (folder / "memory.stat").read_text().splitlines()
        )
    except OSError:
        return
    # Cached files give way.
    cached = (int(statistics[f"{prefix}{kind}active_file"]) for kind in ("", "in"))
    yield int(limit) - used + sum(cached)


def _address_rooms():
    """Yield what is left of the limit of this process (`ulimit -v`), if it has one."""
    if resource is not None:
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            yield limit - psutil.Process().memory_info().vms


def _shown(n_bytes):
    return f"{n_bytes / 1e9:,.3g} GB"
