"""
Learners in pipelines
=====================

Instances often need some work before they are clustered: scales, projections, missing
values. Transformers of scikit-learn do that. There are three ways to put them together
with a learner.
"""

# %%
# The data
# --------
#
# Rings and disks again, but seen by six sensors from six directions. Each sensor has a
# unit of its own, and noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn.datasets import make_rings_and_disks
from sklearn_linkage_learn.preprocessing import PerInstance

rng = np.random.default_rng(0)
angles = np.linspace(0, np.pi, 6, endpoint=False)
directions = np.array([np.cos(angles), np.sin(angles)])
units = [1, 1000, 0.1, 20, 5, 0.01]

X, y = make_rings_and_disks(40, n_per_cluster=80, random_state=0)
X = [points @ directions for points in X]
X = [units * (seen + rng.normal(0, 0.03, seen.shape)) for seen in X]
X_train, y_train, X_new, y_new = X[:20], y[:20], X[20:], y[20:]

learner = LearnedLinkage().fit(X_train, y_train)
print(f"score without a pipeline: {learner.score(X_new, y_new):.3f}")

# %%
# A list of instances: PerInstance
# --------------------------------
#
# `PerInstance` applies a transformer, or a pipeline of them, to each instance.

reduce = make_pipeline(StandardScaler(), PCA(2))
pipeline = make_pipeline(PerInstance(reduce), LearnedLinkage())
pipeline.fit(X_train, y_train)

# %%
# With `fit_on="each"`, the default, a fresh copy of the transformer is fitted to each
# instance, training or new. With `fit_on="all"`, one is fitted to the points of all
# training instances, and new instances are transformed as these were. The first suits
# instances that differ in their units, the second instances that share them.

for fit_on in ("each", "all"):
    pipeline.set_params(perinstance__fit_on=fit_on).fit(X_train, y_train)
    print(f"score with fit_on={fit_on!r}: {pipeline.score(X_new, y_new):.3f}")

# %%
# One stacked table: plain transformers
# -------------------------------------
#
# Instances may also be stacked in one table, with the instance of each row in `groups`.
# Then plain transformers work as they are, and `GroupKFold` keeps the rows of an
# instance together. scikit-learn's metadata routing passes `groups` on to the learner.

table, labels = np.concatenate(X), np.concatenate(y)
groups = np.repeat(np.arange(len(X)), [len(points) for points in X])

with config_context(enable_metadata_routing=True):
    learner = LearnedLinkage()
    learner.set_fit_request(groups=True).set_score_request(groups=True)
    stacked = make_pipeline(StandardScaler(), PCA(2), learner)
    for train, test in GroupKFold(5).split(table, groups=groups):
        stacked.fit(table[train], labels[train], groups=groups[train])
        score = stacked.score(table[test], labels[test], groups=groups[test])
        print(f"score on {len(set(groups[test]))} new instances: {score:.3f}")

# %%
# From scikit-learn 1.8 on, `cross_val_score` with `params={"groups": groups}` does the
# same. Earlier versions do not pass `groups` to the score of a pipeline, so that all
# instances of a fold would be judged as one.

# %%
# A learned clusterer as the last step
# ------------------------------------
#
# What was learned is an ordinary clusterer. `clusterer_` is not fitted yet, so it can
# stand at the end of any pipeline that clusters one data set at a time.

daily = clone(reduce)
daily.steps.append(("cluster", clone(pipeline[-1].clusterer_)))
print(daily)

figure, axes = plt.subplots(1, 4, figsize=(9, 2.6), layout="constrained")
for ax, points in zip(axes, X_new, strict=False):
    found = daily.fit_predict(points)
    ax.scatter(*daily[:-1].transform(points).T, c=found, cmap="tab10", vmax=9, s=6)
    ax.set(aspect="equal", xticks=[], yticks=[])
plt.show()
