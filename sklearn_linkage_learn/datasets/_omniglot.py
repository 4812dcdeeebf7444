"""Omniglot: handwritten characters of many alphabets, with the strokes of the pen."""

import io
import re
import zipfile
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from .._piecewise import import_pyplot
from ._files import as_target, check_rows, read_arrays, readable

_SHAPE = (105, 105)
_NEEDED = {
    "images_packed": 2,
    "stroke_xy": 2,
    "stroke_offsets": 1,
    "alphabet": 1,
    "alphabet_names": 1,
    "character": 1,
    "char_id": 1,
    "drawer": 1,
}
EMBEDDINGS = ("embedding", "embedding_norm", "embedding_alex", "embedding_alex_norm")
_OPTIONAL = {**dict.fromkeys(EMBEDDINGS, 2), "stroke_source": 1}
_NOT_PER_DRAWING = {"stroke_xy", "stroke_offsets", "alphabet_names"}
_LAYOUT = (
    "images_background.zip and strokes_background.zip, or those that end in "
    "_evaluation.zip, or the folders they unpack to"
)
# Such as Greek/character01/0394_01: the character's number among all, the drawer's.
_DRAWING = re.compile(r"([^/]+)/character(\d+)/(\d+)_(\d+)$")


def load_omniglot(path):
    """Load Omniglot, drawings of characters of many alphabets.

    Parameters
    ----------
    path : str or path
        - A directory with Omniglot's own files ``images_background.zip`` and
          ``strokes_background.zip``, or those that end in ``_evaluation.zip``, or all
          four; each may be unpacked to a folder of its name. Reading the images needs
          matplotlib.
        - An .npz file with arrays ``images_packed``, ``stroke_xy``,
          ``stroke_offsets`` (the points of drawing i are
          ``stroke_xy[stroke_offsets[i]:stroke_offsets[i + 1]]``), ``alphabet``,
          ``alphabet_names``, ``character``, ``char_id`` and ``drawer``, or a
          directory with these as .npy files.

    Returns
    -------
    omniglot : :class:`~sklearn.utils.Bunch`
        With one entry for each drawing in

        images_packed : ndarray of uint8, of shape (n_drawings, 1379)
            The images, 8 pixels in a byte; see Notes.
        strokes : list of ndarray of shape (n_points, 2)
            The path of the pen: x from the left and y from the top, in pixels.
        alphabet : ndarray of int, of shape (n_drawings,)
            Indices into `alphabet_names`, the `groups` of
            :func:`~sklearn_linkage_learn.datasets.sample_class_subsets`.
        character : ndarray of int, of shape (n_drawings,)
            The number of the character in its alphabet, from 1.
        target : ndarray of int, of shape (n_drawings,)
            The number of the character among those of all alphabets.
        drawer : ndarray of int, of shape (n_drawings,)
            Who drew it, from 1.
        embedding, embedding_norm, embedding_alex, embedding_alex_norm : ndarray
            Features that networks computed, one row for each drawing, if arrays of
            these names are there.
        stroke_source : ndarray of int, of shape (n_drawings,)
            Where the strokes come from, if such an array is there.

        and

        alphabet_names : list of str
            The names of alphabets.

    See Also
    --------
    sample_class_subsets : Instances of such data.
    sklearn_linkage_learn.metrics.stroke_distances : Distances of strokes.

    Notes
    -----
    All 32,460 images take 45 MB packed and 358 MB unpacked, so only unpack those that
    you need. Ink is 1::

        packed = omniglot.images_packed[rows]
        images = np.unpackbits(packed, axis=1, count=105 * 105).reshape(-1, 105, 105)

    Examples
    --------
    A file of three drawings serves as an example:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sklearn_linkage_learn.datasets import load_omniglot
    >>> from sklearn_linkage_learn.metrics import stroke_distances
    >>> arrays = {
    ...     "images_packed": np.zeros((3, 1379), dtype=np.uint8),
    ...     "stroke_xy": [[0, 0], [1, 0], [0, 3], [1, 3], [2, 3], [0, 4]],
    ...     "stroke_offsets": [0, 2, 5, 6],
    ...     "alphabet": [0, 0, 0],
    ...     "alphabet_names": ["Greek"],
    ...     "character": [1, 1, 2],
    ...     "char_id": [394, 394, 395],
    ...     "drawer": [1, 2, 1],
    ... }
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     np.savez(Path(directory) / "omniglot.npz", **arrays)
    ...     omniglot = load_omniglot(Path(directory) / "omniglot.npz")
    >>> omniglot.target
    array([394, 394, 395])
    >>> stroke_distances(omniglot.strokes).round(2)
    array([[0.  , 3.03, 4.04],
           [3.03, 0.  , 1.41],
           [4.04, 1.41, 0.  ]])
    """
    path = Path(path)
    if path.is_dir() and not (path / "images_packed.npy").exists():
        return _load_drawings(path)
    return _load_arrays(path)


def _load_arrays(path):
    arrays = read_arrays(path, _NEEDED, _OPTIONAL, also=f"; or one with {_LAYOUT}")
    check_rows(path, arrays, *sorted(arrays.keys() - _NOT_PER_DRAWING))
    strokes = _split(path, arrays.pop("stroke_xy"), arrays.pop("stroke_offsets"))
    if len(strokes) != len(arrays["drawer"]):
        raise ValueError(
            f"{path}: stroke_offsets tells of {len(strokes)} drawings, found "
            f"{len(arrays['drawer'])} in the other arrays."
        )
    packed = arrays["images_packed"]
    if packed.shape[1] != 1379 or packed.dtype != np.uint8:
        raise ValueError(
            f"{path}: images_packed must be of type uint8 and of shape (n, 1379), "
            f"found {packed.dtype} and {packed.shape}."
        )
    names = arrays["alphabet_names"] = arrays["alphabet_names"].tolist()
    arrays["alphabet"] = as_target(path, arrays["alphabet"], len(names), "alphabet")
    arrays["target"] = arrays.pop("char_id")
    for name in ("character", "target", "drawer"):
        arrays[name] = arrays[name].astype(np.intp)
    return Bunch(strokes=strokes, **arrays)


def _split(path, points, offsets):
    rising = len(offsets) > 1 and (np.diff(offsets.astype(np.int64)) > 0).all()
    if not rising or offsets[0] != 0 or offsets[-1] != len(points):
        raise ValueError(
            f"{path}: stroke_offsets must increase from 0 to the {len(points)} points "
            f"of stroke_xy, found {offsets}."
        )
    return np.split(points, offsets[1:-1])


def _load_drawings(path):
    """Read Omniglot's own files, in the order of alphabets, characters and drawers."""
    images, strokes = {}, {}
    for part in ("background", "evaluation"):
        images |= _read_all(path, f"images_{part}", ".png", _read_image)
        strokes |= _read_all(path, f"strokes_{part}", ".txt", _read_stroke)
    if not images and not strokes:
        raise FileNotFoundError(f"{path} has no drawings: expected {_LAYOUT}.")
    for what, lacking in (
        ("image", strokes.keys() - images.keys()),
        ("strokes", images.keys() - strokes.keys()),
    ):
        if lacking:
            alphabet, character, target, drawer = min(lacking)
            raise FileNotFoundError(
                f"{path} has no {what} of {alphabet}/character{character:02d}/"
                f"{target:04d}_{drawer:02d}: expected {_LAYOUT}."
            )
    drawings = sorted(images)
    alphabets, characters, targets, drawers = zip(*drawings, strict=True)
    names, alphabet = np.unique(alphabets, return_inverse=True)
    return Bunch(
        images_packed=np.stack([images[drawing] for drawing in drawings]),
        strokes=[strokes[drawing] for drawing in drawings],
        alphabet=alphabet,
        alphabet_names=names.tolist(),
        character=np.array(characters, dtype=np.intp),
        target=np.array(targets, dtype=np.intp),
        drawer=np.array(drawers, dtype=np.intp),
    )


def _read_all(path, name, ending, read):
    drawings = {}
    for file, content in _files(path, name, ending):
        match = _DRAWING.search(file.removesuffix(ending))
        if match:
            alphabet, *numbers = match.groups()
            with readable(path / file):
                drawings[(alphabet, *map(int, numbers))] = read(content)
    return drawings


def _files(path, name, ending):
    """Yield names and contents of the files in a folder, or else in its zip file."""
    folder, archive = path / name, path / f"{name}.zip"
    if folder.is_dir():
        for file in folder.rglob(f"*{ending}"):
            yield file.relative_to(path).as_posix(), file.read_bytes()
    elif archive.exists():
        with readable(archive), zipfile.ZipFile(archive) as stored:
            for file in stored.namelist():
                if file.endswith(ending):
                    yield file, stored.read(file)


def _read_image(content):
    image = import_pyplot("load_omniglot").imread(io.BytesIO(content))
    if image.shape != _SHAPE:
        raise ValueError(f"Expected an image of shape {_SHAPE}, found {image.shape}.")
    # Ink is dark.
    return np.packbits(image < 0.5)


def _read_stroke(content):
    """Read lines such as 12.5,-30.0,1024 between lines START and BREAK."""
    lines = [line.split(",") for line in content.decode().splitlines() if "," in line]
    points = np.array([line[:2] for line in lines], dtype=np.float32)
    if len(points) == 0:
        raise ValueError("Expected lines of x,y,time, found none.")
    # Omniglot's y is 0 at the top and negative below, that of its images positive.
    return points * np.array([1, -1], dtype=np.float32)
