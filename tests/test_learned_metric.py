from functools import partial

import numpy as np
import pandas as pd
import pytest
from learners import learned, midpoints
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_linkage_learn import (
    InterpolatedLinkage,
    LearnedMetricLinkage,
    PiecewiseConstant,
    _learned_metric,
)
from sklearn_linkage_learn.losses import hamming_loss
from sklearn_linkage_learn.metrics import pairwise

LINKAGES = ("single", "complete", "average", "ward")
NORMALIZE = (None, "mean", "max", "instance_max")
NAMES = ["x0", "x1", "x2", "x3"]


def make_tables(n_instances=3, n=12, seed=0):
    """Two classes that either of two blocks of columns tells apart badly."""
    rng = np.random.default_rng(seed)
    y = [rng.integers(0, 2, size=n + i) for i in range(n_instances)]
    return [rng.normal(size=(len(c), 4)) + c[:, None] for c in y], y


def make_grids(n_instances=3, n=10, seed=0):
    """Places on two small grids: many ties, and metrics of different units."""
    rng = np.random.default_rng(seed)
    tables = [
        rng.integers(0, 3, size=(n, 4)) * np.repeat([1.0, 7.0 + i], 2)
        for i in range(n_instances)
    ]
    return tables, [rng.integers(0, 2, size=n) for _ in range(n_instances)]


TABLES, CLASSES = make_tables()
BLOCKS = (("left", "euclidean", [0, 1]), ("right", "euclidean", slice(2, 4)))


@pytest.fixture
def engine_calls(monkeypatch):
    """The instances that an engine was called for, by number of pairs."""
    calls = []

    def counted(distances, *args):
        calls.append(distances.shape[-1])
        return real(distances, *args)

    real = _learned_metric.metric_curve
    monkeypatch.setattr(_learned_metric, "metric_curve", counted)
    return calls


def matrices_of(tables, metrics=BLOCKS):
    """The same instances with precomputed distances."""
    return [
        np.stack([squareform(pdist(x[:, columns], m)) for _, m, columns in metrics])
        for x in tables
    ]


@pytest.mark.parametrize("normalize", NORMALIZE)
@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize(
    "instances", [(TABLES, CLASSES), make_grids()], ids=["points", "tied points"]
)
def test_curves_hold_the_loss_of_the_clusterer_at_every_midpoint(
    instances, linkage, normalize
):
    learner = LearnedMetricLinkage(BLOCKS, linkage=linkage, normalize=normalize)
    learner.fit(*instances)
    assert learner.loss_curve_.n_pieces > 1
    for points, labels, curve in zip(*instances, learner.instance_curves_, strict=True):
        # The promise leaves out what is next to a breakpoint.
        for beta in midpoints(curve)[np.diff(curve.breakpoints) > 1e-11]:
            clusterer = clone(learner.clusterer_).set_params(beta=beta)
            loss = hamming_loss(clusterer.fit(points).linkage_matrix_, labels)
            assert curve(beta) == pytest.approx(loss, abs=1e-15)


@pytest.mark.parametrize("algorithm", ["auto", "kinetic", "execution_tree"])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_every_engine_serves_every_linkage(linkage, algorithm):
    learner = LearnedMetricLinkage(BLOCKS, linkage=linkage, algorithm=algorithm)
    learner.fit(TABLES[:1], CLASSES[:1])
    assert learner.algorithm_ == ("kinetic" if algorithm == "auto" else algorithm)
    other = LearnedMetricLinkage(BLOCKS, linkage=linkage).fit(TABLES[:1], CLASSES[:1])
    at = midpoints(other.loss_curve_)
    np.testing.assert_allclose(learner.loss_curve_(at), other.loss_curve_(at))


@pytest.mark.parametrize("normalize", NORMALIZE)
def test_blocks_of_columns_are_learned_like_their_distances(normalize):
    options = {"normalize": normalize, "linkage": "average"}
    learner = LearnedMetricLinkage(BLOCKS, **options).fit(TABLES, CLASSES)
    matrices = matrices_of(TABLES)
    other = LearnedMetricLinkage("precomputed", **options).fit(matrices, CLASSES)
    assert learned(other) == learned(learner)
    assert not hasattr(other, "n_features_in_")
    assert learner.n_features_in_ == 4
    for one, two in zip(learner.predict(TABLES), other.predict(matrices), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(
        learner.linkage_matrix(TABLES[0]), other.linkage_matrix(matrices[0])
    )
    np.testing.assert_array_equal(
        other.clusterer_.fit_predict(matrices[0]), learner.predict(TABLES[0])
    )
    assert other.score(matrices, CLASSES) == learner.score(TABLES, CLASSES)
    with pytest.raises(ValueError, match=r"X\[1\]: n_clusters=14 is more"):
        other.predict(matrices, n_clusters=[12, 14, 14])


def test_forms_of_precomputed_instances_are_learned_alike():
    matrices = matrices_of([x[:12] for x in TABLES])
    labels = [y[:12] for y in CLASSES]
    make = partial(LearnedMetricLinkage, "precomputed")
    expected = learned(make().fit(matrices, labels))
    for form in (np.stack(matrices), [tuple(m) for m in matrices], tuple(matrices)):
        assert learned(make().fit(form, labels)) == expected
    one = learned(make().fit(matrices[:1], labels[:1]))
    for form in (matrices[0], list(matrices[0]), tuple(matrices[0])):
        assert learned(make().fit(form, labels[0])) == one
        assert make().fit(form, labels[0]).predict(form).shape == (12,)


def test_columns_may_be_named():
    frames = [pd.DataFrame(x, columns=NAMES) for x in TABLES]
    named = [("a", "euclidean", ["x0", "x1"]), ("b", "euclidean", ["x2", "x3"])]
    learner = LearnedMetricLinkage(named).fit(frames, CLASSES)
    expected = LearnedMetricLinkage(BLOCKS).fit(TABLES, CLASSES)
    assert learned(learner) == learned(expected)
    assert learner.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(
        learner.clusterer_.fit_predict(frames[0]), expected.predict(TABLES[0])
    )
    assert learned(learner.partial_fit(frames[0], CLASSES[0])) == learned(
        expected.partial_fit(TABLES[0], CLASSES[0])
    )
    table, groups = pd.concat(frames), np.repeat([0, 1, 2], list(map(len, frames)))
    stacked = LearnedMetricLinkage(named).fit(table, np.concatenate(CLASSES), groups)
    assert stacked.loss_curve_ == LearnedMetricLinkage(BLOCKS).fit(
        TABLES, CLASSES
    ).loss_curve_  # fmt: skip


def test_metrics_may_be_callables_on_rows_and_blocks():
    def cityblock(u, v):
        return np.abs(u - v).sum()

    named = LearnedMetricLinkage(["l2", ("b", "l1", [1, 2])]).fit(TABLES, CLASSES)
    called = LearnedMetricLinkage(["l2", ("b", cityblock, [1, 2])]).fit(TABLES, CLASSES)
    assert called.beta_ == pytest.approx(named.beta_)
    np.testing.assert_array_equal(called.predict(TABLES[0]), named.predict(TABLES[0]))


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, start=1):
        last, row[0] = row[0], i
        for j, other in enumerate(b, start=1):
            last, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, last + (letter != other)),
            )
    return row[-1]


def letters_apart(a, b):
    return 1 - len(set(a) & set(b)) / len(set(a) | set(b))


def test_strings_are_learned_by_their_distances():
    words = [
        ["night", "nacht", "notte", "noche", "water", "wasser", "watter"],
        ["milk", "milch", "melk", "moon", "mond", "maan", "moan"],
    ]
    labels = [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1]]
    instances = [pairwise(one, [edit_distance, letters_apart]) for one in words]
    assert instances[0][0, 0, 1] == 2
    learner = LearnedMetricLinkage("precomputed", normalize="max")
    learner.fit(instances, labels)
    assert learner.scales_ == (6, 1)
    assert learner.loss_ < 0.2
    new = pairwise(["tree", "trees", "free", "stone", "stones"], edit_distance)
    with pytest.raises(ValueError, match=r"2 distance matrices.* found shape \(5, 5\)"):
        learner.predict(new)
    # As the first step of a pipeline, distances need no hand that computes them.
    pipeline = make_pipeline(
        FunctionTransformer(partial(pairwise, metric=[edit_distance, letters_apart])),
        clone(learner.clusterer_),
    )
    found = pipeline.fit_predict(["tree", "trees", "free", "stone", "stones"])
    np.testing.assert_array_equal(found, [0, 0, 0, 1, 1])


def test_scales_are_those_of_the_training_instances():
    distances = [[pdist(x[:, [0, 1]]), pdist(x[:, [2, 3]])] for x in TABLES]
    mean = np.mean([[d.mean() for d in pair] for pair in distances], axis=0)
    largest = np.max([[d.max() for d in pair] for pair in distances], axis=0)
    for normalize, expected in [("mean", mean), ("max", largest)]:
        learner = LearnedMetricLinkage(BLOCKS, normalize=normalize)
        learner.fit(TABLES, CLASSES)
        np.testing.assert_allclose(learner.scales_, expected, rtol=1e-15)
        # New instances, though of another size, are divided by the same numbers.
        new = 3 * make_tables(seed=5)[0][0]
        matrix = matrices_of([new])[0] / expected[:, None, None]
        clusterer = InterpolatedLinkage(metric="precomputed", beta=learner.beta_)
        np.testing.assert_allclose(
            learner.linkage_matrix(new), clusterer.fit(matrix).linkage_matrix_
        )
        assert learner.clusterer_.scale == learner.scales_
    for normalize in (None, "instance_max"):
        learner = LearnedMetricLinkage(BLOCKS, normalize=normalize)
        assert learner.fit(TABLES, CLASSES).scales_ is None


@pytest.mark.parametrize("linkage", LINKAGES)
def test_common_scales_rename_the_algorithms_and_keep_the_least_loss(linkage):
    plain = LearnedMetricLinkage(BLOCKS, linkage=linkage).fit(TABLES, CLASSES)
    for normalize in ("mean", "max"):
        learner = LearnedMetricLinkage(BLOCKS, linkage=linkage, normalize=normalize)
        learner.fit(TABLES, CLASSES)
        assert learner.loss_ == plain.loss_
        scales = np.square(learner.scales_) if linkage == "ward" else learner.scales_
        for ours, theirs in zip(
            learner.instance_curves_, plain.instance_curves_, strict=True
        ):
            np.testing.assert_array_equal(ours.values, theirs.values)
            second = ours.breakpoints / scales[1]
            first = (1 - ours.breakpoints) / scales[0]
            np.testing.assert_allclose(
                second / (first + second), theirs.breakpoints, rtol=0, atol=1e-15
            )


@pytest.mark.parametrize("normalize", ["mean", "max", "instance_max"])
@pytest.mark.parametrize("unit", [2.0**40, 1e-3, 1e9])
def test_normalized_ward_has_no_units(normalize, unit):
    other_units = [table * [1, 1, unit, unit] for table in TABLES]
    make = partial(LearnedMetricLinkage, BLOCKS, linkage="ward", normalize=normalize)
    expected, learner = make().fit(TABLES, CLASSES), make().fit(other_units, CLASSES)
    for ours, theirs in zip(
        learner.instance_curves_, expected.instance_curves_, strict=True
    ):
        np.testing.assert_array_equal(ours.values, theirs.values)
        np.testing.assert_allclose(
            ours.breakpoints, theirs.breakpoints, rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("normalize", ["mean", "max", "instance_max"])
@pytest.mark.parametrize("unit", [2.0**40, 1e-3, 1e9, 1e-150, 1e140])
def test_normalized_metrics_have_no_units(normalize, unit):
    matrices = matrices_of(TABLES)
    other_units = [np.stack([m[0], unit * m[1]]) for m in matrices]
    make = partial(LearnedMetricLinkage, "precomputed", normalize=normalize)
    expected, learner = make().fit(matrices, CLASSES), make().fit(other_units, CLASSES)
    for ours, theirs in zip(
        learner.instance_curves_, expected.instance_curves_, strict=True
    ):
        np.testing.assert_array_equal(ours.values, theirs.values)
        np.testing.assert_allclose(
            ours.breakpoints, theirs.breakpoints, rtol=0, atol=1e-12
        )
    for one, two in zip(
        learner.predict(other_units), expected.predict(matrices), strict=True
    ):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(
        learner.linkage_matrix(other_units[0]), expected.linkage_matrix(matrices[0])
    )


def test_each_instance_may_have_its_own_units():
    units = np.array([[2.0, 8.0], [0.5, 4.0], [64.0, 1.0]])
    matrices = matrices_of(TABLES)
    other = [m * u[:, None, None] for m, u in zip(matrices, units, strict=True)]

    def fit(normalize, instances):
        learner = LearnedMetricLinkage("precomputed", normalize=normalize)
        return learner.fit(instances, CLASSES)

    assert learned(fit("instance_max", other)) == learned(fit("instance_max", matrices))
    assert fit("mean", other).loss_curve_ != fit("mean", matrices).loss_curve_
    learner = fit("instance_max", matrices)
    assert learner.clusterer_.scale == "max"
    largest = matrices[0].max(axis=(1, 2), keepdims=True)
    clusterer = InterpolatedLinkage(metric="precomputed", beta=learner.beta_)
    np.testing.assert_allclose(
        learner.linkage_matrix(other[0]),
        clusterer.fit(matrices[0] / largest).linkage_matrix_,
    )


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("normalize", NORMALIZE)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1)])
def test_partial_fit_decides_on_scales_as_one_fit_does(
    normalize, linkage, sizes, engine_calls
):
    # Later instances move the scales by orders of magnitude.
    tables = [100.0**i * x for i, x in enumerate(TABLES)]
    make = partial(LearnedMetricLinkage, BLOCKS, linkage=linkage, normalize=normalize)
    expected = make().fit(tables, CLASSES)
    engine_calls.clear()
    learner, start = make(), 0
    for size in sizes:
        part = slice(start, start + size)
        learner.partial_fit(tables[part], CLASSES[part])
        start += size
    assert learned(learner) == learned(expected)
    assert learner.clusterer_.get_params() == expected.clusterer_.get_params()
    assert len(engine_calls) == len(tables)


def test_memory_serves_all_common_scales(tmp_path, engine_calls):
    make = partial(LearnedMetricLinkage, BLOCKS, memory=str(tmp_path))
    make(normalize="mean").fit(TABLES, CLASSES)
    assert len(engine_calls) == 3
    make(normalize="max").fit(TABLES[:2], CLASSES[:2])
    make(normalize="instance_max").fit(TABLES, CLASSES)
    assert len(engine_calls) == 3
    make(normalize="mean", linkage="single").fit(TABLES[:1], CLASSES[:1])
    make(normalize="mean").fit([x[:, ::-1] for x in TABLES[:1]], CLASSES[:1])
    assert len(engine_calls) == 5


def test_partial_fit_refuses_another_family_but_not_another_spelling():
    learner = LearnedMetricLinkage(BLOCKS).fit(TABLES[:1], CLASSES[:1])
    mask = np.array([True, True, False, False])
    learner.set_params(metrics=[("l", "euclidean", mask), ("r", "euclidean", [2, -1])])
    learner.partial_fit(TABLES[1], CLASSES[1])
    for params in (
        {"metrics": BLOCKS[::-1]},
        {"metrics": ("euclidean", "cosine")},
        {"metrics": "precomputed"},
        {"linkage": "average"},
        {"normalize": "mean"},
        {"loss": "ari"},
    ):
        other = clone(learner).set_params(metrics=BLOCKS).fit(TABLES[:1], CLASSES[:1])
        before = vars(other.set_params(**params)).copy()
        with pytest.raises(ValueError, match=r"linkage='complete', normalize=None, l"):
            other.partial_fit(TABLES[1], CLASSES[1])
        assert vars(other) == before

    learner = LearnedMetricLinkage("precomputed")
    learner.fit(matrices_of(TABLES), CLASSES).set_params(metrics=BLOCKS)
    with pytest.raises(ValueError, match="another family"):
        learner.partial_fit(TABLES, CLASSES)


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("normalize", NORMALIZE)
@pytest.mark.parametrize(
    ("points", "labels", "loss"),
    [
        ([[1.0, 2.0]], [3], 0),
        ([[1.0, 2.0], [3.0, 4.0]], [0, 0], 0),
        ([[1.0, 2.0], [3.0, 4.0]], [0, 1], 0),
        (np.outer(np.arange(5.0), [1, 0]), np.zeros(5), 0),
        (np.outer(np.arange(5.0), [1, 2]), np.arange(5), 0),
        (np.ones((4, 2)), [0, 0, 1, 1], 0.25),
    ],
    ids=["one point", "two points", "two classes", "one class", "all apart", "equal"],
)
def test_smallest_instances_are_learned(linkage, normalize, points, labels, loss):
    metrics = [("a", "euclidean", 0), ("b", "euclidean", 1)]
    learner = LearnedMetricLinkage(metrics, linkage=linkage, normalize=normalize)
    learner.fit(points, labels)
    assert learner.loss_curve_ == PiecewiseConstant([0, 1], [loss])
    assert learner.score(points, labels) == 1 - learner.loss_
    assert learner.beta_ == 0.5
    assert learner.predict(points).shape == (len(points),)
    assert learner.clusterer_.fit_predict(points).shape == (len(points),)


def test_a_metric_that_is_zero_is_left_as_it_is():
    tables = [x * [1, 1, 0, 0] for x in TABLES]
    plain = LearnedMetricLinkage(BLOCKS).fit(tables, CLASSES)
    for normalize in ("mean", "max", "instance_max"):
        learner = LearnedMetricLinkage(BLOCKS, normalize=normalize)
        learner.fit(tables, CLASSES)
        assert learner.loss_curve_ == plain.loss_curve_
        if learner.scales_ is not None:
            assert learner.scales_[1] == 1
    # An instance without any distance has no say in the scales.
    one = LearnedMetricLinkage(BLOCKS, normalize="mean").fit(TABLES, CLASSES)
    more = LearnedMetricLinkage(BLOCKS, normalize="mean")
    more.fit([*TABLES, TABLES[0][:1]], [*CLASSES, [0]])
    assert more.scales_ == one.scales_


def test_learned_clusterer_has_the_learned_parameters():
    learner = LearnedMetricLinkage(BLOCKS, linkage="average", normalize="mean")
    clusterer = learner.fit(TABLES, CLASSES).clusterer_
    assert clusterer.linkages == "average"
    assert clusterer.metric is BLOCKS
    assert (clusterer.beta, clusterer.scale) == (learner.beta_, learner.scales_)
