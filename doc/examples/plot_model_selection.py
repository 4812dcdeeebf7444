"""
Choose between families, and compare with other clusterers
==========================================================

Which linkages should be mixed, and is learning worth the trouble? Both questions are
answered on instances that were held out. A learner is an estimator like others, so
scikit-learn's tools split *instances*, not points.
"""

# %%
# Two crescents
# -------------
#
# Sixty instances of two crescents with noise. Single linkage is right or very wrong on
# them, depending on a single point that bridges the gap.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV

from sklearn_linkage_learn import LearnedLinkage, LearnedMetricLinkage
from sklearn_linkage_learn.datasets import make_digits_instances
from sklearn_linkage_learn.model_selection import compare

moons = [make_moons(160, noise=0.1, random_state=seed) for seed in range(60)]
X, y = map(list, zip(*moons, strict=True))

# %%
# Search over families
# --------------------
#
# There is no need to search over alpha: each fit finds the best one. What is left are
# the choices that have no curve, such as the pair of linkages or the metric. All
# candidates have the same loss here, `"cut"`, that of the flat clusters: scores by
# different losses could not be compared.

search = GridSearchCV(
    LearnedLinkage(loss="cut"),
    {
        "linkages": [("single", "complete"), ("average", "complete")],
        "metric": ["euclidean", "cityblock", "chebyshev"],
    },
    cv=5,
)
search.fit(X, y)
table = pd.DataFrame(search.cv_results_)
table["linkages"] = table["param_linkages"].map(" + ".join)
table.pivot(
    index="linkages", columns="param_metric", values="mean_test_score"
).rename_axis(columns="score with metric").round(3)

# %%
# Compare with others
# -------------------
#
# `compare` judges candidates by the flat clusters that they predict for held-out
# instances. All of them learn from the same instances and are judged on the same
# others. Those that learn nothing, as k-means, are only applied. The difference to the
# baseline is taken instance by instance.

candidates = {
    "average": AgglomerativeClustering(linkage="average"),
    "single": AgglomerativeClustering(linkage="single"),
    "complete": AgglomerativeClustering(linkage="complete"),
    "Ward": AgglomerativeClustering(linkage="ward"),
    "k-means": KMeans(n_init=1, random_state=0),
    "HDBSCAN": HDBSCAN(min_cluster_size=10, copy=True),
    "learned": LearnedLinkage(("single", "complete"), loss="cut"),
}
table = compare(candidates, X, y, baseline="average", cv=5)
columns = ["loss", "difference", "difference_low", "difference_high", "better", "worse"]
table.set_index("candidate")[columns].round(3)

# %%
# Where it does not help
# ----------------------
#
# On images of digits, the same comparison ends otherwise. A learned mix of single and
# complete linkage does a little better than both, but Ward linkage and k-means are far
# better: clusters of digits are round. A mix of two metrics under Ward linkage, of the
# upper and the lower half of the images, is no better than Ward linkage alone.

X, y = make_digits_instances(20, n_classes=5, n_per_class=30, random_state=0)
halves = [("upper", "euclidean", slice(32)), ("lower", "euclidean", slice(32, 64))]
candidates["learned halves"] = LearnedMetricLinkage(halves, linkage="ward", loss="cut")
digits = compare(candidates, X, y, baseline="average", cv=5)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, found, title in zip(
    axes, [table, digits], ["crescents", "digits"], strict=True
):
    found = found.iloc[1:].iloc[::-1]
    low = found["difference"] - found["difference_low"]
    high = found["difference_high"] - found["difference"]
    ax.errorbar(
        found["difference"], found["candidate"], xerr=[low, high], fmt="o", capsize=3
    )
    ax.axvline(0, color="0.6", linewidth=1)
    ax.set(title=title, xlabel="loss minus that of average linkage")
plt.show()
