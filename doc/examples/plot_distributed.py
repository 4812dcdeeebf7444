"""
Learn on a cluster
==================

Instances are independent, so any cluster that joblib knows can compute their curves.
Here it is a cluster of dask, of two worker processes on this machine; on many machines
only the address of its scheduler would be another. See :doc:`/distributed`.
"""

# %%
# Two worker processes, and a client that knows them. Scripts that start processes keep
# all of their work behind this condition:

import logging
from time import perf_counter

import joblib
import matplotlib.pyplot as plt
from dask.distributed import Client, LocalCluster

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn.datasets import make_digits_instances
from sklearn_linkage_learn.plotting import LossCurveDisplay

if __name__ == "__main__":
    X, y = make_digits_instances(24, n_per_class=40, random_state=0)
    alone = LearnedLinkage(("average", "complete")).fit(X, y)

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        print(f"{len(client.ncores())} workers")
        start = perf_counter()
        learner = LearnedLinkage(("average", "complete")).fit(X, y)
        print(f"{learner.n_instances_} curves in {perf_counter() - start:.1f} seconds")

    # Not nearly the same, but the same:
    print("equal:", learner.instance_curves_ == alone.instance_curves_)

    LossCurveDisplay.from_estimator(learner)
    plt.show()
