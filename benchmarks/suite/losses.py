"""Losses: of one tree, and along a whole curve."""

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from sklearn_linkage_learn._families import merge_curve
from sklearn_linkage_learn.losses import LOSSES, make_loss

N_POINTS = 400


class Loss:
    params = [list(LOSSES), [5, 10, 20]]
    param_names = ["loss", "n_labels"]

    def setup(self, loss, n_labels):
        rng = np.random.default_rng(0)
        self.labels = np.arange(N_POINTS) % n_labels
        centers = rng.normal(size=(n_labels, 10))
        points = centers[self.labels] + 0.8 * rng.normal(size=(N_POINTS, 10))
        self.distances = pdist(points)
        self.tree = linkage(self.distances, "average")

    def time_tree(self, loss, n_labels):
        LOSSES[loss](self.tree, self.labels)

    def time_curve(self, loss, n_labels):
        kernel = make_loss(loss, self.labels)
        merge_curve(self.distances, ("single", "complete"), kernel)

    def peakmem_curve(self, loss, n_labels):
        self.time_curve(loss, n_labels)

    def track_pieces(self, loss, n_labels):
        kernel = make_loss(loss, self.labels)
        return merge_curve(self.distances, ("single", "complete"), kernel).n_pieces
