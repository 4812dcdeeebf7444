"""
Mix the metrics of two blocks of columns
========================================

A photograph has a place and a time. Some events of an album share their place, others
their time, so that neither is enough. How much each should count is learned from albums
that somebody has sorted.
"""

# %%
# Albums
# ------
#
# An instance is an album: a table with the place of each photograph in metres, and the
# hour it was taken at. Two places and two times of the day make four events.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone

from sklearn_linkage_learn import LearnedMetricLinkage
from sklearn_linkage_learn.plotting import LossCurveDisplay

rng = np.random.default_rng(0)


def make_album(n_per_event=20):
    event = np.repeat(np.arange(4), n_per_event)
    album = pd.DataFrame(
        {
            "east": 400.0 * (event % 2) + rng.normal(0, 120, event.size),
            "north": rng.normal(0, 120, event.size),
            "hour": 10.0 + 6 * (event // 2) + rng.normal(0, 1.3, event.size),
        }
    )
    return album, event


X, y = zip(*[make_album() for _ in range(60)], strict=True)
X_train, y_train, X_new, y_new = X[:30], y[:30], X[30:], y[30:]
X_train[0].head().round(1)

# %%
# Two metrics on one table
# ------------------------
#
# As in scikit-learn's `ColumnTransformer`, each metric has a name and the columns that
# it sees.

metrics = [
    ("place", "euclidean", ["east", "north"]),
    ("time", "euclidean", ["hour"]),
]

# %%
# Metres are hundreds, hours are few. Mixed as they are, time only counts if it has
# nearly all of the weight. `normalize="mean"` divides each metric by its mean distance.
# Then 0.5 means about the same of both. The algorithms to choose from are the same, and
# so is the least loss. Only the scale of beta differs.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, normalize in zip(axes, [None, "mean"], strict=True):
    learner = LearnedMetricLinkage(metrics, linkage="complete", normalize=normalize)
    learner.fit(X_train, y_train)
    LossCurveDisplay.from_estimator(learner, ax=ax)
    ax.set_title(f"normalize={normalize!r}")
plt.show()

# %%
# The scales were computed on the training instances and are kept for new ones.

print(
    f"mean distances: {learner.scales_[0]:.0f} metres, {learner.scales_[1]:.1f} hours"
)

# %%
# Other linkages
# --------------
#
# Ward linkage mixes the squares of the distances. It suits these round clusters better.

rows = {}
for linkage in ("single", "average", "complete", "ward"):
    learner = LearnedMetricLinkage(metrics, linkage=linkage, normalize="mean")
    learner.fit(X_train, y_train)
    rows[linkage] = {
        "beta": learner.beta_,
        "place alone": learner.loss_curve_(0),
        "time alone": learner.loss_curve_(1),
        "learned": learner.loss_,
        "learned, new albums": 1 - learner.score(X_new, y_new),
    }
pd.DataFrame(rows).T.round(3)

# %%
# A new album
# -----------
#
# By place alone, by the mix that Ward linkage has learned, and by time alone.

figure, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for ax, beta in zip(axes, [0, learner.beta_, 1], strict=True):
    clusterer = clone(learner.clusterer_).set_params(beta=beta)
    labels = clusterer.fit_predict(X_new[0])
    ax.scatter(X_new[0]["east"], X_new[0]["hour"], c=labels, cmap="tab10", vmax=9, s=14)
    ax.set(title=f"beta = {beta:.3f}", xlabel="metres east")
axes[0].set_ylabel("hour")
plt.show()

# sphinx_gallery_thumbnail_number = 2
