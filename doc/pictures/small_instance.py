"""The execution tree of a small instance, by the paper's definition.

Small enough to follow by hand: all pairs of clusters are compared. Other pictures
import it.
"""

from itertools import combinations
from math import dist

POINTS = {
    "a": (5, 2),
    "b": (10, 1),
    "c": (12, 9),
    "d": (14, 1),
    "e": (20, 3),
    "f": (20, 10),
}
CLASSES = ["abd", "cef"]


def line(A, B):
    """The distance of two clusters by single linkage, and by complete linkage."""
    distances = [dist(POINTS[a], POINTS[b]) for a in A for b in B]
    return min(distances), max(distances)


def merges(clusters, start, stop):
    """Yield the nearest pair of clusters on each part of an interval of weights."""
    lines = {pair: line(*pair) for pair in combinations(clusters, 2)}
    while start < stop:
        at = {p: (1 - start) * low + start * high for p, (low, high) in lines.items()}
        # Just right of `start`: of lines that meet there, that which rises least.
        nearest = min(at, key=lambda p: (round(at[p], 9), lines[p][1] - lines[p][0]))
        end = stop
        for other, (low, high) in lines.items():
            closing = (lines[nearest][1] - lines[nearest][0]) - (high - low)
            if closing > 1e-9 and at[other] - at[nearest] > 1e-9:
                end = min(end, start + (at[other] - at[nearest]) / closing)
        yield nearest, start, end
        start = end


def execution_tree(clusters=None, start=0.0, stop=1.0, path=()):
    """Yield nodes: the merges so far, and the interval of weights that makes them."""
    clusters = tuple(POINTS) if clusters is None else clusters
    if path:
        yield path, start, stop
    if len(clusters) > 1:
        for (A, B), low, high in merges(clusters, start, stop):
            merged = "".join(sorted(A + B))
            rest = (*sorted({*clusters} - {A, B}), merged)
            yield from execution_tree(rest, low, high, (*path, merged))
