"""Exact curves of one instance, distances given, and a run at one parameter."""

import numpy as np
from scipy.spatial.distance import pdist

from sklearn_linkage_learn._families import merge_pieces, metric_pieces, mixed_linkage
from sklearn_linkage_learn.datasets import make_digits_instances, make_rings_and_disks
from sklearn_linkage_learn.losses import make_loss


def digits(n_points):
    X, y = make_digits_instances(1, n_per_class=n_points // 5, random_state=0)
    return X[0], y[0]


class _Curve:
    """Time, memory and work of whatever `pieces` does."""

    def time_curve(self, *params):
        self.pieces()

    def peakmem_curve(self, *params):
        self.pieces()

    def track_trees(self, *params):
        return self.pieces().n_trees

    def track_events(self, *params):
        return self.pieces().n_events


class Merge(_Curve):
    params = [["single-complete", "average-complete"], [250, 750]]
    param_names = ["linkages", "n_points"]
    algorithm = "auto"

    def setup(self, linkages, n_points):
        points, self.labels = digits(n_points)
        self.distances, self.linkages = pdist(points), linkages.split("-")

    def pieces(self):
        loss = make_loss("hamming", self.labels)
        return merge_pieces(self.distances, self.linkages, loss, self.algorithm)


class ExecutionTree(Merge):
    params = [["single-complete", "single-average"], [60]]
    algorithm = "execution_tree"


class Metric(_Curve):
    params = [["single", "complete", "average", "ward"], ["related", "unrelated"]]
    param_names = ["linkage", "metrics"]

    def setup(self, linkage, metrics):
        points, self.labels = digits(200)
        if metrics == "related":
            # Ward linkage takes Euclidean distances only, of other pixels.
            second = pdist(points[:, :32])
        else:
            second = pdist(np.random.default_rng(0).permutation(points))
        self.distances, self.linkage = np.array([pdist(points), second]), linkage

    def pieces(self):
        loss = make_loss("hamming", self.labels)
        return metric_pieces(self.distances, self.linkage, loss)


class FixedRun:
    params = [["single-complete", "average-complete", "single-average"], [500, 2000]]
    param_names = ["linkages", "n_points"]

    def setup(self, linkages, n_points):
        (points,), _ = make_rings_and_disks(
            1, n_per_cluster=n_points // 4, random_state=0
        )
        self.distances, self.linkages = pdist(points), linkages.split("-")

    def time_run(self, *params):
        mixed_linkage([self.distances], self.linkages, [0.5, 0.5])

    def peakmem_run(self, *params):
        mixed_linkage([self.distances], self.linkages, [0.5, 0.5])
