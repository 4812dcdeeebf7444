"""How many fixed runs of fastcluster one exact curve costs.

    python benchmarks/against_fastcluster.py [--n-points 750] [--n-metric 200]
                                             [--repeats 1]

Distances are given to both, the loss is included. Each row is one instance of digits;
F is the time of ``fastcluster.linkage(distances, "complete")``, measured in turn with
the curve. With one repeat the first row shows what a fresh process pays, page faults
included.
"""

import argparse
from time import perf_counter

import fastcluster
import numpy as np
from scipy.spatial.distance import pdist

from sklearn_linkage_learn._families import merge_curve, metric_curve
from sklearn_linkage_learn.datasets import make_digits_instances
from sklearn_linkage_learn.losses import make_loss

PAIRS = [("single", "complete"), ("average", "complete")]
LINKAGES = ("complete", "single", "average")


def seconds(function):
    start = perf_counter()
    function()
    return perf_counter() - start


def report(name, work, distances, repeats):
    """Print how long the work takes, alone and in runs of fastcluster."""
    curve_times, run_times = [], []
    for _ in range(repeats):
        curve_times.append(seconds(work))
        run_times += [
            seconds(lambda: fastcluster.linkage(distances, "complete"))
            for _ in range(11)
        ]
    curve_time, run_time = np.median(curve_times), np.median(run_times)
    print(
        f"{name:32} {work().n_pieces:7} {curve_time:9.4f} {curve_time / run_time:7.1f}"
    )


def digits(n_points):
    (points,), (labels,) = make_digits_instances(
        1, n_classes=5, n_per_class=n_points // 5, random_state=0
    )
    return points, labels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-points", type=int, default=750)
    parser.add_argument("--n-metric", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=1)
    args = parser.parse_args()
    print(f"{'family':32} {'pieces':>7} {'seconds':>9} {'in F':>7}")

    points, labels = digits(args.n_points)
    distances = pdist(points)
    for linkages in PAIRS:
        report(
            f"{'-'.join(linkages)}, n={len(points)}",
            lambda pair=linkages: merge_curve(
                distances, pair, make_loss("hamming", labels)
            ),
            distances,
            args.repeats,
        )

    points, labels = digits(args.n_metric)
    two = np.array([pdist(points), pdist(points, "cosine")])
    for linkage in LINKAGES:
        report(
            f"{linkage}, euclidean/cosine, n={len(points)}",
            lambda linkage=linkage: metric_curve(
                two, linkage, make_loss("hamming", labels)
            ),
            two[0],
            args.repeats,
        )


if __name__ == "__main__":
    main()
