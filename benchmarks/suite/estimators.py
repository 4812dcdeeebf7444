"""What users call: fits, predictions, and the mean of many curves."""

import numpy as np

from sklearn_linkage_learn import (
    InterpolatedLinkage,
    LearnedLinkage,
    LearnedMetricLinkage,
    PiecewiseConstant,
)
from sklearn_linkage_learn.datasets import make_rings_and_disks

N_INSTANCES = 20
LEARNERS = {
    "linkage": LearnedLinkage(),
    "metric": LearnedMetricLinkage(
        [("across", "euclidean", [0]), ("up", "euclidean", [1])], normalize="mean"
    ),
}


class Learner:
    params = [list(LEARNERS), [1, 2]]
    param_names = ["learner", "n_jobs"]

    def setup(self, learner, n_jobs):
        self.X, self.y = make_rings_and_disks(
            N_INSTANCES, n_per_cluster=50, random_state=0
        )
        self.learner = LEARNERS[learner].set_params(n_jobs=n_jobs)
        self.learner.fit(self.X, self.y)

    def time_fit(self, *params):
        self.learner.fit(self.X, self.y)

    def peakmem_fit(self, *params):
        self.learner.fit(self.X, self.y)

    def time_predict(self, *params):
        self.learner.predict(self.X)

    def track_pieces(self, *params):
        return self.learner.loss_curve_.n_pieces


class Clusterer:
    params = [200, 1000]
    param_names = ["n_points"]

    def setup(self, n_points):
        X, _ = make_rings_and_disks(1, n_per_cluster=n_points // 4, random_state=0)
        self.points = X[0]
        self.clusterer = InterpolatedLinkage(4, linkages=("single", "complete"))

    def time_fit(self, n_points):
        self.clusterer.fit(self.points)

    def peakmem_fit(self, n_points):
        self.clusterer.fit(self.points)


class Mean:
    params = [100, 1000]
    param_names = ["n_curves"]

    def setup(self, n_curves):
        rng = np.random.default_rng(0)
        steps = np.sort(rng.uniform(size=(n_curves, 199)))
        losses = rng.integers(400, size=(n_curves, 200)) / 400
        self.curves = [
            PiecewiseConstant([0, *step, 1], loss)
            for step, loss in zip(steps, losses, strict=True)
        ]

    def time_mean(self, n_curves):
        PiecewiseConstant.mean(self.curves)

    def peakmem_mean(self, n_curves):
        PiecewiseConstant.mean(self.curves)
