"""What is computed of each instance: a loss curve, or the losses of usual linkages."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from joblib import Parallel, delayed
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from .._learned import LearnedLinkage
from .._learned_metric import LearnedMetricLinkage
from ..losses import hamming_loss

USUAL_LINKAGES = ("single", "average", "complete", "ward")


class Chunk:
    """Some instances of a source; their distances are computed once for all tasks.

    A task names in `needs` which of them it measures.
    """

    def __init__(self, source, numbers, n_jobs):
        self.source, self.n_jobs = source, n_jobs
        drawn = [source.instance(number) for number in numbers]
        self._instances, self.labels = zip(*drawn, strict=True)

    @cached_property
    def distances(self):
        """Distance matrices for mixes of linkages."""
        return self.map(self.source.metric, self._instances)

    @cached_property
    def pairs(self):
        """Pairs of distance matrices for mixes of metrics."""
        first, second = self.source.metrics
        return self.map(lambda x: np.stack([first(x), second(x)]), self._instances)

    def map(self, function, *columns):
        """Call a function for all instances, in threads."""
        calls = [delayed(function)(*row) for row in zip(*columns, strict=True)]
        return Parallel(self.n_jobs, prefer="threads")(calls)


@dataclass(frozen=True)
class MixOfLinkages:
    """Loss curves of a mix of two linkages."""

    linkages: tuple
    n_instances: int  # as many as the paper has
    parameter = "alpha"
    needs = "distances"

    def ends(self, source):
        """What stands at alpha 0 and 1."""
        return self.linkages

    def measure(self, distances, chunk):
        """Compute one curve for each instance of a chunk."""
        learner = LearnedLinkage(
            self.linkages, metric="precomputed", n_jobs=chunk.n_jobs
        )
        return learner.fit(distances, chunk.labels).instance_curves_


@dataclass(frozen=True)
class MixOfMetrics:
    """Loss curves of a mix of two metrics under complete linkage.

    Metrics are divided by their largest distance inside each instance, as the authors
    of the paper did.
    """

    n_instances: int
    parameter = "beta"
    needs = "pairs"

    def ends(self, source):
        """What stands at beta 0 and 1."""
        return source.names

    def measure(self, pairs, chunk):
        """Compute one curve for each instance of a chunk."""
        learner = LearnedMetricLinkage(
            "precomputed", normalize="instance_max", n_jobs=chunk.n_jobs
        )
        return learner.fit(pairs, chunk.labels).instance_curves_


class UsualLinkages:
    """Losses of the linkages one would take without learning, as scipy runs them."""

    needs = "distances"

    def measure(self, distances, chunk):
        """Compute a dict of losses for each instance of a chunk."""

        def losses(distances, labels):
            distances = squareform(distances, checks=False)
            trees = {name: linkage(distances, name) for name in USUAL_LINKAGES[:3]}
            trees["ward"] = linkage(chunk.source.to_euclidean(distances), "ward")
            return {name: hamming_loss(Z, labels) for name, Z in trees.items()}

        return chunk.map(losses, distances, chunk.labels)


TASKS = {
    "single-complete": MixOfLinkages(("single", "complete"), 1000),
    "average-complete": MixOfLinkages(("average", "complete"), 1000),
    "single-average": MixOfLinkages(("single", "average"), 1000),
    "metric": MixOfMetrics(4000),
}
