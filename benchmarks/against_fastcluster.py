"""How many fixed runs of fastcluster one exact curve costs.

    python benchmarks/against_fastcluster.py [--n-points 750] [--repeats 1]

Distances are given to both, the loss is included. Each row is one instance of digits;
F is the median time of ``fastcluster.linkage(distances, "complete")``. With one repeat
the first row shows what a fresh process pays, page faults included.
"""

import argparse
from time import perf_counter

import fastcluster
import numpy as np
from scipy.spatial.distance import pdist

from sklearn_linkage_learn._families import merge_curve
from sklearn_linkage_learn.datasets import make_digits_instances
from sklearn_linkage_learn.losses import make_loss

PAIRS = [("single", "complete"), ("average", "complete")]


def seconds(function, repeats):
    """Median time of a call."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return np.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-points", type=int, default=750)
    parser.add_argument("--repeats", type=int, default=1)
    args = parser.parse_args()
    (points,), (labels,) = make_digits_instances(
        1, n_classes=5, n_per_class=args.n_points // 5, random_state=0
    )
    distances = pdist(points)
    print(f"{'family':18} {'n':>5} {'pieces':>7} {'seconds':>8} {'in F':>6}")
    for linkages in PAIRS:

        def work(linkages=linkages):
            return merge_curve(distances, linkages, make_loss("hamming", labels))

        curve_time = seconds(work, args.repeats)
        run_time = seconds(lambda: fastcluster.linkage(distances, "complete"), 21)
        print(
            f"{'-'.join(linkages):18} {len(points):5} {work().n_pieces:7} "
            f"{curve_time:8.4f} {curve_time / run_time:6.1f}"
        )


if __name__ == "__main__":
    main()
