"""
Find records of the same person
===============================

Files of customers hold some people twice or more, with typing errors and old addresses.
Points here are not rows of numbers but records of text. Two distances are computed for
each file, of names and of addresses, and their mix is learned from files that were
cleaned by hand.
"""

# %%
# Files with duplicates
# ---------------------
#
# A file is an instance. Of each person there are one to four records. Names get typing
# errors. A tenth of the records have another address, and relatives share one.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from sklearn_linkage_learn import LearnedMetricLinkage
from sklearn_linkage_learn.metrics import pairwise
from sklearn_linkage_learn.plotting import LossCurveDisplay

FIRST = ["Anna", "Hanna", "Jon", "John", "Maria", "Marie", "Peter", "Petra", "Theo"]
LAST = ["Meyer", "Maier", "Smith", "Jansen", "Hansen", "Novak", "Nowak", "Rossi"]
STREET = ["Mill", "Hill", "Park", "Lake", "Oak", "Elm", "Station", "Church", "River"]
KIND = ["Street", "Road", "Lane"]

rng = np.random.default_rng(0)


def typing_errors(text, rate=0.06):
    """Some letters are wrong, typed twice or left out."""
    letters = list(text)
    for i in np.flatnonzero(rng.random(len(text)) < rate):
        wrong = chr(rng.integers(ord("a"), ord("z") + 1))
        letters[i] = rng.choice([wrong, 2 * text[i], ""])
    return "".join(letters)


def address():
    return f"{rng.integers(1, 40)} {rng.choice(STREET)} {rng.choice(KIND)}"


def make_file(n_families=12):
    records, people = [], []
    for _ in range(n_families):
        last, home = rng.choice(LAST), address()
        for first in rng.choice(FIRST, size=rng.integers(1, 4), replace=False):
            person = len(set(people))
            for _ in range(rng.integers(1, 5)):
                where = home if rng.random() < 0.9 else address()
                name = typing_errors(f"{first} {last}")
                records.append((name, typing_errors(where, rate=0.03)))
                people.append(person)
    return records, np.array(people)


files, people = zip(*[make_file() for _ in range(16)], strict=True)
pd.DataFrame(files[0], columns=["name", "address"]).assign(person=people[0]).head(8)

# %%
# Two distances of records
# ------------------------
#
# Any function of two objects will do. Names are compared by the number of letters to
# change, addresses by the pairs of letters that they share.


def edit_distance(a, b):
    before = list(range(len(b) + 1))
    for i, letter in enumerate(a, start=1):
        row = [i]
        for j, other in enumerate(b, start=1):
            change = before[j - 1] + (letter != other)
            row.append(min(change, before[j] + 1, row[-1] + 1))
        before = row
    return before[-1]


def by_name(one, other):
    return edit_distance(one[0], other[0])


def by_address(one, other):
    a, b = ({t[i : i + 2] for i in range(len(t) - 1)} for t in (one[1], other[1]))
    return 1 - len(a & b) / len(a | b)


X = [pairwise(records, [by_name, by_address]) for records in files]
X_train, y_train, X_new, y_new = X[:8], people[:8], X[8:], people[8:]
print(X[0].shape)

# %%
# Learn the mix
# -------------
#
# The distances are there already: `metrics="precomputed"`. The loss `"cut"` judges
# exactly those clusters that `predict` would return.

learner = LearnedMetricLinkage(
    "precomputed", linkage="average", normalize="mean", loss="cut"
)
learner.fit(X_train, y_train)
display = LossCurveDisplay.from_estimator(learner)
display.ax_.set_xticks([0, 0.5, 1], ["0\nnames", "0.5", "1\naddresses"])
plt.show()

# %%
print(f"misplaced in new files: {1 - learner.score(X_new, y_new):.3f}")

# %%
# How many people?
# ----------------
#
# `score` takes the number of clusters from the labels. Of a new file nobody knows how
# many people it holds. Instead, merging can stop at a distance. A good threshold is one
# that does well on the training files.

clusterer = clone(learner.clusterer_).set_params(n_clusters=None)


def clusters_below(threshold, instances):
    clusterer.set_params(distance_threshold=threshold)
    return [clusterer.fit_predict(instance) for instance in instances]


def agreement(threshold):
    found = clusters_below(threshold, X_train)
    return np.mean(list(map(adjusted_rand_score, y_train, found)))


threshold = max(np.linspace(0.1, 0.9, 33), key=agreement)
found = clusters_below(threshold, X_new)

pd.DataFrame(
    {
        "records": list(map(len, y_new)),
        "people": [len(set(y)) for y in y_new],
        "people found": [len(set(labels)) for labels in found],
        "adjusted Rand index": list(map(adjusted_rand_score, y_new, found)),
    }
).rename_axis("new file").round(3)

# %%
# The largest clusters of the first new file:

table = pd.DataFrame(files[8], columns=["name", "address"])
table = table.assign(person=people[8], cluster=found[0])
table.sort_values("cluster", kind="stable").head(12)
