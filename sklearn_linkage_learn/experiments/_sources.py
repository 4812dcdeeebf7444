"""What each experiment draws its instances from, and the distances it learns on."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.error import URLError

import numpy as np
from joblib import Memory
from scipy.spatial.distance import squareform
from sklearn.datasets import load_digits

from .._distances import condensed_distances
from .._progress import shown_progress
from ..datasets import (
    PAPER_SETTINGS,
    load_cifar10,
    load_mnist,
    load_omniglot,
    load_places,
    make_rings_and_disks,
    sample_class_subsets,
)
from ..datasets._omniglot import EMBEDDINGS
from ..metrics import stroke_distances


@dataclass(frozen=True)
class Source:
    """A distribution of instances.

    Attributes
    ----------
    draw : callable
        Takes a RandomState and returns an instance, as metrics take it, and its
        labels.

    metric : callable
        From an instance to the distance matrix that linkages are mixed on.

    to_euclidean : callable
        Makes these distances Euclidean, for Ward's linkage.

    metrics : tuple of two callables or None
        From an instance to the distance matrices that are mixed.

    names : tuple of two str
        What these two are called.

    prepare : callable
        Has to be called once before `metrics`.
    """

    draw: Callable
    metric: Callable
    to_euclidean: Callable
    metrics: tuple | None = None
    names: tuple = ("", "")
    prepare: Callable = lambda: None

    def instance(self, number):
        """Draw an instance by its number, without those before it."""
        return self.draw(np.random.RandomState([0, number]))


def _rings_and_disks(path):
    def draw(rng):
        (points,), (labels,) = make_rings_and_disks(random_state=rng)
        return points, labels

    return Source(draw, _matrix, _same)


def _digits(path):
    images, digits = load_digits(return_X_y=True)
    left, right = np.split(images.reshape(-1, 8, 8), 2, axis=2)
    halves = tuple(_of_rows(half.reshape(-1, 32)) for half in (left, right))
    draw = _subsets(digits, n_classes=5, n_per_class=40)
    names = "left half", "right half"
    return Source(draw, _of_rows(images), _same, halves, names)


def _mnist(path):
    mnist = _load_or_fetch(load_mnist, path)
    draw = _subsets(mnist.target, **PAPER_SETTINGS["mnist"])
    return Source(draw, _of_rows(mnist.data), _same)


def _cifar10(path, features):
    cifar = _load_or_fetch(load_cifar10, path)
    draw = _subsets(cifar.target, **PAPER_SETTINGS["cifar10"])
    return _images(draw, cifar.hsv, cifar[features])


def _places2(path):
    places = _load_places(path)
    draw = _subsets(places.target, **PAPER_SETTINGS["places2"])
    return _images(draw, places.hsv, places.features)


def _places2_diverse(path):
    places = _load_places(path)
    settings = PAPER_SETTINGS["places2-diverse"]
    draw = _subsets(places.target, classes=places.diverse_classes, **settings)
    return _images(draw, places.hsv, places.features)


def _omniglot(path, features, centred, strokes, cache_dir):
    if path is None:
        raise ValueError("--data is needed: the path of Omniglot's drawings.")
    omniglot = load_omniglot(path)
    settings = PAPER_SETTINGS["omniglot"]
    draw = _subsets(omniglot.target, groups=omniglot.alphabet, **settings)
    embedding = _of_rows(_features_of_drawings(omniglot, features, path), "cosine")
    strokes = _OfStrokes(omniglot, centred, strokes, cache_dir)
    return Source(
        draw,
        embedding,
        _from_cosine,
        (strokes, embedding),
        ("strokes", features.split("_")[0]),
        strokes.prepare,
    )


def _features_of_drawings(omniglot, features, path):
    if features == "pixels":
        # The ink in each of 15 x 15 squares.
        images = np.unpackbits(omniglot.images_packed, axis=1, count=105 * 105)
        return images.reshape(-1, 15, 7, 15, 7).sum(axis=(2, 4)).reshape(-1, 225)
    if features not in omniglot:
        raise ValueError(
            f"--data {path} has no array {features!r} with a network's features of "
            "each drawing; --features pixels needs none."
        )
    return omniglot[features]


def _load_or_fetch(load, path):
    try:
        return load(path)
    except URLError as error:
        raise ValueError(
            f"--data is needed: without it, data is fetched from OpenML. {error}"
        ) from error


def _load_places(path):
    if path is None:
        raise ValueError("--data is needed: an .npz file with features of Places2.")
    return load_places(path)


def _images(draw, colours, features):
    colours, features = _of_rows(colours, "cosine"), _of_rows(features, "cosine")
    names = "colours", "embedding"
    return Source(draw, features, _from_cosine, (colours, features), names)


def _subsets(target, **settings):
    """Instances as numbers of rows, each with its labels."""
    rows = np.arange(len(target))

    def draw(rng):
        (chosen,), (labels,) = sample_class_subsets(
            rows, target, **settings, random_state=rng
        )
        return chosen, labels

    return draw


def _of_rows(table, metric="euclidean"):
    return lambda rows: _matrix(table[rows], metric)


class _OfStrokes:
    """Distances of drawings by their strokes, those of an alphabet all at once."""

    def __init__(self, omniglot, centred, stored, cache_dir):
        self._omniglot, self._centred, self._stored = omniglot, centred, stored
        self._compute = Memory(cache_dir, verbose=0).cache(_compare_strokes)
        self._matrices = {}
        self._place = np.empty(len(omniglot.alphabet), dtype=int)

    def prepare(self):
        """Compare all drawings of each alphabet, once and for all instances."""
        alphabets = np.unique(self._omniglot.alphabet)
        members = [np.flatnonzero(self._omniglot.alphabet == a) for a in alphabets]
        compare = self._compared if self._stored is None else self._read
        sizes = [len(rows) for rows in members]
        with shown_progress("Comparing strokes", sizes, "alphabets") as advance:
            for i, (alphabet, rows) in enumerate(zip(alphabets, members, strict=True)):
                self._matrices[alphabet] = compare(alphabet, rows)
                self._place[rows] = np.arange(len(rows))
                advance(i)

    def _compared(self, alphabet, rows):
        strokes = [self._omniglot.strokes[row] for row in rows]
        if self._centred:
            strokes = [stroke - stroke.mean(axis=0) for stroke in strokes]
        ends = np.cumsum([len(stroke) for stroke in strokes])
        return self._compute(np.concatenate(strokes), ends)

    def _read(self, alphabet, rows):
        name = self._omniglot.alphabet_names[alphabet]
        distances = f"{'c' if self._centred else 'd'}_{name}"
        with np.load(self._stored, allow_pickle=False) as stored:
            missing = {distances, f"rows_{name}"} - set(stored.files)
            if missing:
                raise ValueError(
                    f"--strokes {self._stored} lacks {', '.join(sorted(missing))}."
                )
            if not np.array_equal(stored[f"rows_{name}"], rows):
                raise ValueError(
                    f"--strokes {self._stored}: rows_{name} are not the rows of "
                    f"{name} in the drawings."
                )
            return squareform(stored[distances].astype(np.float64))

    def __call__(self, rows):
        place = self._place[rows]
        return self._matrices[self._omniglot.alphabet[rows[0]]][np.ix_(place, place)]


def _compare_strokes(points, ends):
    # Of a list of arrays, joblib would write out every number as text.
    return stroke_distances(np.split(points, ends[:-1]))


def _matrix(points, metric="euclidean"):
    return squareform(condensed_distances(np.asarray(points, np.float64), metric))


def _same(distances):
    return distances


def _from_cosine(distances):
    """Euclidean distances of rows that are scaled to unit length."""
    return np.sqrt(2 * distances)


def open_source(
    name, path=None, *, features=None, centred=False, strokes=None, cache_dir=None
):
    """Load the data of an experiment.

    Parameters
    ----------
    name : str
        One of `SOURCES`.

    path : str, default=None
        Where its data is.

    features : str, default=None
        Which of its features to take, one of `FEATURES`.

    centred : bool, default=False
        Whether each drawing's strokes are moved to mean zero before it is compared.

    strokes : str, default=None
        An .npz file with distances of strokes that were computed before: for each
        alphabet A, ``rows_A`` are its rows in the data, ``d_A`` condensed distances,
        and ``c_A`` those of strokes that are moved to mean zero.

    cache_dir : str, default=None
        Where to keep distances of strokes that are computed, which takes long.

    Returns
    -------
    source : Source
    """
    options = {}
    if name in FEATURES:
        options["features"] = features or FEATURES[name][0]
    if name == "omniglot":
        options |= {"centred": centred, "strokes": strokes, "cache_dir": cache_dir}
    return SOURCES[name](path, **options)


SOURCES = {
    "rings-and-disks": _rings_and_disks,
    "digits": _digits,
    "mnist": _mnist,
    "cifar10": _cifar10,
    "omniglot": _omniglot,
    "places2": _places2,
    "places2-diverse": _places2_diverse,
}
# Where there is a choice of features; the first one is the default.
FEATURES = {
    "cifar10": ("features", "features_net"),
    "omniglot": (*EMBEDDINGS, "pixels"),
}
