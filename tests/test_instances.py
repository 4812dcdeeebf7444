import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import squareform

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn._instances import read_instances, read_metrics_input


def make_collection(sizes=(4, 4, 4), n_features=2, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n, n_features)) for n in sizes]
    return X, [rng.integers(0, 2, size=n) for n in sizes]


def read(X, y=None, **options):
    return read_instances(LearnedLinkage(), X, y, **options)


def assert_same(instances, X, y=None):
    assert len(instances) == len(X)
    for points, expected in zip(instances.points, X, strict=True):
        np.testing.assert_array_equal(points, expected)
        assert points.dtype == np.float64
        assert points.flags.c_contiguous
    if y is not None:
        for labels, expected in zip(instances.labels, y, strict=True):
            np.testing.assert_array_equal(labels, expected)


def object_array(items):
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        np.stack,
        object_array,
        lambda X: np.stack(X).astype(object),
        lambda X: [x.tolist() for x in X],
        lambda X: np.stack(X).tolist(),
        lambda X: [np.asfortranarray(x) for x in X],
        lambda X: [pd.DataFrame(x, columns=["a", "b"]) for x in X],
    ],
    ids=[
        "list",
        "tuple",
        "3-D",
        "object",
        "3-D object",
        "list of lists",
        "nested list",
        "fortran",
        "frames",
    ],
)
def test_forms_of_a_collection_are_read_alike(form):
    X, y = make_collection()
    instances = read(form(X), y, labelled=True)
    assert_same(instances, X, y)
    assert not instances.single
    assert instances.names == ["X[0]", "X[1]", "X[2]"]


@pytest.mark.parametrize("form", [list, tuple, object_array, np.stack])
def test_forms_of_the_labels_of_a_collection_are_read_alike(form):
    X, y = make_collection()
    assert_same(read(X, form(y), labelled=True), X, y)


def test_instances_of_a_list_and_an_object_array_may_differ_in_length():
    X, y = make_collection(sizes=(1, 5, 2))
    assert_same(read(X, y, labelled=True), X, y)
    assert_same(read(object_array(X), object_array(y), labelled=True), X, y)


@pytest.mark.parametrize(
    "form",
    [np.asarray, np.ndarray.tolist, pd.DataFrame, lambda x: x.astype(object), tuple],
)
def test_one_table_is_one_instance(form):
    X, y = make_collection(sizes=(5,))
    instances = read(form(X[0]), y[0], labelled=True)
    assert_same(instances, X, y)
    assert instances.single


def test_a_list_of_one_instance_is_a_collection():
    X, y = make_collection(sizes=(5,))
    assert not read(X, y, labelled=True).single


def test_groups_cut_a_table_into_instances_ordered_by_first_row():
    X, y = make_collection(sizes=(2, 3, 1))
    table, labels = np.concatenate(X), np.concatenate(y)
    groups = np.array(["z", "z", "a", "a", "a", "m"])
    instances = read(table, labels, labelled=True, groups=groups)
    assert_same(instances, X, y)
    assert instances.names[1] == "X[groups == 'a']"

    shuffled = np.random.default_rng(1).permutation(len(table))
    instances = read(
        table[shuffled], labels[shuffled], labelled=True, groups=groups[shuffled]
    )
    np.testing.assert_array_equal(
        instances.like_input([points[:, 0] for points in instances.points]),
        table[shuffled, 0],
    )


def test_results_take_the_form_of_the_input():
    X, _ = make_collection(sizes=(2, 3))
    results = [np.arange(2), np.arange(3)]
    assert read(X).like_input(results) is results
    assert read(X[0]).like_input(results[:1]) is results[0]
    stacked = read(np.concatenate(X), groups=[0, 1, 1, 0, 1])
    np.testing.assert_array_equal(stacked.like_input(results), [0, 0, 1, 1, 2])


def test_reading_sets_and_checks_features():
    X, _ = make_collection()
    learner = LearnedLinkage()
    frames = [pd.DataFrame(x, columns=["a", "b"]) for x in X]
    read_instances(learner, frames)
    assert learner.n_features_in_ == 2
    assert learner.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match=r"X\[1\]: The feature names should match"):
        read_instances(learner, [frames[0], frames[1][["b", "a"]]], reset=False)

    read_instances(learner, [np.zeros((2, 2))], n_matrices=1)
    assert not hasattr(learner, "n_features_in_")
    assert not hasattr(learner, "feature_names_in_")


D2, D3 = 1 - np.eye(2), 1 - np.eye(3)


def test_one_and_two_points_are_instances():
    X, y = make_collection(sizes=(1, 2))
    assert_same(read(X, y, labelled=True), X, y)
    [matrix] = read([[[0.0]]], n_matrices=1).points
    assert matrix.shape == (1, 1)


def test_a_precomputed_matrix_may_be_symmetric_up_to_rounding():
    matrix = np.array([[0.0, 0.3], [0.1 + 0.2, 1e-17]])
    [points] = read([matrix], n_matrices=1).points
    np.testing.assert_array_equal(points, matrix)


def test_a_single_run_reads_one_or_several_matrices():
    matrices = np.zeros((3, 2, 2))
    learner = LearnedLinkage()
    assert len(read_metrics_input(learner, matrices[0], precomputed=True)) == 1
    for form in (matrices, list(matrices), matrices.tolist()):
        read = read_metrics_input(learner, form, precomputed=True)
        np.testing.assert_array_equal(read, matrices)


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        np.stack,
        object_array,
        lambda X: np.stack(X).tolist(),
        lambda X: [tuple(x) for x in X],
        lambda X: [[matrix.tolist() for matrix in x] for x in X],
        lambda X: object_array([list(x) for x in X]),
    ],
)
def test_forms_of_a_collection_of_two_matrices_each_are_read_alike(form):
    X = [np.array([squareform(np.arange(1.0, 4) + i), D3]) for i in range(3)]
    y = [[0, 1, 1]] * 3
    instances = read(form(X), y, labelled=True, n_matrices=2)
    assert_same(instances, X, y)
    assert not instances.single
    assert instances.sizes == [3, 3, 3]


@pytest.mark.parametrize("form", [np.stack, list, tuple, object_array])
def test_two_matrices_are_one_instance(form):
    instances = read(form([D3, 2 * D3]), [0, 1, 1], labelled=True, n_matrices=2)
    assert_same(instances, [np.stack([D3, 2 * D3])])
    assert instances.single
    assert instances.sizes == [3]


def test_instances_of_two_matrices_may_differ_in_size():
    instances = read([[D2, D2], np.stack([D3, D3])], n_matrices=2)
    assert instances.sizes == [2, 3]
    np.testing.assert_array_equal(instances.weights("w", [1, 2]), [1, 2])
    assert_same(instances, [np.stack([D2, D2]), np.stack([D3, D3])])


def test_weights_are_those_of_instances():
    X, _ = make_collection(sizes=(2, 3))
    np.testing.assert_array_equal(read(X).weights("w", [1, 2]), [1, 2])
    np.testing.assert_array_equal(read(X).weights("w", None), [1, 1])
    stacked = read(np.concatenate(X), groups=[5, 5, 4, 4, 4])
    np.testing.assert_array_equal(stacked.weights("w", [1, 1, 2, 2, 2]), [1, 2])
    np.testing.assert_array_equal(stacked.weights("w", [1, 2]), [1, 2])
    np.testing.assert_array_equal(read(X[1]).weights("w", [3, 3, 3]), [3])
