"""
Learn a linkage on images of digits
===================================

Each instance holds images of five digits, which are other ones in each instance. What
is learned on some digits is used on others: not what a digit looks like, but how
clusters of images are to be merged.
"""

# %%
# Instances of digits
# -------------------
#
# Twenty instances of 300 images to learn from, and twenty new ones.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn.datasets import make_digits_instances
from sklearn_linkage_learn.plotting import LossCurveDisplay

X, y = make_digits_instances(40, n_classes=5, n_per_class=60, random_state=0)
X_train, y_train, X_new, y_new = X[:20], y[:20], X[20:], y[20:]
print([np.unique(labels).tolist() for labels in y_train[:3]])

# %%
# Two families
# ------------
#
# Average and complete linkage are both better than single linkage here. Still, a mix
# with single linkage is better than either.

families = [("single", "complete"), ("average", "complete")]
learners = [LearnedLinkage(linkages).fit(X_train, y_train) for linkages in families]

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, learner in zip(axes, learners, strict=True):
    LossCurveDisplay.from_estimator(learner, ax=ax)
plt.show()

# %%
# New instances tell how much of the gain is real. The least mean loss is a little too
# good on the instances that it was chosen on, as always.

rows = []
for learner in learners:
    first, second = learner.loss_curve_([0, 1])
    rows.append(
        {
            "alpha": learner.alpha_,
            "loss at 0": first,
            "loss at 1": second,
            "learned": learner.loss_,
            "learned, new instances": 1 - learner.score(X_new, y_new),
        }
    )
pd.DataFrame(rows, index=[" + ".join(names) for names in families]).round(3)

# %%
# One new instance
# ----------------
#
# Each row shows images of one cluster that was found.

labels = learners[1].predict(X_new[0])
figure, axes = plt.subplots(5, 16, figsize=(9, 3))
for cluster, row in enumerate(axes):
    images = X_new[0][labels == cluster][:16].reshape(-1, 8, 8)
    for ax in row:
        ax.axis("off")
    for ax, image in zip(row, images, strict=False):
        ax.imshow(image, cmap="gray_r")
plt.show()

# sphinx_gallery_thumbnail_number = 2
