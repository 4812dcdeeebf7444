"""Named arrays read from files that users have, and what is wrong with them."""

import zipfile
import zlib
from contextlib import contextmanager

import numpy as np

# What NumPy, zipfile, gzip and the reader of PNG files raise; the latter SyntaxError.
_DAMAGE = (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error, SyntaxError)


def read_arrays(path, needed, optional=None, also=""):
    """Read arrays of an .npz file, or of a directory with an .npy file for each.

    Parameters
    ----------
    path : Path
        The file or directory.

    needed, optional : dict of str to int
        Names of arrays and their numbers of dimensions.

    also : str
        What else an error message should name as expected.

    Returns
    -------
    arrays : dict of str to ndarray
    """
    files = ", ".join(f"{name}.npy" for name in needed)
    expected = (
        f"expected an .npz file with arrays {', '.join(needed)}, or a directory with "
        f"{files}{also}"
    )
    dimensions = {**needed, **(optional or {})}
    if path.is_dir():
        arrays = _load_directory(path, dimensions)
    else:
        arrays = _load_npz(path, dimensions, expected)
    missing = ", ".join(name for name in needed if name not in arrays)
    if missing:
        kind = FileNotFoundError if path.is_dir() else ValueError
        raise kind(f"{path} lacks {missing}: {expected}.")
    for name, array in arrays.items():
        if array.ndim != dimensions[name]:
            raise ValueError(
                f"{path}: {name} must have {dimensions[name]} dimensions, found shape "
                f"{array.shape}."
            )
    return arrays


def check_rows(path, arrays, *names):
    """Refuse arrays that do not have one row for each point."""
    lengths = {name: len(arrays[name]) for name in names if name in arrays}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"{path}: arrays must have as many rows each, found {found}.")


def as_target(path, labels, n_classes, name="labels"):
    """Class numbers as integers that can be computed with."""
    if labels.dtype.kind not in "iu":
        raise ValueError(f"{path}: {name} must be integers, found {labels.dtype}.")
    outside = labels[(labels < 0) | (labels >= n_classes)]
    if len(outside) > 0:
        raise ValueError(
            f"{path}: {name} must lie between 0 and {n_classes - 1}, found "
            f"{outside[0]}."
        )
    return labels.astype(np.intp)


@contextmanager
def readable(path):
    """Let any damage of a file be a ValueError that names it."""
    try:
        yield
    except _DAMAGE as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _load_directory(path, names):
    arrays = {}
    for name in names:
        file = path / f"{name}.npy"
        if file.exists():
            with readable(file):
                arrays[name] = np.load(file, allow_pickle=False)
    return arrays


def _load_npz(path, names, expected):
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}: {expected}.")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not an .npz file: {expected}.")
    with readable(path), np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in names if name in stored.files}
