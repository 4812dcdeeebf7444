"""Errors that say what they are about."""

from collections.abc import Sequence

import numpy as np

# An int that no float can hold is a bad value, and so is a matrix without an inverse,
# which is a ValueError since NumPy 1.25.
_NAMED = (
    ValueError,
    TypeError,
    OverflowError,
    MemoryError,
    np.linalg.LinAlgError,
)


class blame:
    """Let an error of the block begin with the name of what it is about.

    Errors of other kinds can only come from a user's function. They keep their type
    and message, and get the name as a note, which Python shows from 3.11 on.

    A generator would do, but the frames of one are part of the new error's traceback
    and can keep all that the block has allocated until garbage is collected.
    """

    def __init__(self, name):
        self._name = name

    def __enter__(self):
        pass

    def __exit__(self, _, error, traceback):
        if isinstance(error, _NAMED):
            kinds = (TypeError, MemoryError)
            kind = next((kind for kind in kinds if isinstance(error, kind)), ValueError)
            message = f"{self._name}: {str(error) or type(error).__name__}"
            raise kind(message) from error
        if isinstance(error, Exception) and hasattr(error, "add_note"):
            error.add_note(f"This was about {self._name}.")


def as_numbers(name, values):
    """Convert an argument to an array of float64."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return values
    with blame(name):
        check_lengths(values)
        if np.iscomplexobj(values):
            raise TypeError("Expected real numbers, found complex ones.")
        return np.asarray(values, dtype=np.float64)


def check_lengths(rows):
    """Refuse a list of rows, or what should be one, whose lengths differ."""
    if not is_sequence(rows):
        return
    lengths = [_length(row) for row in rows]
    for i, length in enumerate(lengths):
        if length != lengths[0]:
            raise ValueError(
                f"Items must have the same length: item 0 has {lengths[0]}, item {i} "
                f"has {length}."
            )


def is_sequence(values):
    """Whether something is a list or the like, or a 1-D array of objects."""
    if hasattr(values, "dtype"):
        return getattr(values, "ndim", 0) == 1 and values.dtype == object
    return isinstance(values, Sequence) and not isinstance(values, (str, bytes))


def _length(row):
    is_row = is_sequence(row) or getattr(row, "ndim", 0) > 0
    return len(row) if is_row else "none"


def name_of(function):
    """How a message calls a metric or a loss: a str, or a callable by its name."""
    if isinstance(function, str):
        return repr(function)
    return getattr(function, "__name__", repr(function))
