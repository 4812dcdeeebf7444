import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Plots are drawn without a screen.
os.environ.setdefault("MPLBACKEND", "Agg")
# scikit-learn's estimator checks skip those of other array types without it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Shells start what is in the background without Ctrl-C, which tests send themselves.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# `python -m pytest` puts the checkout in front of the installed package. If its core
# was not compiled in place, only the installed one can be imported.
CHECKOUT = Path(__file__).resolve().parents[1]
CORE = CHECKOUT / "sklearn_linkage_learn" / "_core"
if not [*CORE.glob("*.so"), *CORE.glob("*.pyd")]:
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != CHECKOUT]

# The same examples in every run; tests/fuzz.py is for new ones. A slow machine is no
# failure.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile(
    "long", parent=settings.get_profile("fixed"), derandomize=False, max_examples=5000
)
settings.load_profile("fixed")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is not None:
        plt.close("all")


@pytest.fixture
def no_work(monkeypatch):
    """Neither distances nor a tree nor a curve may be computed."""

    def fail(*args, **kwargs):
        raise AssertionError("work has begun")

    for place in ("_distances.condensed_distances", "_learned.condensed_distances"):
        monkeypatch.setattr(f"sklearn_linkage_learn.{place}", fail)
    monkeypatch.setattr("sklearn_linkage_learn._families.Prepared", fail)


@pytest.fixture
def engine_calls(monkeypatch):
    """The instances that an engine was called for, by number of pairs."""
    from sklearn_linkage_learn import _learned, _learned_metric

    calls = []

    def counted(engine):
        def count(distances, *args):
            calls.append(distances.shape[-1])
            return engine(distances, *args)

        return count

    for module, name in [(_learned, "merge_curve"), (_learned_metric, "metric_curve")]:
        monkeypatch.setattr(module, name, counted(getattr(module, name)))
    return calls
