"""scikit-learn's own checks of estimators, none of them excused."""

import pytest
from sklearn.base import is_clusterer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_linkage_learn import (
    InterpolatedLinkage,
    LearnedLinkage,
    LearnedMetricLinkage,
)


@parametrize_with_checks(
    [
        InterpolatedLinkage(),
        InterpolatedLinkage(
            3, linkages=("single", "average"), alpha=0.4, metric="manhattan"
        ),
        InterpolatedLinkage(
            n_clusters=3, metric=["euclidean", "chebyshev"], beta=[1, 2]
        ),
        InterpolatedLinkage(
            metric=[("all", "cityblock", slice(None)), ("first", "euclidean", 0)],
            scale="max",
        ),
        LearnedLinkage(),
        LearnedLinkage(("complete", "average"), metric="manhattan", loss="ari"),
        LearnedLinkage(n_clusters=2, loss="cut", n_jobs=2),
        LearnedMetricLinkage(),
        LearnedMetricLinkage(("euclidean", "l1"), linkage="average", normalize="mean"),
        LearnedMetricLinkage(
            [("all", "euclidean", slice(None)), ("first", "euclidean", 0)],
            linkage="ward",
            normalize="instance_max",
            loss="cut",
        ),
    ]
)
def test_estimators_pass_the_checks_of_sklearn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "needs_labels"),
    [
        (InterpolatedLinkage(), False),
        (LearnedLinkage(), True),
        (LearnedMetricLinkage(), True),
    ],
)
def test_tags_say_that_estimators_cluster_and_what_they_need(estimator, needs_labels):
    tags = get_tags(estimator)
    assert is_clusterer(estimator)
    assert tags.target_tags.required is needs_labels
    assert tags.input_tags.pairwise is False
    assert tags.input_tags.two_d_array is True
