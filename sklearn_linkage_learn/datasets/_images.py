"""Data sets of images whose classes the paper samples instances from."""

import gzip
import math
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from ..metrics import hsv_histogram
from ._files import as_target, check_rows, read_arrays, readable

# In the order of CIFAR-10's own files.
_CIFAR10_NAMES = [
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
]


def load_mnist(path=None):
    """Load MNIST, images of handwritten digits.

    Parameters
    ----------
    path : str or path, default=None
        - An .npz file with arrays ``images`` of shape (n_images, 28, 28) and
          ``labels``, or a directory with ``images.npy`` and ``labels.npy``.
        - A directory with MNIST's own files ``train-images-idx3-ubyte`` and
          ``train-labels-idx1-ubyte``, compressed as ``.gz`` or not.
        - None fetches "mnist_784" with :func:`sklearn.datasets.fetch_openml`, which
          needs the network once.

    Returns
    -------
    mnist : :class:`~sklearn.utils.Bunch`
        With attributes

        data : ndarray of uint8, of shape (n_images, 784)
            The pixels.
        target : ndarray of int, of shape (n_images,)
            The digits.

    See Also
    --------
    sample_class_subsets : Instances of such data.
    make_digits_instances : Instances of smaller images that come with scikit-learn.

    Examples
    --------
    A file of random images serves as an example:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sklearn_linkage_learn.datasets import load_mnist, sample_class_subsets
    >>> rng = np.random.RandomState(0)
    >>> images = rng.randint(256, size=(50, 28, 28)).astype(np.uint8)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory) / "mnist.npz"
    ...     np.savez(path, images=images, labels=np.arange(50) % 10)
    ...     mnist = load_mnist(path)
    >>> instances, labels = sample_class_subsets(
    ...     mnist.data, mnist.target, 2, n_classes=3, n_per_class=4, random_state=0
    ... )
    >>> instances[0].shape
    (12, 784)
    """
    if path is None:
        mnist = fetch_openml("mnist_784", version=1, as_frame=False)
        return Bunch(
            data=mnist.data.astype(np.uint8), target=mnist.target.astype(np.intp)
        )
    path = Path(path)
    images, labels = _idx_file(path, "images", 3), _idx_file(path, "labels", 1)
    if images and labels:
        arrays = {"images": _read_idx(images, 3), "labels": _read_idx(labels, 1)}
    else:
        also = ", or with train-images-idx3-ubyte and train-labels-idx1-ubyte (or .gz)"
        arrays = read_arrays(path, {"images": 3, "labels": 1}, also=also)
    check_rows(path, arrays, "images", "labels")
    images = arrays["images"]
    if images.shape[1:] != (28, 28) or images.dtype != np.uint8:
        raise ValueError(
            f"{path}: images must be of type uint8 and of shape (n, 28, 28), found "
            f"{images.dtype} and {images.shape}."
        )
    return Bunch(
        data=images.reshape(len(images), 784),
        target=as_target(path, arrays["labels"], 10),
    )


def load_cifar10(path=None):
    """Load features and colours of CIFAR-10, small photographs of ten classes.

    The paper measures distances of features that a network trained on other images
    computes. They are not part of CIFAR-10, so they have to be given in a file.

    Parameters
    ----------
    path : str or path, default=None
        An .npz file with arrays ``features`` of shape (n_images, n_features), ``hsv``
        of shape (n_images, n_bins), ``labels`` and ``class_names``, or a directory
        with these as .npy files; ``features_net`` may be there as well. None fetches
        "CIFAR_10" with :func:`sklearn.datasets.fetch_openml`, which needs the network
        once. The features are then the pixels, *not* the paper's.

    Returns
    -------
    cifar10 : :class:`~sklearn.utils.Bunch`
        With attributes

        features : ndarray of shape (n_images, n_features)
            What a network computed, float16 as float32; or the pixels.
        features_net : ndarray of shape (n_images, n_net_features)
            Features of another network, if there.
        hsv : ndarray of shape (n_images, n_bins)
            Histograms of colours, see
            :func:`~sklearn_linkage_learn.metrics.hsv_histogram`.
        target : ndarray of int, of shape (n_images,)
            The classes, from 0.
        target_names : list of str
            Their names.

    See Also
    --------
    sample_class_subsets : Instances of such data.

    Examples
    --------
    Files of random features serve as an example:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sklearn_linkage_learn.datasets import load_cifar10
    >>> rng = np.random.RandomState(0)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     np.save(Path(directory) / "features.npy", rng.normal(size=(6, 5)))
    ...     np.save(Path(directory) / "hsv.npy", rng.randint(9, size=(6, 64)))
    ...     np.save(Path(directory) / "labels.npy", [0, 0, 0, 1, 1, 1])
    ...     np.save(Path(directory) / "class_names.npy", ["airplane", "automobile"])
    ...     cifar10 = load_cifar10(directory)
    >>> cifar10.features.shape, cifar10.hsv.shape, cifar10.target_names
    ((6, 5), (6, 64), ['airplane', 'automobile'])
    """
    if path is not None:
        bunch, _ = _load_photographs(path, {}, {"features_net": 2})
        return bunch
    cifar10 = fetch_openml("CIFAR_10", version=1, as_frame=False)
    pixels = cifar10.data.astype(np.uint8)
    images = pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return Bunch(
        features=pixels,
        hsv=hsv_histogram(images),
        target=cifar10.target.astype(np.intp),
        target_names=list(_CIFAR10_NAMES),
    )


def load_places(path):
    """Load features and colours of Places2, photographs of kinds of places.

    Parameters
    ----------
    path : str or path
        An .npz file with arrays ``features`` of shape (n_images, n_features), ``hsv``
        of shape (n_images, n_bins), ``labels``, ``class_names`` and
        ``diverse_classes``, or a directory with these as .npy files.

    Returns
    -------
    places : :class:`~sklearn.utils.Bunch`
        With attributes

        features : ndarray of shape (n_images, n_features)
            What a network computed, float16 as float32.
        hsv : ndarray of shape (n_images, n_bins)
            Histograms of colours, see
            :func:`~sklearn_linkage_learn.metrics.hsv_histogram`.
        target : ndarray of int, of shape (n_images,)
            The classes, from 0.
        target_names : list of str
            Their names.
        diverse_classes : ndarray of int
            Those of the classes which the paper chose for their diverse colours:
            the argument `classes` of
            :func:`~sklearn_linkage_learn.datasets.sample_class_subsets`.

    See Also
    --------
    sample_class_subsets : Instances of such data.

    Examples
    --------
    A file of random features serves as an example:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sklearn_linkage_learn.datasets import load_places, sample_class_subsets
    >>> rng = np.random.RandomState(0)
    >>> arrays = {
    ...     "features": rng.normal(size=(9, 5)),
    ...     "hsv": rng.randint(99, size=(9, 64)),
    ...     "labels": np.repeat([0, 1, 2], 3),
    ...     "class_names": ["abbey", "aquarium", "volcano"],
    ...     "diverse_classes": [1, 2],
    ... }
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     np.savez(Path(directory) / "places.npz", **arrays)
    ...     places = load_places(Path(directory) / "places.npz")

    Row numbers let features and histograms of an instance be taken together:

    >>> (rows,), (labels,) = sample_class_subsets(
    ...     np.arange(9),
    ...     places.target,
    ...     classes=places.diverse_classes,
    ...     n_classes=2,
    ...     n_per_class=3,
    ... )
    >>> np.hstack([places.features[rows], places.hsv[rows]]).shape
    (6, 69)
    """
    bunch, arrays = _load_photographs(path, {"diverse_classes": 1}, {})
    n_classes = len(bunch.target_names)
    bunch.diverse_classes = as_target(
        path, arrays["diverse_classes"], n_classes, name="diverse_classes"
    )
    return bunch


def _load_photographs(path, needed, optional):
    path = Path(path)
    needed = {"features": 2, "hsv": 2, "labels": 1, "class_names": 1, **needed}
    arrays = read_arrays(path, needed, optional)
    check_rows(path, arrays, "features", "hsv", "labels", "features_net")
    names = arrays["class_names"].tolist()
    bunch = Bunch(
        features=_single(arrays["features"]),
        hsv=arrays["hsv"],
        target=as_target(path, arrays["labels"], len(names)),
        target_names=names,
    )
    if "features_net" in arrays:
        bunch.features_net = _single(arrays["features_net"])
    return bunch, arrays


def _single(features):
    # Half precision saves room in files; few functions compute with it.
    return features.astype(np.float32) if features.dtype == np.float16 else features


def _idx_file(path, what, ndim):
    """Find a file of MNIST's own format; some copies are named with a dot."""
    for mark in "-.":
        for end in ("", ".gz"):
            file = path / f"train-{what}{mark}idx{ndim}-ubyte{end}"
            if file.is_file():
                return file
    return None


def _read_idx(file, ndim):
    """Read bytes: a magic number, the shape as big-endian integers, the values."""
    with readable(file):
        raw = file.read_bytes()
        raw = gzip.decompress(raw) if file.suffix == ".gz" else raw
    start = 4 + 4 * ndim
    if raw[:4] != bytes([0, 0, 8, ndim]) or len(raw) < start:
        raise ValueError(f"{file} is not an idx file of bytes in {ndim} dimensions.")
    shape = np.frombuffer(raw[4:start], ">i4").tolist()
    if math.prod(shape) != len(raw) - start:
        raise ValueError(
            f"{file} is damaged: expected {math.prod(shape)} bytes of shape {shape}, "
            f"found {len(raw) - start}."
        )
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape).copy()
