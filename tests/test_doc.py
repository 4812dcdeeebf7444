"""The site: its pages tell the truth, and its scripts and notebook run."""

import doctest
import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest

import sklearn_linkage_learn

DOC = Path(__file__).resolve().parents[1] / "doc"
MADE = {"_build", "auto_examples", "generated"}
PAGES = [
    page
    for page in sorted(DOC.rglob("*.rst"))
    if not MADE & set(page.relative_to(DOC).parts) and ">>>" in page.read_text("utf-8")
]
# Those that start processes or clusters are run by tests of distributed work.
SCRIPTS = [
    script
    for folder in ("examples", "pictures")
    for script in sorted((DOC / folder).glob("*.py"))
    if "distributed" not in script.name and script.name != "small_instance.py"
]
MODULES = [
    "losses",
    "metrics",
    "preprocessing",
    "model_selection",
    "plotting",
    "datasets",
]


def name_of(path):
    return path.relative_to(DOC).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_of_pages_give_what_they_show(page):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testfile(
        str(page), module_relative=False, optionflags=flags, encoding="utf-8"
    )
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_scripts_draw_something(script, monkeypatch, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(plt, "show", lambda: None)
    monkeypatch.syspath_prepend(script.parent)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert plt.get_fignums()
    assert not any(tmp_path.iterdir())


def stored_text(notebook):
    """What each cell prints and returns, without pictures."""
    # What a cell prints may come in any number of parts.
    return ["".join(map(_text, cell.get("outputs", []))) for cell in notebook.cells]


def _text(out):
    data = out.get("data", {})
    if out.get("name") == "stderr" or "image/png" in data:
        return ""
    return out.get("text", data.get("text/plain"))


def test_the_notebook_runs_and_gives_what_it_shows(monkeypatch, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    path = DOC / "notebooks" / "getting_started.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    shown = stored_text(notebook)
    assert sum(map(bool, shown)) > 3

    # Its process must import the package that is tested, and need no way to show plots.
    package = Path(sklearn_linkage_learn.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", str(package))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    client = nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    assert stored_text(notebook) == shown
    assert path.stat().st_size < 100_000


def test_the_reference_lists_all_public_names():
    page = (DOC / "api.rst").read_text("utf-8")
    listed = re.findall(r"^   ((?:\w+\.)?\w+)$", page, flags=re.MULTILINE)
    assert len(listed) == len(set(listed))

    public = set(sklearn_linkage_learn.__all__) - {"__version__", *MODULES}
    for name in MODULES:
        module = importlib.import_module(f"sklearn_linkage_learn.{name}")
        public |= {f"{name}.{member}" for member in module.__all__}
    assert set(listed) == public


def test_modules_of_the_reference_are_all_that_there_are():
    folder = Path(sklearn_linkage_learn.__file__).parent
    found = {path.stem for path in folder.iterdir() if path.suffix in ("", ".py")}
    # Experiments are run by commands, not called.
    public = {name for name in found if not name.startswith("_")} - {"experiments"}
    assert public == set(MODULES)


def test_the_execution_tree_that_is_drawn_is_that_of_the_package(monkeypatch):
    monkeypatch.syspath_prepend(DOC / "pictures")
    monkeypatch.delitem(sys.modules, "small_instance", raising=False)
    small = importlib.import_module("small_instance")
    runs = [node for node in small.execution_tree() if len(node[0]) == 5]
    assert [round(start, 2) for _, start, _ in runs] == [0, 0.08, 0.2, 0.48, 0.65, 0.8]

    numbers = {}

    def number(Z, labels):
        """Tell trees apart."""
        clusters = list(small.POINTS)
        for left, right in Z[:, :2].astype(int):
            clusters.append("".join(sorted(clusters[left] + clusters[right])))
        tree = frozenset(clusters[6:])
        return float(numbers.setdefault(tree, len(numbers)))

    points = list(small.POINTS.values())
    learner = sklearn_linkage_learn.LearnedLinkage(loss=number)
    curve = learner.fit(points, range(6)).loss_curve_
    for path, start, stop in runs:
        assert curve((start + stop) / 2) == numbers[frozenset(path)]
    # At 0.48 only the order of two merges changes.
    assert curve.n_pieces == len(runs) - 1 == len(numbers)
