"""Distances of objects that are not rows of numbers, and features of images.

Points of an instance need not be rows of a table. For strings, sets, pen strokes and
other objects, compute the distances of each instance first, with :func:`pairwise` and
any function of two objects or with a function of your own, and learn with
``metrics="precomputed"``.
"""

import math
from numbers import Integral

import numpy as np
from scipy.spatial.distance import cdist

from ._errors import blame, name_of
from ._instances import read_table
from ._limits import check_room

__all__ = ["hsv_histogram", "pairwise", "stroke_distance", "stroke_distances"]

# Blocks that stay in a processor's cache: points against which one trajectory is
# held, and pixels that are sorted into bins.
_BLOCK_OF_POINTS = 512
_BLOCK_OF_PIXELS = 1 << 16


def pairwise(objects, metric):
    """Distances of all pairs of objects, of any kind.

    Parameters
    ----------
    objects : sequence
        One instance: strings, sets, graphs, whatever `metric` compares.

    metric : callable or sequence of callables
        A symmetric function of two objects that returns a number which is not
        negative. It is called once for each pair, and not for an object and itself.

    Returns
    -------
    distances : ndarray of shape (n, n) or (n_metrics, n, n)
        What estimators take as one instance of precomputed distances. A sequence of
        metrics gives one matrix for each.

    See Also
    --------
    sklearn.metrics.pairwise_distances : Distances of rows of numbers.

    Examples
    --------
    >>> from sklearn_linkage_learn import InterpolatedLinkage
    >>> from sklearn_linkage_learn.metrics import pairwise
    >>> def jaccard(a, b):
    ...     return 1 - len(a & b) / len(a | b)
    >>> baskets = [{"tea", "milk"}, {"nails"}, {"tea", "cup"}, {"nails", "hammer"}]
    >>> distances = pairwise(baskets, jaccard)
    >>> distances[0].round(2)
    array([0.  , 1.  , 0.67, 1.  ])
    >>> InterpolatedLinkage(metric="precomputed").fit_predict(distances)
    array([1, 0, 1, 0])
    """
    metrics = [metric] if callable(metric) else _check_callables(metric)
    with blame("objects"):
        objects = list(objects)
    n = len(objects)
    if n == 0:
        raise ValueError("objects is empty, at least one is expected.")
    with blame("objects"):
        check_room((8 * len(metrics) + 3) * n * n, "Computing distances of", n)
    distances = np.zeros((len(metrics), n, n))
    for matrix, one in zip(distances, metrics, strict=True):
        _fill(matrix, objects, one)
    return distances[0] if callable(metric) else distances


def stroke_distance(a, b):
    """Mean distance from a point of either trajectory to the nearest of the other.

    This is how the paper compares drawings of characters by the path of the pen::

        d(a, b) = (sum_t d(a_t, b) + sum_t d(b_t, a)) / (len(a) + len(b))

    where d(p, s) is the Euclidean distance of the point p to the nearest point of s.
    It is symmetric, and zero if and only if both have the same set of points. The
    order of points does not matter.

    Parameters
    ----------
    a, b : array-like of shape (n_points, n_dimensions)
        Two trajectories, of any lengths.

    Returns
    -------
    distance : float

    See Also
    --------
    stroke_distances : All pairs of many trajectories, much faster.

    References
    ----------
    M.-F. Balcan, T. Dick, M. Lang, "Learning to Link", ICLR 2020, appendix.

    Examples
    --------
    >>> from sklearn_linkage_learn.metrics import stroke_distance
    >>> stroke_distance([[0, 0], [1, 0]], [[0, 3], [1, 3], [2, 3]])
    3.032...
    """
    strokes = _read_trajectories([a, b], ["a", "b"])
    return float(_stroke_distances(strokes, ["a", "b"])[0, 1])


def stroke_distances(trajectories):
    """The :func:`stroke_distance` of all pairs of trajectories.

    Parameters
    ----------
    trajectories : sequence of array-likes of shape (n_points, n_dimensions)
        One instance; its trajectories may have any lengths.

    Returns
    -------
    distances : ndarray of shape (n_trajectories, n_trajectories)

    Notes
    -----
    The distances of all pairs of points are computed, a block at a time. Trajectories
    of 150 points make about 30,000 pairs a second.

    Examples
    --------
    >>> from sklearn_linkage_learn.metrics import stroke_distances
    >>> strokes = [[[0, 0], [1, 0]], [[0, 3], [1, 3], [2, 3]], [[0, 4]]]
    >>> stroke_distances(strokes).round(2)
    array([[0.  , 3.03, 4.04],
           [3.03, 0.  , 1.41],
           [4.04, 1.41, 0.  ]])
    """
    with blame("trajectories"):
        trajectories = list(trajectories)
    if not trajectories:
        raise ValueError("trajectories is empty, at least one is expected.")
    n = len(trajectories)
    with blame("trajectories"):
        check_room(9 * n * n, "Computing distances of", n)
    names = [f"trajectories[{i}]" for i in range(n)]
    return _stroke_distances(_read_trajectories(trajectories, names), names)


def _stroke_distances(strokes, names):
    lengths = np.array([len(stroke) for stroke in strokes])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    points = np.concatenate(strokes)
    distances = np.zeros((len(strokes), len(strokes)))
    for i, stroke in enumerate(strokes):
        for first, last in _blocks(starts, i + 1, _BLOCK_OF_POINTS):
            squares = cdist(points[starts[first] : starts[last]], stroke, "sqeuclidean")
            inner = starts[first:last] - starts[first]
            to_stroke = np.add.reduceat(np.sqrt(squares.min(axis=1)), inner)
            from_stroke = np.sqrt(np.minimum.reduceat(squares, inner)).sum(axis=1)
            total = (to_stroke + from_stroke) / (lengths[first:last] + lengths[i])
            distances[i, first:last] = distances[first:last, i] = total
    if not np.isfinite(distances).all():
        i, j = map(int, np.argwhere(~np.isfinite(distances))[0])
        raise ValueError(f"The distance of {names[i]} and {names[j]} overflows.")
    return distances


def hsv_histogram(images, bins=(8, 2, 4)):
    """Count the colours of images in bins of hue, saturation and value.

    The paper compares photographs by the cosine distance of these histograms.

    Parameters
    ----------
    images : ndarray of shape (height, width, 3) or (n_images, height, width, 3), or \
            a sequence of images of any sizes
        Red, green and blue: integers of type uint8, or floats from 0 to 1.

    bins : tuple of three int, default=(8, 2, 4)
        The number of bins of hue, saturation and value, each of equal width.

    Returns
    -------
    histograms : ndarray of int, of shape (n_bins,) or (n_images, n_bins)
        Number of pixels of each colour. The colour at bins h, s and v has the index
        ``(h * bins[1] + s) * bins[2] + v``; by default that is 8 h + 4 s + v.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_linkage_learn.metrics import hsv_histogram
    >>> image = np.zeros((2, 2, 3), dtype=np.uint8)
    >>> image[0] = [255, 0, 0]
    >>> image[1] = [0, 0, 100]
    >>> histogram = hsv_histogram(image)
    >>> histogram.shape, histogram.nonzero()[0], histogram[histogram > 0]
    ((64,), array([ 7, 45]), array([2, 2]))
    """
    bins = _check_bins(bins)
    if hasattr(images, "__array__") and np.asarray(images).dtype != object:
        with blame("images"):
            images = np.asarray(images)
            images = _check_images(images, 4 if images.ndim == 4 else 3)
        if images.ndim == 4:
            return _histograms(images, bins)
        return _histograms(images[None], bins)[0]
    with blame("images"):
        images = list(images)
    if not images:
        raise ValueError("images is empty, at least one is expected.")
    for i, image in enumerate(images):
        with blame(f"images[{i}]"):
            images[i] = _check_images(np.asarray(image), 3)
    return np.stack([_histograms(image[None], bins)[0] for image in images])


def _fill(distances, objects, metric):
    """Write the distances of all pairs of objects into a matrix of zeros."""
    with blame(f"metric {name_of(metric)}"):
        for j, second in enumerate(objects):
            for i, first in enumerate(objects[:j]):
                distances[i, j] = distances[j, i] = metric(first, second)
    bad = ~(np.isfinite(distances) & (distances >= 0))
    if bad.any():
        i, j = map(int, np.argwhere(bad)[0])
        raise ValueError(
            f"metric {name_of(metric)} gives {distances[i, j]} between objects {i} "
            f"and {j}, expected a finite distance that is not negative."
        )


def _check_callables(metrics):
    if isinstance(metrics, str) or not hasattr(metrics, "__iter__"):
        raise TypeError(
            f"metric must be a callable or a sequence of them, found {metrics!r}."
        )
    metrics = list(metrics)
    for i, metric in enumerate(metrics):
        if not callable(metric):
            raise TypeError(f"metric[{i}] is {metric!r}, expected a callable.")
    if not metrics:
        raise ValueError("metric is empty, at least one is expected.")
    return metrics


def _read_trajectories(trajectories, names):
    strokes = []
    for name, trajectory in zip(names, trajectories, strict=True):
        with blame(name):
            stroke = read_table(trajectory)
            strokes.append(stroke)
            if stroke.shape[1] != strokes[0].shape[1]:
                raise ValueError(
                    f"Found points of {stroke.shape[1]} dimensions, those of "
                    f"{names[0]} have {strokes[0].shape[1]}."
                )
    return strokes


def _blocks(starts, first, size):
    """Yield ranges of whole trajectories, of about `size` points each."""
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + size, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def _check_bins(bins):
    counts = tuple(bins) if hasattr(bins, "__iter__") else ()
    if len(counts) != 3 or not all(isinstance(b, Integral) and b > 0 for b in counts):
        raise ValueError(f"bins must be three positive integers, got {bins!r}.")
    return counts


def _check_images(images, ndim):
    if images.ndim == 4 and len(images) == 0:
        raise ValueError("At least one image is expected.")
    if images.ndim != ndim or images.shape[-1] != 3:
        raise ValueError(
            "An image must have shape (height, width, 3), found "
            f"{images.shape[ndim - 3 :]}."
        )
    if images.dtype.kind != "f" and images.dtype != np.uint8:
        raise ValueError(f"Colours must be uint8 or floats, found {images.dtype}.")
    if images.dtype.kind == "f" and not ((images >= 0) & (images <= 1)).all():
        raise ValueError("Colours that are floats must lie between 0 and 1.")
    return images


def _histograms(images, bins):
    """Histograms of images of one shape, a block of pixels at a time."""
    n_bins = math.prod(bins)
    counts = np.zeros(len(images) * n_bins, dtype=np.int64)
    pixels = images.reshape(-1, 3)
    n_pixels = images.shape[1] * images.shape[2]
    for start in range(0, len(pixels), _BLOCK_OF_PIXELS):
        colours = _colours(pixels[start : start + _BLOCK_OF_PIXELS], bins)
        image = np.arange(start, start + len(colours)) // n_pixels
        here = np.bincount(colours + n_bins * (image - image[0]))
        offset = n_bins * image[0]
        counts[offset : offset + len(here)] += here
    return counts.reshape(len(images), n_bins)


def _colours(pixels, bins):
    """The bin of each pixel's colour.

    Differences and quotients of colours do not depend on the largest one, 1 or 255:
    without a division by 255, those of integers are exact where a bin begins.
    """
    red, green, blue = pixels.T.astype(np.float64)
    top = np.maximum(np.maximum(red, green), blue)
    span = top - np.minimum(np.minimum(red, green), blue)
    sixths = np.where(top == green, 2 * span + (blue - red), 4 * span + (red - green))
    sixths = np.where(top == red, green - blue, sixths) / np.where(span > 0, span, 1)
    hue = np.where(sixths < 0, sixths + 6, sixths) / 6
    saturation = span / np.where(top > 0, top, 1)
    value = top / 255 if pixels.dtype == np.uint8 else top
    index = np.zeros(len(pixels), dtype=np.intp)
    for part, n_bins in zip((hue, saturation, value), bins, strict=True):
        index *= n_bins
        # A share of 1 belongs to the last bin.
        index += np.minimum((part * n_bins).astype(np.intp), n_bins - 1)
    return index
