"""Curves that are stored and found again, by joblib's memory.

A store can only save time. What cannot be read, whether it is damaged, half-written or
gone, joblib computes again, and it warns of what cannot be written. Damage that leaves
a file readable is found by the checksum of a curve.
"""

import warnings
from traceback import walk_tb


def recall(memory, function, *args):
    """Call a function through a memory, or without it if that cannot be used.

    Parameters
    ----------
    memory : object with the joblib.Memory interface

    function : function
        At the top of a module.

    *args
        What identifies the result.

    Returns
    -------
    result : object
        What the function returns.
    """
    try:
        return memory.cache(function)(*args)
    except OSError as error:
        frames = (frame for frame, _ in walk_tb(error.__traceback__))
        if any(frame.f_code is function.__code__ for frame in frames):
            raise
        warnings.warn(
            f"A curve is not stored, as {memory} cannot be used: {error}",
            RuntimeWarning,
            stacklevel=2,
        )
        return function(*args)
