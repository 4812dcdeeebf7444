import colorsys
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from sklearn_linkage_learn import metrics
from sklearn_linkage_learn.metrics import (
    hsv_histogram,
    pairwise,
    stroke_distance,
    stroke_distances,
)


def make_strokes(lengths, n_dimensions=2, seed=0):
    rng = np.random.default_rng(seed)
    return [np.cumsum(rng.normal(size=(n, n_dimensions)), axis=0) for n in lengths]


def nearest_point_mean(a, b):
    """The definition, point by point."""
    to_b = [min(np.hypot(*(p - q)) for q in b) for p in a]
    to_a = [min(np.hypot(*(p - q)) for q in a) for p in b]
    return (sum(to_b) + sum(to_a)) / (len(a) + len(b))


def test_stroke_distance_is_the_mean_distance_to_the_nearest_point():
    strokes = make_strokes([1, 4, 9, 2, 13])
    distances = stroke_distances(strokes)
    for i, j in combinations(range(5), 2):
        expected = nearest_point_mean(strokes[i], strokes[j])
        assert distances[i, j] == pytest.approx(expected, rel=1e-13)
        assert stroke_distance(strokes[i], strokes[j]) == distances[i, j]
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_array_equal(distances.diagonal(), 0)


@pytest.mark.parametrize("block", [1, 7, 40, 10_000])
def test_blocks_do_not_change_stroke_distances(monkeypatch, block):
    strokes = make_strokes([5, 1, 30, 8, 7, 7, 90, 3])
    expected = stroke_distances(strokes)
    monkeypatch.setattr(metrics, "_BLOCK_OF_POINTS", block)
    np.testing.assert_array_equal(stroke_distances(strokes), expected)


def test_strokes_may_have_any_dimension_and_number():
    strokes = make_strokes([6, 11], n_dimensions=3)
    d = cdist(*strokes)
    expected = (d.min(axis=0).sum() + d.min(axis=1).sum()) / 17
    assert stroke_distance(*strokes) == pytest.approx(expected)
    np.testing.assert_array_equal(stroke_distances(strokes[:1]), [[0]])


def test_order_and_repetition_within_a_stroke_do_not_make_it_another():
    (stroke,) = make_strokes([20])
    assert stroke_distance(stroke, stroke[::-1].repeat(2, axis=0)) == 0
    assert stroke_distance(stroke, stroke * 1.001) > 0


def test_pairwise_calls_a_metric_once_for_each_pair():
    calls = []

    def metric(a, b):
        calls.append((a, b))
        return abs(len(a) - len(b))

    words = ("a", "bcd", "ef")
    np.testing.assert_array_equal(
        pairwise(words, metric), [[0, 2, 1], [2, 0, 1], [1, 1, 0]]
    )
    assert sorted(calls) == [("a", "bcd"), ("a", "ef"), ("bcd", "ef")]


def test_pairwise_stacks_the_distances_of_several_metrics():
    sets = [{1, 2}, {2}, set()]
    both = pairwise(sets, [lambda a, b: len(a ^ b), lambda a, b: float(a != b)])
    assert both.shape == (2, 3, 3)
    np.testing.assert_array_equal(both[0], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    np.testing.assert_array_equal(both[1], 1 - np.eye(3))
    strokes = make_strokes([3, 5, 4])
    np.testing.assert_array_equal(
        pairwise(strokes, stroke_distance), stroke_distances(strokes)
    )
    np.testing.assert_array_equal(pairwise(["one"], len), [[0]])


def make_images(n=3, height=9, width=7, seed=0):
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, size=(n, height, width, 3), dtype=np.uint8)
    images[0, :3] = images[0, :3, :, :1]  # grey, without a hue
    images[0, 0, :2] = [[0, 0, 0], [255, 255, 255]]
    return images


def counted(image, bins=(8, 2, 4), largest=255):
    """The definition, pixel by pixel; powers of two keep a pixel's quotients."""
    histogram = np.zeros(np.prod(bins), dtype=int)
    for pixel in image.reshape(-1, 3).tolist():
        hue, saturation, value = colorsys.rgb_to_hsv(*(c / 256 for c in pixel))
        shares = (hue, saturation, value * 256 / largest)
        h, s, v = (
            min(int(share * n), n - 1) for share, n in zip(shares, bins, strict=True)
        )
        histogram[(h * bins[1] + s) * bins[2] + v] += 1
    return histogram


def test_histograms_count_the_colours_of_all_pixels():
    images = make_images()
    histograms = hsv_histogram(images)
    assert histograms.shape == (3, 64)
    for image, histogram in zip(images, histograms, strict=True):
        np.testing.assert_array_equal(histogram, counted(image))
        np.testing.assert_array_equal(hsv_histogram(image), histogram)
    np.testing.assert_array_equal(histograms.sum(axis=1), 63)


@pytest.mark.parametrize("bins", [(1, 1, 1), (4, 1, 3), (16, 8, 2)])
def test_histograms_may_have_other_bins(bins):
    image = make_images()[0]
    np.testing.assert_array_equal(hsv_histogram(image, bins), counted(image, bins))


def test_pixels_at_the_edge_of_a_bin_are_in_the_upper_one():
    # Hue 0, 45 and 180 degrees, and saturation of exactly one half.
    image = np.array([[[200, 100, 100], [160, 140, 80], [100, 200, 200]]], np.uint8)
    expected = [8 * 0 + 4 + 3, 8 * 1 + 4 + 2, 8 * 4 + 4 + 3]
    np.testing.assert_array_equal(hsv_histogram(image).nonzero()[0], expected)


def test_images_may_be_floats_and_of_different_sizes():
    images = make_images()
    expected = hsv_histogram(images)
    floats = (images / 256).astype(np.float32)
    for image, histogram in zip(floats, hsv_histogram(floats), strict=True):
        np.testing.assert_array_equal(histogram, counted(image * 256, largest=256))
    np.testing.assert_array_equal(hsv_histogram(list(images)), expected)
    mixed = hsv_histogram([images[0], images[1, :4], images[2, :, :2]])
    np.testing.assert_array_equal(mixed.sum(axis=1), [63, 28, 18])
    np.testing.assert_array_equal(mixed[0], expected[0])


def test_histograms_agree_with_the_colours_of_matplotlib():
    colors = pytest.importorskip("matplotlib.colors")
    images = make_images(n=20, height=32, width=32) / 256
    shares = colors.rgb_to_hsv(images).reshape(20, -1, 3)
    h, s, v = np.minimum((shares * [8, 2, 4]).astype(int), [7, 1, 3]).transpose(2, 0, 1)
    expected = [
        np.bincount(8 * a + 4 * b + c, minlength=64)
        for a, b, c in zip(h, s, v, strict=True)
    ]
    np.testing.assert_array_equal(hsv_histogram(images), expected)


@pytest.mark.parametrize("block", [1, 10, 64, 1000])
def test_blocks_do_not_change_histograms(monkeypatch, block):
    images = make_images(n=5)
    expected = hsv_histogram(images)
    monkeypatch.setattr(metrics, "_BLOCK_OF_PIXELS", block)
    np.testing.assert_array_equal(hsv_histogram(images), expected)
