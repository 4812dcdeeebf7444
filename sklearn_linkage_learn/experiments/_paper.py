"""Numbers that the paper gives: in its section on experiments, and in Table 1."""

# By experiment and task: the optimal parameter, what it gains over the better one of
# the two ends, and the mean number of discontinuities of an instance's curve. "Almost"
# 0.2 and "approximately" 0.01 and 0.034 are the paper's own words.
PAPER = {
    ("rings-and-disks", "single-complete"): {
        "optimum": 0.179,
        "gain": 0.2,
        "discontinuities": 29.0,
    },
    ("rings-and-disks", "average-complete"): {"discontinuities": 18.3},
    ("mnist", "single-complete"): {"optimum": 0.874, "discontinuities": 362.6},
    ("mnist", "average-complete"): {"discontinuities": 282.0},
    ("cifar10", "single-complete"): {"optimum": 0.98, "discontinuities": 103.2},
    ("cifar10", "average-complete"): {"discontinuities": 66.2},
    ("omniglot", "single-complete"): {"optimum": 0.931, "discontinuities": 59.4},
    ("omniglot", "average-complete"): {"discontinuities": 33.9},
    ("omniglot", "metric"): {
        "optimum": 0.514,
        "gain": 0.091,
        "discontinuities": 201.1,
    },
    ("places2", "metric"): {"optimum": 0.88, "gain": 0.01, "discontinuities": 241.0},
    ("places2-diverse", "metric"): {
        "optimum": 0.87,
        "gain": 0.034,
        "discontinuities": 269.6,
    },
}
