"""What experiments draw instances from, and how these are compared."""

from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_digits

from sklearn_linkage_learn.datasets import PAPER_SETTINGS, _images
from sklearn_linkage_learn.experiments import _sources
from sklearn_linkage_learn.experiments._experiment import Experiment
from sklearn_linkage_learn.experiments._sources import SOURCES, open_source
from sklearn_linkage_learn.metrics import stroke_distances


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files with just enough points to draw instances from."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.RandomState(0)

    def photographs(n_classes, n_each):
        n = n_classes * n_each
        return {
            "features": rng.normal(size=(n, 6)).astype(np.float16),
            "hsv": rng.randint(1, 99, size=(n, 64)).astype(np.uint16),
            "labels": np.repeat(np.arange(n_classes), n_each).astype(np.uint8),
            "class_names": np.array([f"class {i}" for i in range(n_classes)]),
        }

    characters = np.repeat(np.arange(22), 20)
    n = len(characters)
    arrays = {
        "mnist": {
            "images": rng.randint(256, size=(1200, 28, 28)).astype(np.uint8),
            "labels": np.repeat(np.arange(6), 200).astype(np.uint8),
        },
        "cifar10": photographs(6, 50),
        "places": {**photographs(11, 50), "diverse_classes": np.array([1, 3, 5, 7])},
        "omniglot": {
            "images_packed": rng.randint(256, size=(n, 1379)).astype(np.uint8),
            "stroke_xy": rng.uniform(0, 105, size=(3 * n, 2)).astype(np.float32),
            "stroke_offsets": np.arange(0, 3 * n + 1, 3),
            "alphabet": characters // 11,
            "alphabet_names": np.array(["Greek", "Latin"]),
            "character": characters % 11 + 1,
            "char_id": characters,
            "drawer": np.tile(np.arange(1, 21), 22),
            "embedding": rng.normal(size=(n, 4)).astype(np.float32),
        },
    }
    paths = {name: folder / f"{name}.npz" for name in arrays}
    for name, path in paths.items():
        np.savez(path, **arrays[name])
    for name in ("places2", "places2-diverse"):
        paths[name] = paths["places"]
    return SimpleNamespace(paths=paths, arrays=arrays)


def opened(name, files, **options):
    return open_source(name, files.paths.get(name), **options)


@pytest.mark.parametrize("name", SOURCES)
def test_instances_are_drawn_by_number(name, files):
    source = opened(name, files)
    again, labels = source.instance(3)
    source.instance(4)
    for one, other in zip(source.instance(3), (again, labels), strict=True):
        assert_array_equal(one, other)
    assert not np.array_equal(source.instance(4)[0], again)
    matrix = source.metric(again)
    assert matrix.shape == (len(labels), len(labels))
    assert_array_equal(matrix, matrix.T)


@pytest.mark.parametrize("name", ["mnist", "cifar10", "omniglot", "places2"])
def test_instances_have_the_sizes_of_the_paper(name, files):
    source = opened(name, files)
    settings = PAPER_SETTINGS[name]
    counts = set()
    for number in range(60):
        rows, labels = source.instance(number)
        assert len(set(rows)) == len(rows)
        sizes = np.unique(labels, return_counts=True)[1]
        assert_array_equal(sizes, settings["n_per_class"])
        counts.add(len(sizes))
    low, high = np.broadcast_to(settings["n_classes"], 2)
    assert counts == set(range(low, high + 1))


def test_diverse_places_are_of_the_chosen_classes(files):
    _, labels = opened("places2-diverse", files).instance(0)
    assert set(labels) == {1, 3, 5, 7}


def test_drawings_of_an_instance_are_of_one_alphabet(files):
    source = opened("omniglot", files)
    alphabet = files.arrays["omniglot"]["alphabet"]
    found = [set(alphabet[source.instance(i)[0]]) for i in range(10)]
    assert set(map(frozenset, found)) == {frozenset({0}), frozenset({1})}


def test_photographs_are_compared_by_colours_and_features(files):
    source = opened("cifar10", files)
    rows, _ = source.instance(0)
    colours, features = (metric(rows) for metric in source.metrics)
    stored = files.arrays["cifar10"]
    for found, name in [(colours, "hsv"), (features, "features")]:
        points = stored[name][rows].astype(float)
        assert_allclose(found, cdist(points, points, "cosine"), atol=1e-12)
    assert_array_equal(source.metric(rows), features)


@pytest.mark.parametrize("centred", [False, True])
def test_drawings_are_compared_by_strokes_and_features(files, tmp_path, centred):
    source = opened("omniglot", files, centred=centred, cache_dir=tmp_path)
    source.prepare()
    rows, _ = source.instance(0)
    points = files.arrays["omniglot"]["stroke_xy"].reshape(-1, 3, 2)[rows]
    if centred:
        points = points - points.mean(axis=1, keepdims=True)
    assert_allclose(source.metrics[0](rows), stroke_distances(points), rtol=1e-6)
    embedding = files.arrays["omniglot"]["embedding"][rows].astype(float)
    expected = cdist(embedding, embedding, "cosine")
    assert_allclose(source.metrics[1](rows), expected, atol=1e-12)


def test_strokes_are_compared_once_for_all_runs(files, tmp_path, monkeypatch):
    expected = opened("omniglot", files, cache_dir=tmp_path)
    expected.prepare()
    monkeypatch.delattr(_sources, "stroke_distances")
    source = opened("omniglot", files, cache_dir=tmp_path)
    source.prepare()
    rows, _ = source.instance(0)
    assert_array_equal(source.metrics[0](rows), expected.metrics[0](rows))
    with pytest.raises(NameError):
        opened("omniglot", files, centred=True, cache_dir=tmp_path).prepare()


@pytest.mark.parametrize("centred, letter", [(False, "d"), (True, "c")])
def test_distances_of_strokes_may_be_stored(files, tmp_path, centred, letter):
    computed = opened("omniglot", files, centred=centred)
    computed.prepare()
    strokes = files.arrays["omniglot"]["stroke_xy"].reshape(-1, 3, 2)
    if centred:
        strokes = strokes - strokes.mean(axis=1, keepdims=True)
    halves = {"Greek": np.arange(220), "Latin": np.arange(220, 440)}
    arrays = {f"rows_{name}": rows for name, rows in halves.items()}
    for name, rows in halves.items():
        arrays[f"{letter}_{name}"] = squareform(stroke_distances(strokes[rows]))
    path = tmp_path / "strokes.npz"
    np.savez(path, **arrays)
    stored = opened("omniglot", files, centred=centred, strokes=path)
    stored.prepare()
    rows, _ = stored.instance(1)
    assert_array_equal(stored.metrics[0](rows), computed.metrics[0](rows))

    with pytest.raises(ValueError, match=f"lacks {'d' if centred else 'c'}_Greek"):
        opened("omniglot", files, centred=not centred, strokes=path).prepare()
    np.savez(path, **{**arrays, "rows_Latin": halves["Greek"]})
    with pytest.raises(ValueError, match="rows_Latin are not the rows of Latin"):
        opened("omniglot", files, centred=centred, strokes=path).prepare()


def test_drawings_can_be_compared_by_their_pixels(files):
    source = opened("omniglot", files, features="pixels")
    rows, _ = source.instance(0)
    packed = files.arrays["omniglot"]["images_packed"][rows[:2]]
    images = np.unpackbits(packed, axis=1, count=105**2).reshape(-1, 105, 105)
    first, second = (
        [[image[i : i + 7, j : j + 7].sum() for j in range(0, 105, 7)]
         for i in range(0, 105, 7)]
        for image in images
    )  # fmt: skip
    expected = pdist([np.ravel(first), np.ravel(second)], "cosine")
    assert_allclose(source.metric(rows)[0, 1], expected[0])


def test_ward_gets_euclidean_distances(files):
    source = opened("cifar10", files)
    rows, _ = source.instance(0)
    features = files.arrays["cifar10"]["features"][rows].astype(float)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    found = source.to_euclidean(source.metric(rows))
    assert_allclose(found, cdist(features, features), atol=1e-6)


def test_halves_of_digits_are_left_and_right():
    source = open_source("digits")
    rows, _ = source.instance(0)
    left, right = (metric(rows) ** 2 for metric in source.metrics)
    assert_allclose(left + right, source.metric(rows) ** 2)
    images = load_digits().images[rows][:2, :, :4]
    assert_allclose(left[0, 1], ((images[0] - images[1]) ** 2).sum())


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_data_is_asked_for_if_it_cannot_be_fetched(name, monkeypatch):
    def fetch(*args, **kwargs):
        raise URLError("no network")

    monkeypatch.setattr(_images, "fetch_openml", fetch)
    with pytest.raises(ValueError, match="--data is needed.*no network"):
        open_source(name)


def test_drawings_without_features_are_told(files, tmp_path):
    path = files.paths["omniglot"]
    with pytest.raises(ValueError, match="'embedding_norm'.*--features pixels"):
        Experiment("omniglot", tmp_path, data=path, features="embedding_norm")


def test_variants_of_an_experiment_have_files_of_their_own(files, tmp_path):
    path = files.paths["omniglot"]
    for options in ({}, {"features": "pixels"}, {"centred": True}):
        experiment = Experiment("omniglot", tmp_path, data=path, **options)
        (summary,) = experiment.run(["metric"], 2, n_jobs=1)
        assert summary["ends"][0] == "strokes"
        assert summary["instances"] == 2
    assert sorted(path.name for path in tmp_path.glob("*metric.json")) == [
        "omniglot-centred-metric.json",
        "omniglot-metric.json",
        "omniglot-pixels-metric.json",
    ]
