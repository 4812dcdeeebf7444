"""Tables of bad input, with the error and words that its message has to contain.

It is always instance 2 of four that is bad, or group 2 of four, so that no message is
right by chance. What is wrong with it alone stands in tables of their own; messages
then begin with its name, which is not repeated.
"""

import copy
from functools import partial

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.exceptions import NotFittedError

from sklearn_linkage_learn import (
    InterpolatedLinkage,
    LearnedLinkage,
    LearnedMetricLinkage,
    PiecewiseConstant,
    losses,
    metrics,
    widest_optimal_interval,
)
from sklearn_linkage_learn.datasets import make_digits_instances, make_rings_and_disks
from sklearn_linkage_learn.plotting import LossCurveDisplay

N = 6
RNG = np.random.default_rng(0)
X = [RNG.normal(size=(N, 2)) for _ in range(4)]
Y = [np.array([0, 0, 0, 1, 1, 1])] * 4
D = [squareform(pdist(x)) for x in X]
PAIRS = [np.stack([d, d**2]) for d in D]
TABLE, LABELS, GROUPS = np.concatenate(X), np.concatenate(Y), np.repeat(range(4), N)
HUGE = 10**400
DATES = np.full((N, 2), "2020-01-01", dtype="datetime64[D]")
BLOCK = ("a", "l1", [0])
NUMERIC = ValueError, TypeError  # numpy's versions do not agree


def second(items, bad):
    """Four items of which the second, counted from 0, is bad."""
    return [*items[:2], bad, *items[3:]]


def changed(array, place, value):
    array = np.array(array, dtype=float)
    array[place] = value
    return array


def objects(*items):
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


# What is no table of numbers: id, X[2], error, words.
NO_TABLES = [
    ("nan", changed(X[2], (3, 1), np.nan), ValueError, "NaN, at row 3 and column 1"),
    ("inf", changed(X[2], (0, 1), np.inf), ValueError, "infinity, at row 0"),
    ("-inf", changed(X[2], (5, 0), -np.inf), ValueError, "infinity, at row 5"),
    ("None inside", [[1, 2]] * 5 + [[1, None]], ValueError, "NaN, at row 5"),
    ("masked", np.ma.masked_less(X[2], 0), ValueError, "Masked values"),
    ("huge int", [[1, 2]] * 5 + [[1, HUGE]], ValueError, "too large"),
    ("huge", np.full((N, 2), np.longdouble(10) ** 310), ValueError, "infinity"),
    ("ragged", [[1, 2]] * 5 + [[3]], ValueError, "item 0 has 2, item 5 has 1"),
    ("half ragged", [[1, 2]] * 5 + [3], ValueError, "item 0 has 2, item 5 has none"),
    ("no points", np.empty((0, 2)), ValueError, "0 sample"),
    ("no features", np.empty((N, 0)), ValueError, "0 feature"),
    ("empty list", [], ValueError, "Expected 2D array"),
    ("1-D", X[2][:, 0], ValueError, "Expected 2D array"),
    ("0-D", np.array(3.0), ValueError, "Expected 2D array"),
    ("3-D", np.zeros((2, N, 2)), ValueError, "dim 3"),
    ("series", pd.Series([1, 2, 3]), ValueError, "2-dimensional"),
    ("strings", np.full((N, 2), "a"), ValueError, "could not convert string"),
    ("sets", [[{1}, {2}]] * N, TypeError, "real number, not 'set'"),
    ("complex", X[2] + 1j, ValueError, "Complex data"),
    ("dates", DATES, TypeError, "Expected numbers, found datetime64[D]"),
    ("durations", DATES - DATES, TypeError, "Expected numbers, found timedelta64[D]"),
    ("records", np.zeros(N, dtype=[("a", float)]), NUMERIC, ""),
    ("sparse", sparse.csr_array(X[2]), TypeError, "Sparse"),
    ("matrix", X[2].view(np.matrix), TypeError, "np.matrix"),
    ("None", None, TypeError, "Expected an array or a list, found None"),
    ("str", "abc", TypeError, "Expected an array or a list, found str"),
    ("dict", {"a": 1}, TypeError, "Expected an array or a list, found dict"),
    ("generator", (row for row in X[2]), TypeError, "found generator"),
    ("number", 7, TypeError, "Expected an array or a list, found int"),
]
BAD_POINTS = [
    *NO_TABLES,
    ("features", np.zeros((N, 3)), ValueError, "X has 3 features"),
]
BAD_MATRICES = [
    *NO_TABLES,
    ("negative", -D[2], ValueError, "must not hold negative values, found -"),
    ("asymmetric", changed(D[2], (0, 1), 9), ValueError, "symmetric, found 9.0 at (0"),
    ("diagonal", D[2] + np.eye(N), ValueError, "zero diagonal, found 1.0 at (0, 0)"),
    ("points", X[2], ValueError, "must be square, found shape (6, 2)"),
    ("condensed", pdist(X[2]), ValueError, "Expected 2D array"),
]
BAD_PAIRS = [
    ("one matrix", D[2], ValueError, "of shape (2, n, n), found shape (6, 6)"),
    ("a list of one", [D[2]], ValueError, "of shape (2, n, n), found 1 item"),
    ("three", np.stack([D[2]] * 3), ValueError, "2 distance matrices"),
    ("two n", [D[2], D[2][:5, :5]], ValueError, "of [6, 5] points, expected the same"),
    ("points", X[2], ValueError, "2 distance matrices"),
    ("flat", np.zeros((2, 36)), ValueError, "2 distance matrices"),
    ("4-D", np.zeros((2, 2, N, N)), ValueError, "2 distance matrices"),
    ("empty", [], ValueError, "2 distance matrices"),
    ("None", None, TypeError, "found None"),
    ("negative", [D[2], -D[2]], ValueError, "metric 1: A precomputed distance matrix"),
    ("asymmetric", [D[2], np.triu(D[2])], ValueError, "metric 1: A precomputed"),
    ("diagonal", [D[2], D[2] + np.eye(N)], ValueError, "metric 1: A precomputed"),
    ("not square", [D[2], X[2]], ValueError, "metric 1: A precomputed"),
    ("nan", [D[2], D[2] * np.nan], ValueError, "metric 1: Input contains NaN"),
    ("inf", [D[2], D[2] + np.inf], ValueError, "metric 1: Input contains infinity"),
    ("ragged", [D[2], [[0, 1], [1]]], ValueError, "metric 1: Items must have the same"),
    ("dates", [D[2], DATES], TypeError, "metric 1: Expected numbers"),
    ("sparse", [D[2], sparse.csr_array(D[2])], TypeError, "metric 1: Sparse"),
]
# id, y[2], error, words
BAD_LABELS = [
    ("short", [0, 1, 0, 1, 0], ValueError, "Found 5 label(s) for 6 point(s)"),
    ("long", [0, 1, 0, 1, 0, 1, 0], ValueError, "Found 7 label(s) for 6 point(s)"),
    ("empty", [], ValueError, "Found 0 label(s) for 6 point(s)"),
    ("2-D", np.eye(N), ValueError, "Expected a 1-D array of labels, found shape (6"),
    ("pairs", [(0, 1)] * N, ValueError, "Expected a 1-D array of labels"),
    ("sparse", sparse.csr_array(np.eye(N)), ValueError, "Expected a 1-D array of"),
    ("ragged", [[0], [0, 1], 1, 1, 1, 1], ValueError, "item 0 has 1, item 1 has 2"),
    ("None", None, TypeError, "Expected a 1-D array of labels, found None"),
    ("number", 5, TypeError, "Expected a 1-D array of labels, found int"),
    ("str", "aaabbb", TypeError, "Expected a 1-D array of labels, found str"),
    ("dict", dict.fromkeys(range(N)), TypeError, "found dict"),
    ("set", set(range(N)), TypeError, "found set"),
    ("nan", [0, 1, np.nan, 1, 1, 1], ValueError, "contains NaN"),
    ("inf", [0, 1, np.inf, 1, 1, 1], ValueError, "contains infinity"),
    ("object nan", objects(0, 1, np.nan, 1, 1, 1), ValueError, "of point 2 is missing"),
    ("nan in strings", ["a", "b", np.nan, "b", "b", "b"], ValueError, "found nan"),
    ("None in strings", ["a", "b", None, "b", "b", "b"], ValueError, "found None"),
    ("None in ints", [0, 1, None, 1, 1, 1], ValueError, "of point 2 is missing"),
    ("NA", pd.Series([*"aaabb", None], dtype="string"), ValueError, "5 is missing"),
    ("NaT", np.full(N, "NaT", dtype="datetime64[D]"), ValueError, "found NaT"),
    ("mixed objects", objects(1, "1", 1, 1, 1, 1), TypeError, "of different kinds"),
    ("mixed list", [1, "1", 1, 1, 1, 1], TypeError, "of different kinds"),
    ("complex", np.arange(N) + 1j, ValueError, "Complex data"),
]
# What is wrong with a collection: id, X, y, groups, error, words.
BAD_COLLECTIONS = [
    ("empty", [], Y, None, ValueError, "X holds no instances"),
    ("empty 3-D", np.empty((0, 3, 2)), Y, None, ValueError, "X holds no instances"),
    ("no points", np.empty((0, 2)), [], None, ValueError, "X: Found array with 0"),
    ("4-D", np.zeros((4, 3, 3, 2)), Y, None, ValueError, "X[0]: Found array with dim"),
    ("1-D", [1.0, 2.0, 3.0], Y[0], None, ValueError, "X: Expected 2D array"),
    ("ragged", [[1, 2], [3]], [0, 1], None, ValueError, "X: Items must have the same"),
    ("None", None, Y, None, TypeError, "X: Expected an array or a list, found None"),
    ("str", "abc", Y, None, TypeError, "X: Expected an array or a list, found str"),
    ("dict", dict(enumerate(X)), Y, None, TypeError, "X: Expected an array or a list"),
    ("generator", (x for x in X), Y, None, TypeError, "X: Expected an array or a list"),
    ("sparse", sparse.csr_array(TABLE), LABELS, None, TypeError, "X: Sparse"),
    ("few y", X, Y[:3], None, ValueError, "y holds the labels of 3 instances, but X"),
    ("many y", X, [*Y, Y[0]], None, ValueError, "y holds the labels of 5 instances"),
    ("flat y", X, [0, 1, 0, 1], None, ValueError, "y must hold one 1-D array of"),
    ("number y", X, 7, None, ValueError, "y must hold one 1-D array of labels"),
    ("str y", X, "abcd", None, ValueError, "y must hold one 1-D array of labels"),
    ("short y", TABLE, LABELS[1:], None, ValueError, "y: Found 23 label(s) for 24"),
    ("nested y", X[0], [Y[0]], None, ValueError, "y: Expected a 1-D array of labels"),
    ("nan y", X[0], Y[0] * np.nan, None, ValueError, "y: Input y contains NaN"),
    ("groups of a list", X, Y, [0, 1, 2, 3], ValueError, "groups belongs to instances"),
    ("short groups", TABLE, LABELS, GROUPS[1:], ValueError, "groups: Found 23"),
    ("2-D groups", TABLE, LABELS, np.eye(24), ValueError, "groups: Expected a 1-D"),
    ("str groups", TABLE, LABELS, "a", TypeError, "groups: Expected a 1-D array of"),
    ("nan groups", TABLE, LABELS, GROUPS * np.nan, ValueError, "groups: Input groups"),
    ("None groups", TABLE, LABELS, [0, None] * 12, ValueError, "groups: The group of"),
    ("mixed groups", TABLE, LABELS, [0, "a"] * 12, TypeError, "groups: The groups are"),
    ("nan in a group", changed(TABLE, (13, 1), np.nan), LABELS, GROUPS, ValueError,
     "X[groups == 2]: Input contains NaN, at row 1 and column 1"),
    ("nan in its labels", TABLE, changed(LABELS, 13, np.nan), GROUPS, ValueError,
     "y[groups == 2]: Input y contains NaN"),
]  # fmt: skip
# Parameters of learners, all of them a ValueError: parameters, words.
BAD_FOR_ALL_LEARNERS = [
    ({"n_clusters": 0}, "The 'n_clusters' parameter"),
    ({"n_clusters": 2.0}, "The 'n_clusters' parameter"),
    ({"n_clusters": [2, 2]}, "The 'n_clusters' parameter"),
    ({"distance_threshold": -1}, "The 'distance_threshold' parameter"),
    ({"distance_threshold": np.nan}, "The 'distance_threshold' parameter"),
    ({"distance_threshold": "a"}, "The 'distance_threshold' parameter"),
    ({"n_clusters": 2, "distance_threshold": 1}, "At most one of n_clusters and"),
    ({"loss": "rand"}, "The 'loss' parameter"),
    ({"loss": None}, "The 'loss' parameter"),
    ({"loss": lambda Z, y: 0, "memory": "unused"}, "loss <lambda> cannot be used with"),
    ({"algorithm": "fast"}, "The 'algorithm' parameter"),
    ({"n_jobs": 1.5}, "The 'n_jobs' parameter"),
    ({"n_jobs": 0}, "n_jobs == 0"),
    ({"memory": 3}, "The 'memory' parameter"),
    ({"verbose": -1}, "The 'verbose' parameter"),
]
BAD_FOR_LEARNED_LINKAGE = [
    ({"linkages": ("single", "single")}, "linkages must be two different names of"),
    ({"linkages": ("single",)}, "linkages must be two"),
    ({"linkages": ("single", "complete", "average")}, "linkages must be two"),
    ({"linkages": ("single", "ward")}, "linkages must be two"),
    ({"linkages": ("single", 3)}, "linkages must be two"),
    ({"linkages": "single"}, "The 'linkages' parameter"),
    ({"metric": "euklid"}, "The 'metric' parameter"),
    ({"metric": None}, "The 'metric' parameter"),
    ({"metric": ["l1", "l2"]}, "The 'metric' parameter"),
]
BAD_FOR_LEARNED_METRIC = [
    ({"metrics": ("cosine",)}, "metrics must hold two metrics"),
    ({"metrics": ("l1", "l2", "cosine")}, "metrics must hold two metrics"),
    ({"metrics": "euclidean"}, "The 'metrics' parameter"),
    ({"metrics": None}, "The 'metrics' parameter"),
    ({"metrics": ("l1", "l3")}, "metrics[1] is 'l3', expected one of"),
    ({"metrics": ("l1", 3)}, "metrics[1] is 3, expected one of"),
    ({"metrics": BLOCK}, "metrics[0] is 'a', expected one of"),
    ({"metrics": ["precomputed"] * 2}, "'precomputed' cannot stand in a sequence"),
    ({"metrics": [BLOCK, ("b", "l1", [2])]}, "metric 'b': There is no column 2"),
    ({"metrics": [BLOCK, ("b", "l1", "x")]}, "metric 'b': There is no column 'x'"),
    ({"metrics": [BLOCK, ("b", "l1", [])]}, "metric 'b': [] selects none of"),
    ({"metrics": [BLOCK, ("b", "l1", [True])]}, "metric 'b': A mask must be of the"),
    ({"metrics": [BLOCK, ("b", "l1", 1.5)]}, "metric 'b': 1.5 is no column"),
    ({"metrics": [BLOCK, ("b", "l1", [[0], 1])]}, "metric 'b': Items must have the"),
    ({"metrics": [BLOCK, ("b", "l1", None)]}, "metrics[1]: the columns of 'b' are"),
    ({"metrics": [BLOCK, ("b", "l3", 0)]}, "metrics[1]: the metric of 'b' is 'l3'"),
    ({"metrics": [BLOCK, (3, "l1", 0)]}, "metrics[1] is (3, 'l1', 0)"),
    ({"linkage": "ward"}, "linkage='ward' needs two Euclidean metrics"),
    ({"linkage": "ward", "metrics": "precomputed"}, "needs two Euclidean metrics"),
    ({"linkage": "weighted"}, "The 'linkage' parameter"),
    ({"normalize": "median"}, "The 'normalize' parameter"),
]
TWO = {"linkages": ("single", "average")}
BAD_FOR_CLUSTERER = [
    ({"n_clusters": None}, "Exactly one of n_clusters and distance_threshold"),
    ({"distance_threshold": 1.0}, "Exactly one of n_clusters and distance_threshold"),
    ({"n_clusters": 7}, "n_clusters=7 is more than the number of points"),
    ({"n_clusters": 0}, "The 'n_clusters' parameter"),
    ({"distance_threshold": -1.0}, "The 'distance_threshold' parameter"),
    ({"linkages": "centroid"}, "The 'linkages' parameter"),
    ({"linkages": ()}, "linkages is empty"),
    ({"linkages": ("single", "median")}, "linkages[1] is 'median', expected one of"),
    ({"linkages": ("single", "ward")}, "linkages='ward' has to stand alone"),
    ({"linkages": "ward", "metric": "cosine"}, "needs metric='euclidean'"),
    ({"linkages": "ward", "metric": ["l2", "l1"]}, "needs metric='euclidean'"),
    ({"alpha": 0.5}, "alpha=0.5 as a number weights two linkages, found 1"),
    ({**TWO, "alpha": 1.1}, "The 'alpha' parameter"),
    ({**TWO, "alpha": -0.1}, "The 'alpha' parameter"),
    ({**TWO, "alpha": np.nan}, "The 'alpha' parameter"),
    ({**TWO, "alpha": "a"}, "The 'alpha' parameter"),
    ({**TWO, "alpha": [1, 2, 3]}, "alpha must hold one number for each of 2 linkages"),
    ({**TWO, "alpha": [1, -1]}, "alpha must be finite, not negative and not all zero"),
    ({**TWO, "alpha": [0, 0]}, "alpha must be finite, not negative and not all zero"),
    ({**TWO, "alpha": [1, np.nan]}, "alpha must be finite, not negative and not all"),
    ({**TWO, "alpha": ["a", "b"]}, "alpha: could not convert string"),
    ({**TWO, "alpha": [[1], [2, 3]]}, "alpha: Items must have the same length"),
    ({**TWO, "alpha": [1, HUGE]}, "alpha: int too large"),
    ({"metric": "euklid"}, "The 'metric' parameter"),
    ({"metric": ()}, "metric is empty"),
    ({"metric": ["cosine", 3]}, "metric[1] is 3, expected one of"),
    ({"metric": BLOCK}, "metric[0] is 'a', expected one of"),
    ({"metric": [("a", "l1", 3)]}, "metric 'a': There is no column 3"),
    ({"metric": ["l1", "precomputed"]}, "'precomputed' cannot stand in a sequence"),
    ({"beta": 0.5}, "beta=0.5 as a number weights two metrics, found 1"),
    ({"beta": [1, 2]}, "beta must hold one number for each of 1 metrics"),
    ({"scale": [1, 2]}, "scale must hold one number for each of 1 metrics"),
    ({"scale": [0]}, "scale must be finite and positive"),
    ({"scale": [np.inf]}, "scale must be finite and positive"),
    ({"scale": ["a"]}, "scale: could not convert string"),
    ({"scale": "mean"}, "The 'scale' parameter"),
]

FITTED = {
    "points": LearnedLinkage().fit(X, Y),
    "matrices": LearnedLinkage(metric="precomputed").fit(D, Y),
    "points, two metrics": LearnedMetricLinkage(normalize="mean").fit(X, Y),
    "pairs": LearnedMetricLinkage("precomputed").fit(PAIRS, Y),
}
CLUSTERER = InterpolatedLinkage().fit(X[0])
UNEVEN = LearnedLinkage().fit(X[:2], [Y[0], [0, 0, 1, 1, 2, 2]])
predict = partial(FITTED["points"].predict, X)
score = partial(FITTED["points"].score, X, Y)


def weighted(weights):
    LearnedLinkage().fit(X, Y, instance_weight=weights)


def other_loss():
    copy.deepcopy(UNEVEN).set_params(loss="ari").partial_fit(X, Y)


def matrices_of(X, **params):
    return InterpolatedLinkage(metric="precomputed", **params).fit(X)


# Other arguments of estimators: id, call, error, words.
BAD_CALLS = [
    ("0 clusters", lambda: predict(0), ValueError, "X[0]: n_clusters=0 is less than 1"),
    ("7 clusters", lambda: predict(7), ValueError, "X[0]: n_clusters=7 is more than"),
    ("7 in X[2]", lambda: predict([2, 2, 7, 2]), ValueError, "X[2]: n_clusters=7 is"),
    ("0 in X[2]", lambda: predict([2, 2, 0, 2]), ValueError, "X[2]: n_clusters=0 is"),
    ("10**30", lambda: predict(10**30), ValueError, "is more than the number of"),
    ("three counts", lambda: predict([2, 2, 2]), ValueError, "n_clusters must be an"),
    ("2.0", lambda: predict(2.0), ValueError, "n_clusters must be an integer or hold"),
    ("True", lambda: predict(True), ValueError, "n_clusters must be an integer or"),
    ("'2'", lambda: predict("2"), ValueError, "n_clusters must be an integer or hold"),
    ("nan", lambda: predict(np.nan), ValueError, "n_clusters must be an integer or"),
    ("None", lambda: predict([2, 2, None, 2]), ValueError, "n_clusters must be an"),
    ("ragged", lambda: predict([[2], 2, [2, 3], 2]), ValueError, "n_clusters must be"),
    ("of a group", lambda: FITTED["points"].predict(TABLE, [2, 2, 7, 2], GROUPS),
     ValueError, "X[groups == 2]: n_clusters=7 is more than"),
    ("no default", lambda: UNEVEN.predict(X), ValueError, "from 2 to 3 classes"),
    ("fit_predict 7", lambda: LearnedLinkage().fit_predict(X, Y, 7), ValueError,
     "X[0]: n_clusters=7 is more than"),
    ("7.fit_predict", lambda: LearnedLinkage(n_clusters=7).fit_predict(X, Y),
     ValueError, "X[0]: n_clusters=7 is more than"),
    ("uneven", lambda: LearnedLinkage().fit_predict(X, second(Y, range(N))), ValueError,
     "n_clusters is needed: the training instances have from 2 to 6 classes"),

    ("no y", lambda: FITTED["points"].score(X), ValueError, "requires y to be passed"),
    ("three weights", lambda: score([1, 1, 1]), ValueError, "sample_weight must hold"),
    ("2-D weights", lambda: score([[1] * 4]), ValueError, "sample_weight must hold"),
    ("a weight", lambda: score(3), ValueError, "sample_weight must hold one weight"),
    ("negative", lambda: score([1, 1, -1, 1]), ValueError, "found -1.0 at index 2"),
    ("all zero", lambda: score([0] * 4), ValueError, "sample_weight must not be zero"),
    ("weight nan", lambda: score([1, 1, np.nan, 1]), ValueError, "nan at index 2"),
    ("weight inf", lambda: score([1, 1, np.inf, 1]), ValueError, "inf at index 2"),
    ("str", lambda: score(["a"] * 4), ValueError, "sample_weight: could not convert"),
    ("complex", lambda: score([1j] * 4), TypeError, "sample_weight: Expected real"),
    ("huge", lambda: score([HUGE] * 4), ValueError, "sample_weight: int too large"),
    ("fit: three weights", lambda: weighted([1, 1, 1]), ValueError,
     "instance_weight must hold one weight for each of the 4"),
    ("fit: negative", lambda: weighted([1, 1, -1, 1]), ValueError,
     "instance_weight must be finite and not negative, found -1.0 at index 2"),
    ("fit: all zero", lambda: weighted([0] * 4), ValueError, "instance_weight must"),
    ("fit: inf", lambda: weighted([1, 1, np.inf, 1]), ValueError, "inf at index 2"),
    ("fit: str", lambda: weighted("abcd"), ValueError, "instance_weight: could not"),
    ("fit: by rows", lambda: LearnedLinkage().fit(
        TABLE, LABELS, GROUPS, changed(np.ones(24), 13, 2)), ValueError,
     "instance_weight weights instances, so that it must be constant within each of "
     "them, but differs between rows of X[groups == 2]"),
    ("by rows", lambda: FITTED["points"].score(
        TABLE, LABELS, changed(np.ones(24), 13, 2), GROUPS), ValueError,
     "but differs between rows of X[groups == 2]"),

    ("features", lambda: FITTED["points"].predict(X[0][:, :1]), ValueError,
     "X: X has 1 features"),
    ("groups of matrices", lambda: FITTED["matrices"].predict(D[0], groups=[0] * N),
     ValueError, "groups cannot be combined with precomputed distances"),
    ("other loss", other_loss, ValueError, "loss='hamming'; set are now"),

    ("two n", lambda: matrices_of([D[0], D[1][:5, :5]]), ValueError, "X: The distance"),
    ("-", lambda: matrices_of([D[0], -D[0]]), ValueError, "X: metric 1: A precomputed"),
    ("nans", lambda: matrices_of(PAIRS[0] * np.nan), ValueError, "X: metric 0: Input"),
    ("4-D", lambda: matrices_of([PAIRS[0]]), ValueError, "X: Distances must have"),
    ("3 beta", lambda: matrices_of(PAIRS[0], beta=[1, 2, 3]), ValueError, "beta must"),
]  # fmt: skip

TREE = CLUSTERER.linkage_matrix_
# id, Z, error, words
BAD_TREES = [
    ("None", None, ValueError, "Z must have shape (n_points - 1, 4), got ()"),
    ("1-D", TREE[0], ValueError, "Z must have shape (n_points - 1, 4), got (4,)"),
    ("3 columns", TREE[:, :3], ValueError, "Z must have shape (n_points - 1, 4)"),
    ("str", [["a", 1, 1, 2]], ValueError, "Z: could not convert string"),
    ("ragged", [[0, 1, 1, 2], [3]], ValueError, "Z: Items must have the same length"),
    ("huge", [[HUGE] * 4] * 5, ValueError, "Z: int too large"),
    ("complex", TREE + 1j, TypeError, "Z: Expected real numbers, found complex ones"),
    ("nan", changed(TREE, (0, 0), np.nan), ValueError, "Z is not a linkage matrix"),
    ("fraction", changed(TREE, (0, 0), 0.5), ValueError, "Z is not a linkage matrix"),
    ("twice", np.tile(TREE[0], (5, 1)), ValueError, "Z is not a linkage matrix"),
    ("reversed", TREE[::-1], ValueError, "a cluster after its own row"),
]

IMAGE = np.zeros((4, 4, 3))
pairwise, strokes, colours = (
    metrics.pairwise,
    metrics.stroke_distances,
    metrics.hsv_histogram,
)
# Functions of metrics: id, call, error, words.
BAD_OBJECTS = [
    ("no objects", lambda: pairwise([], max), ValueError, "objects is empty"),
    ("objects None", lambda: pairwise(None, max), TypeError, "objects: 'NoneType'"),
    ("no metric", lambda: pairwise("abc", []), ValueError, "metric is empty"),
    ("metric None", lambda: pairwise("abc", None), TypeError, "metric must be a"),
    ("metric str", lambda: pairwise("abc", "l1"), TypeError, "metric must be a"),
    ("metric[1]", lambda: pairwise("abc", [max, 3]), TypeError, "metric[1] is 3"),
    ("no strokes", lambda: strokes([]), ValueError, "trajectories is empty"),
    ("strokes None", lambda: strokes(None), TypeError, "trajectories: 'NoneType'"),
    ("stroke in 3-D", lambda: strokes([X[0], X[0], np.zeros((3, 3))]), ValueError,
     "trajectories[2]: Found points of 3 dimensions, those of trajectories[0] have 2"),
    ("far away", lambda: strokes([X[0], X[0], 1e200 * X[0]]), ValueError,
     "The distance of trajectories[0] and trajectories[2] overflows"),
    ("b", lambda: metrics.stroke_distance(X[0], None), TypeError, "b: Expected an"),
    ("no images", lambda: colours([]), ValueError, "images is empty"),
    ("0 images", lambda: colours(np.zeros((0, 4, 4, 3))), ValueError, "images: At"),
    ("images None", lambda: colours(None), TypeError, "images: 'NoneType'"),
    ("2-D image", lambda: colours(IMAGE[0]), ValueError, "images: An image must have"),
    ("4 colours", lambda: colours(np.zeros((4, 4, 4))), ValueError, "images: An image"),
    ("ints", lambda: colours(IMAGE.astype(int)), ValueError, "images: Colours must be"),
    ("bright", lambda: colours(IMAGE + 2), ValueError, "images: Colours that are"),
    ("images[2]", lambda: colours([IMAGE, IMAGE, IMAGE * np.nan]), ValueError,
     "images[2]: Colours that are floats must lie between 0 and 1"),
    *[(f"bins {bins}", partial(colours, IMAGE, bins), ValueError, "bins must be three")
      for bins in [None, 8, (8, 2), (8, 0, 4), (8, 2.0, 4), "abc"]],
]  # fmt: skip

CURVE = PiecewiseConstant([0, 0.5, 1], [1, 2])
curve_of = partial(PiecewiseConstant, [0, 0.5, 1])
mean = partial(PiecewiseConstant.mean, [CURVE, CURVE])
# breakpoints, words; all a ValueError
BAD_BREAKPOINTS = [
    (None, "breakpoints must be a 1-D array of at least two numbers"),
    ([], "breakpoints must be a 1-D array of at least two numbers"),
    ([0.0], "breakpoints must be a 1-D array of at least two numbers"),
    ([[0, 1]], "breakpoints must be a 1-D array of at least two numbers"),
    ([0.1, 1], "breakpoints must begin at 0 and end at 1, got 0.1 and 1.0"),
    ([0, 0.5], "breakpoints must begin at 0 and end at 1, got 0.0 and 0.5"),
    ([0, 0.5, 0.5, 1], "must increase strictly, got 0.5 before 0.5 at index 1"),
    ([0, 0.7, 0.3, 1], "must increase strictly, got 0.7 before 0.3 at index 1"),
    ([0, np.nan, 1], "breakpoints must increase strictly"),
    (["a", 1], "breakpoints: could not convert string"),
    ([0, [1]], "breakpoints: Items must have the same length"),
]
# id, call, error, words
BAD_CURVES = [
    ("no values", lambda: curve_of([]), ValueError, "values must have one number for"),
    ("3 values", lambda: curve_of([1, 2, 3]), ValueError, "values must have one"),
    ("value nan", lambda: curve_of([1, np.nan]), ValueError, "values must be finite"),
    ("value inf", lambda: curve_of([np.inf, 1]), ValueError, "got inf at index 0"),
    ("value str", lambda: curve_of(["a", 1]), ValueError, "values: could not convert"),
    ("value complex", lambda: curve_of([1j, 1]), TypeError, "values: Expected real"),
    ("value huge", lambda: curve_of([HUGE, 1]), ValueError, "values: int too large"),
    ("1 lower", lambda: curve_of([1, 2], [1]), ValueError, "lower must have one"),
    ("lower nan", lambda: curve_of([1, 2], [1, np.nan]), ValueError, "lower must be"),
    ("lower", lambda: curve_of([1, 2], [1, 3]), ValueError, "lower[1] = 3.0 exceeds"),
    ("t < 0", lambda: CURVE(-1e-300), ValueError, "t must lie in [0, 1], got -1e-300"),
    ("t > 1", lambda: CURVE([0.5, 1.5]), ValueError, "t must lie in [0, 1], got 1.5"),
    ("t nan", lambda: CURVE(np.nan), ValueError, "t must lie in [0, 1], got nan"),
    ("t inf", lambda: CURVE(np.inf), ValueError, "t must lie in [0, 1], got inf"),
    ("t str", lambda: CURVE("a"), ValueError, "t: could not convert string"),
    ("a > b", lambda: CURVE.integral(0.6, 0.5), ValueError, "a <= b <= 1, got a=0.6"),
    ("a < 0", lambda: CURVE.integral(-0.1), ValueError, "Expected 0 <= a <= b <= 1"),
    ("b > 1", lambda: CURVE.integral(0, 1.1), ValueError, "Expected 0 <= a <= b <= 1"),
    ("a nan", lambda: CURVE.integral(np.nan), ValueError, "Expected 0 <= a <= b <= 1"),
    ("a None", lambda: CURVE.integral(None), TypeError, "a: float() argument"),
    ("tol", lambda: CURVE.argmin_intervals(-1), ValueError, "tol must not be negative"),
    ("nan", lambda: widest_optimal_interval(CURVE, np.nan), ValueError, "tol must not"),
    ("tol list", lambda: CURVE.argmin_intervals([1]), TypeError, "tol: float()"),
    ("no curve", lambda: widest_optimal_interval(3), TypeError, "curve must be a"),
    ("no curves", lambda: PiecewiseConstant.mean([]), ValueError, "curves is empty"),
    ("1 curve", lambda: PiecewiseConstant.mean(CURVE), TypeError, "curves: "),
    ("3", lambda: PiecewiseConstant.sum([CURVE, 3]), TypeError, "curves[1] must be a"),
    ("1 weight", lambda: mean([1]), ValueError, "weights must have one number for"),
    ("2-D", lambda: mean([[1, 1]]), ValueError, "weights must have one number for"),
    ("negative", lambda: mean([1, -1]), ValueError, "weights must be finite"),
    ("all zero", lambda: mean([0, 0]), ValueError, "weights must be finite"),
    ("weight nan", lambda: mean([1, np.nan]), ValueError, "weights must be finite"),
    ("weight inf", lambda: mean([1, np.inf]), ValueError, "weights must be finite"),
    ("weight str", lambda: mean(["a", "b"]), ValueError, "weights: could not convert"),
    ("+ 1", lambda: CURVE + 1, TypeError, "unsupported operand"),
    ("* str", lambda: CURVE * "a", TypeError, "multiply"),
    ("* array", lambda: np.arange(3.0) * CURVE, TypeError, "unsupported operand"),
    ("* inf", lambda: CURVE * np.inf, ValueError, "values must be finite, got inf"),
    ("* 1e308", lambda: 1e308 * CURVE, ValueError, "values must be finite, got inf"),
    ("+ 1e308", lambda: 8e307 * CURVE + 8e307 * CURVE, ValueError, "must be finite"),
]

display = LossCurveDisplay.from_estimator
BAD_PLOTS = [
    ("None", lambda: display(None), TypeError, "estimator must be a fitted learner"),
    ("class", lambda: display(LearnedLinkage), TypeError, "estimator must be a fitted"),
    ("not fitted", lambda: display(LearnedLinkage()), NotFittedError, "no loss curve"),
    ("clusterer", lambda: display(CLUSTERER), NotFittedError,
     "This InterpolatedLinkage has no loss curve: learners have, after fit"),
    *[(f"band {band}", partial(display, FITTED["points"], band=band), ValueError,
       "band")
      for band in [0.5, (0.5,), (-1, 2), (0.75, 0.25), (np.nan, 0.5), "ab"]],
]  # fmt: skip
# function, parameter, value; all a ValueError
BAD_SAMPLES = [
    (make_rings_and_disks, "n_instances", 0),
    (make_rings_and_disks, "n_instances", 1.5),
    (make_rings_and_disks, "n_per_cluster", 0),
    (make_rings_and_disks, "random_state", "a"),
    (make_digits_instances, "n_instances", -1),
    (make_digits_instances, "n_classes", 11),
    (make_digits_instances, "n_per_class", 0),
    (make_digits_instances, "n_per_class", 175),
    (make_digits_instances, "random_state", -1),
]
# words of the command line, words of the message
BAD_ARGUMENTS = [
    (["--instances", "0"], "--instances: '0' is not a positive integer"),
    (["--instances", "-3"], "--instances: '-3' is not a positive integer"),
    (["--instances", "many"], "--instances: 'many' is not a positive integer"),
    (["--n-jobs", "0"], "--n-jobs: '0' is not a positive or negative integer"),
    (["--n-jobs", "1.5"], "--n-jobs: '1.5' is not a positive or negative integer"),
    (["--out", "no such place/a.png"], "--out: there is no directory 'no such place'"),
    (["--out", "plot.doc"], "--out: 'plot.doc' does not end in .png"),
    (["--what"], "--what"),
    (["what"], "what"),
]

LOSSES = losses.LOSSES

# What can only be found later.

# Distances of X[2] that are none; a ValueError: metric, X[2], words.
BAD_DISTANCES = [
    ("cosine", changed(X[2], 3, 0), "metric 'cosine' gives nan between points 0 and 3"),
    ("braycurtis", np.zeros((N, 2)), "metric 'braycurtis' gives nan"),
    ("mahalanobis", np.ones((N, 2)), "metric 'mahalanobis'"),
    (
        "sqeuclidean",
        1e200 * X[2],
        "metric 'sqeuclidean' gives inf between points 0 and 1",
    ),
    ("l1", np.outer([0, 1e-200, 1e200, 1, 2, 3], [1, 1]), "distances span from"),
]
# id, a metric, error, words
BAD_METRICS = [
    ("nan", lambda u, v: np.nan, ValueError, "gives nan between points 0 and 1"),
    ("None", lambda u, v: None, ValueError, "gives nan between points 0 and 1"),
    ("negative", lambda u, v: -1.0, ValueError, "gives -1.0 between points 0 and 1"),
    ("inf", lambda u, v: np.inf, ValueError, "gives inf between points 0 and 1"),
    ("str", lambda u, v: "a", ValueError, "could not convert string"),
    ("array", lambda u, v: np.zeros(2), NUMERIC, ""),
    ("complex", lambda u, v: 1j, TypeError, "complex"),
    ("huge", lambda u, v: HUGE, ValueError, "too large"),
    ("ValueError", lambda u, v: int("x"), ValueError, "invalid literal"),
    ("TypeError", lambda u: 0.0, TypeError, "positional argument"),
]
# id, a loss, error, words
BAD_LOSSES = [
    ("nan", lambda Z, y: np.nan, ValueError, "It returned nan, expected a finite"),
    ("inf", lambda Z, y: np.inf, ValueError, "It returned inf, expected a finite"),
    ("None", lambda Z, y: None, ValueError, "It returned None, expected a finite"),
    ("str", lambda Z, y: "0.5", ValueError, "It returned '0.5', expected a finite"),
    ("array", lambda Z, y: np.zeros(2), ValueError, "It returned array([0., 0.])"),
    ("complex", lambda Z, y: 1j, ValueError, "It returned 1j, expected a finite"),
    ("huge", lambda Z, y: HUGE, ValueError, "too large"),
    ("ValueError", lambda Z, y: int("x"), ValueError, "invalid literal"),
    ("TypeError", lambda Z: 0.0, TypeError, "positional argument"),
]
